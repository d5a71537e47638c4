"""Wake-ups cost those who write messages nothing to speak of, are few, and the last one is never lost."""

import socket
import time
from typing import Any

import pytest
from django.db import transaction

from holdfast.kernel import jobs
from tenants.scope import tenant_transaction
from tests.support import redis_database
from tests.support.processes import queue, wait_until
from tests.webhooks.post import fact
from webhooks import wake
from webhooks.couriers import close_couriers
from webhooks.jobs import deliver, relay
from webhooks.operations.endpoints import disable_endpoint, ping_endpoint
from webhooks.outbox import publish


@pytest.fixture(autouse=True)
def empty_redis(database_name: str) -> Any:
    time.sleep(2 * wake.PAUSE_SECONDS)  # what an earlier test asked for has been asked for
    redis_database.flush()
    yield
    close_couriers()
    redis_database.flush()


def waiting(name: str = "webhooks") -> list[str]:
    return [job.func_name for job in queue(name).get_jobs()]


def test_a_message_that_somebody_listens_for_wakes_the_relay(post):
    post.say()
    wait_until(lambda: waiting() == [wake.RELAY], "the wake-up")


def test_where_nobody_listens_nobody_is_woken(post, monkeypatch):
    calls = []
    monkeypatch.setattr(wake, "wake_once", lambda *words: calls.append(words))
    disable_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    post.say(10)
    time.sleep(3 * wake.PAUSE_SECONDS)
    assert calls == []


def test_a_rollback_wakes_nobody(post, monkeypatch):
    calls = []
    monkeypatch.setattr(wake, "wake_once", lambda *words: calls.append(words))
    with tenant_transaction(post.tenant):
        publish([fact()])
        time.sleep(3 * wake.PAUSE_SECONDS)
        assert calls == []
        transaction.set_rollback(True)
    time.sleep(3 * wake.PAUSE_SECONDS)
    assert calls == []


def test_many_messages_are_few_wake_ups_and_one_job(post, monkeypatch):
    calls = []
    once = wake.wake_once
    monkeypatch.setattr(wake, "wake_once", lambda *words: (calls.append(words), once(*words)))
    began = time.monotonic()
    for _ in range(300):
        post.say()
    took = time.monotonic() - began
    time.sleep(2 * wake.PAUSE_SECONDS)
    assert 1 <= len(calls) <= took / wake.PAUSE_SECONDS + 3
    assert waiting() == [wake.RELAY]


def test_one_that_comes_while_the_job_runs_is_not_lost(post):
    post.say()
    wait_until(lambda: waiting() == [wake.RELAY], "the first")
    queue("webhooks").empty()
    relay()
    post.say()
    wait_until(lambda: waiting() == [wake.RELAY], "the second")


def test_a_call_that_comes_while_the_relay_is_being_woken_is_not_lost(monkeypatch):
    calls: list[Any] = []

    def once(*words: Any) -> None:
        calls.append(words)
        if len(calls) == 1:
            wake.wake_relay()

    monkeypatch.setattr(wake, "wake_once", once)
    wake.wake_relay()
    wait_until(lambda: len(calls) == 2, "the second")


def test_a_wake_up_that_was_lost_keeps_others_away_for_seconds_only(post):
    assert jobs.WAITING_MAX_SECONDS <= 10
    wake.wake_once("webhooks", wake.RELAY)
    with redis_database.connect() as redis:
        (key,) = redis.keys("holdfast:waiting:*")
        assert 0 < redis.ttl(key) <= jobs.WAITING_MAX_SECONDS


def test_wake_ups_that_nobody_works_on_do_not_heap_up(post):
    for _ in range(2 * jobs.WAITING_MAX):
        wake.wake_deliverers(post.tenant, post.id, is_slow=True)
        with redis_database.connect() as redis:
            for key in redis.keys("holdfast:waiting:*"):
                redis.delete(key)  # its ten seconds are over
    assert len(waiting(wake.SLOW_QUEUE)) == jobs.WAITING_MAX
    queue(wake.SLOW_QUEUE).empty()
    wake.wake_deliverers(post.tenant, post.id, is_slow=True)  # those left out keep none away that follows
    assert waiting(wake.SLOW_QUEUE) == [wake.DELIVER]


def test_one_job_waits_for_an_endpoint_however_often_it_is_asked_for(post):
    other = post.listen()
    for _ in range(5):
        ping_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
        ping_endpoint(tenant_id=post.tenant, endpoint_id=other.id)
    found = queue("webhooks").get_jobs()
    assert [job.args for job in found] == [[str(post.tenant), str(each), False] for each in (post.id, other.id)]
    deliver(*found[0].args)
    ping_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    assert len(waiting()) == 3
    post.place.wait_for(5)


@pytest.fixture
def own_queues(monkeypatch: pytest.MonkeyPatch) -> Any:
    jobs._queue.cache_clear()
    monkeypatch.setattr(jobs, "_given_up_until", 0.0)
    yield
    time.sleep(2 * wake.PAUSE_SECONDS)
    jobs._queue.cache_clear()


def test_a_redis_that_does_not_answer_keeps_no_message_waiting(post, settings, own_queues):
    with socket.create_server(("127.0.0.1", 0), backlog=8) as listener:
        settings.REDIS_TIMEOUT_SECONDS = 4
        settings.REDIS_URL = f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
        began = time.monotonic()
        for _ in range(20):
            post.say()
        assert time.monotonic() - began < settings.REDIS_TIMEOUT_SECONDS
        wait_until(lambda: jobs._given_up_until > began, "the thread to give up")
