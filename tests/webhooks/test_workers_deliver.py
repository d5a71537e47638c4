"""The product's own workers: messages arrive, whoever hangs, whoever dies, whatever Redis forgets."""

import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tenants.scope import tenant_transaction
from tests.support import redis_database
from tests.support.processes import Background, background, wait_until
from webhooks.delivery import LEASE_SECONDS
from webhooks.models import Endpoint
from webhooks.operations.endpoints import ping_endpoint

# far less than a hanging receiver is waited for
SOON_SECONDS = 5


@pytest.fixture
def programs(database_name: str) -> Iterator[Background]:
    redis_database.flush()
    with background() as programs:
        yield programs
    redis_database.flush()


def test_with_one_worker_all_arrive_while_some_endpoints_hang(make_post, programs):
    hanging, well, stranger = make_post(), make_post(), make_post()
    beside = hanging.listen()
    programs.worker("webhooks")
    hanging.place.hangs()
    hanging.say(10)
    hanging.place.wait_for(4)
    wait_until(lambda: len(hanging.places[beside.id].received) == 10, "those beside it", SOON_SECONDS)
    for post in (well, stranger):
        post.say(20)
    for post in (well, stranger):
        post.place.wait_for(20, SOON_SECONDS)
    ping_endpoint(tenant_id=hanging.tenant, endpoint_id=beside.id)
    hanging.places[beside.id].wait_for(11, SOON_SECONDS)
    assert hanging.place.at_once_max == 4
    assert len(hanging.place.received) == 4
    hanging.place.go_on()
    hanging.place.wait_for(10)
    for post in (hanging, well, stranger):
        assert len(set(post.place.ids)) == len(post.place.received)


def test_without_redis_jobs_the_sweep_finds_everything(post, programs):
    ids = post.say(30)
    time.sleep(0.3)
    redis_database.flush()
    programs.worker("webhooks")
    programs.periodic()
    post.place.wait_for(30)
    assert sorted(post.place.ids) == sorted(map(str, ids))


def test_one_killed_while_it_sends_is_followed_by_another(post, programs, shift_clock):
    worker = programs.worker("webhooks")
    post.place.hangs()
    (message_id,) = post.say()
    post.place.wait_for(1)
    worker.kill()
    post.place.go_on()
    shift_clock(LEASE_SECONDS + 1)
    programs.worker("webhooks")
    programs.periodic()
    post.place.wait_for(2)
    wait_until(lambda: post.delivery(message_id).status == "delivered", "the record")
    assert set(post.place.ids) == {str(message_id)}
    assert [each.outcome for each in post.attempts(post.delivery(message_id))] == ["lost", "delivered"]


def test_one_that_is_told_to_stop_writes_down_what_is_under_way(post, programs):
    worker = programs.worker("webhooks")
    post.place.hangs()
    (message_id,) = post.say()
    post.place.wait_for(1)
    worker.popen.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    assert worker.lives
    post.place.go_on()
    worker.popen.wait(60)
    delivery = post.delivery(message_id)
    assert (delivery.status, delivery.attempts_made) == ("delivered", 1)


def test_slow_endpoints_are_served_by_a_worker_of_their_own(make_post, programs):
    slow, quick = make_post(), make_post()
    with tenant_transaction(slow.tenant):
        Endpoint.objects.filter(id=slow.id).update(is_slow=True)
    programs.worker("webhooks")
    slow.say()
    quick.say()
    quick.place.wait_for(1)
    wait_until(lambda: not slow.waiting(), "the relay")
    assert slow.place.received == []
    programs.worker("webhooks-slow")
    slow.place.wait_for(1)


def test_a_failed_attempt_is_tried_again_by_the_sweep(post, programs: Any):
    programs.worker("webhooks")
    programs.periodic()
    post.place.answers(500)
    post.say()
    post.place.wait_for(1)
    post.place.answers(200)
    began = time.monotonic()
    post.place.wait_for(2)  # by the schedule the one after that comes in five minutes
    assert time.monotonic() - began >= 3.5
