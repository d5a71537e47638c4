"""What ended long ago is forgotten in batches; what may still be asked for is kept, and so are messages."""

import pytest

from tests.webhooks.post import DAYS, FAILED, OK
from tests.webhooks.test_replay import begin, carry_on
from webhooks import retention
from webhooks.egress import Answer, Outcome
from webhooks.models import Attempt, Delivery, Endpoint, Message, Replay
from webhooks.operations.endpoints import delete_endpoint, disable_endpoint, enable_endpoint
from webhooks.retention import prune
from webhooks.retry import ATTEMPTS_MAX

GONE = Answer(Outcome.GONE, 410, None, b"", 5)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(retention, "BATCH_MAX", 2)


def count(post, model) -> int:
    return model.everywhere.filter(tenant_id=post.tenant).count()


def test_delivered_ones_are_kept_for_a_week_with_their_attempts(post, shift_clock):
    post.tell(5)
    post.answer(OK)
    post.answer(OK)
    shift_clock(7 * DAYS - 60)
    prune()
    assert (count(post, Delivery), count(post, Attempt)) == (5, 5)
    shift_clock(120)
    prune()
    assert (count(post, Delivery), count(post, Attempt), count(post, Message)) == (0, 0, 5)


def test_dead_letters_are_kept_for_thirty_days(post, shift_clock):
    post.tell()
    post.answer(GONE)
    shift_clock(30 * DAYS - 60)
    prune()
    assert count(post, Delivery) == 1
    shift_clock(120)
    prune()
    assert (count(post, Delivery), count(post, Attempt)) == (0, 0)


def test_what_is_still_tried_is_kept(post, shift_clock):
    post.tell()
    for _ in range(ATTEMPTS_MAX - 1):
        shift_clock(1.2 * DAYS)
        enable_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
        post.answer(FAILED)
    prune()
    assert [each.status for each in post.deliveries()] == ["pending"]


def test_what_waits_for_a_disabled_endpoint_dies_after_thirty_days_and_is_then_kept_as_dead_letters_are(
    post, shift_clock
):
    post.tell(3)
    disable_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    shift_clock(30 * DAYS - 60)
    prune()
    assert [each.status for each in post.deliveries()] == ["pending"] * 3
    shift_clock(120)
    prune()
    assert [each.status for each in post.deliveries()] == ["dead"] * 3
    shift_clock(31 * DAYS)
    prune()
    assert post.deliveries() == []


def test_of_a_deleted_endpoint_nothing_is_left(post, shift_clock):
    other = post.listen()
    post.tell(3)
    carry_on(post, begin(post))
    post.answer(OK, count=1)
    delete_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    prune()
    assert not Endpoint.everywhere.filter(id=post.id).exists()
    assert (post.deliveries(), count(post, Attempt), count(post, Replay)) == ([], 0, 0)
    assert len(post.deliveries(other.id)) == count(post, Message) == 3


def test_replays_that_ended_are_kept_for_thirty_days(post, shift_clock):
    carry_on(post, begin(post))
    shift_clock(30 * DAYS - 60)
    prune()
    assert count(post, Replay) == 1
    shift_clock(120)
    prune()
    assert count(post, Replay) == 0


def test_one_tenants_past_is_as_long_as_anothers(make_post, shift_clock):
    posts = [make_post() for _ in range(2)]
    for post in posts:
        post.tell(3)
        post.answer(OK)
    shift_clock(8 * DAYS)
    assert prune() >= 6
    assert [count(post, Delivery) for post in posts] == [0, 0]
