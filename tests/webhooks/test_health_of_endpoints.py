"""An endpoint that fails is given rests, its people are told, and in the end it is disabled."""

import orjson
import pytest
from structlog.testing import capture_logs

from holdfast.kernel.clock import database_now
from tenants.scope import tenant_transaction
from tests.webhooks.post import DAYS, FAILED, HOURS, OK, note
from webhooks import jobs
from webhooks.couriers import Couriers
from webhooks.delivery import claim
from webhooks.egress import Answer, Outcome
from webhooks.models import Endpoint, Message
from webhooks.operations.deliveries import retry_delivery
from webhooks.operations.endpoints import change_endpoint, enable_endpoint, ping_endpoint, rotate_secret
from webhooks.relay import relay

GONE = Answer(Outcome.GONE, 410, None, b"", 5)
HUNG = Answer(Outcome.TIMED_OUT, None, None, b"", 10_000)


def facts(post, message_type: str) -> list:
    found = Message.everywhere.filter(tenant_id=post.tenant, type=message_type).order_by("sequence")
    return [orjson.loads(message.payload) for message in found]


def fail(post, times: int) -> None:
    for _ in range(times):
        assert post.answer(FAILED, count=1) == 1


def test_after_five_failures_it_rests_for_a_minute_and_no_attempt_is_used_up(post, shift_clock):
    post.tell(20)
    fail(post, 5)
    assert post.claim() == []
    shift_clock(50)
    assert post.claim() == []
    assert sum(delivery.attempts_made for delivery in post.deliveries()) == 5
    shift_clock(11)
    assert len(post.claim()) == 1


def test_after_the_rest_one_at_a_time_is_tried_and_a_success_ends_the_caution(post, shift_clock):
    post.tell(20)
    fail(post, 5)
    shift_clock(61)
    (probe,) = post.claim()
    assert post.claim() == []
    assert post.answer(OK) == 0
    note(probe, OK)
    assert post.endpoint.breaker_until is None
    assert len(post.claim()) == 4


@pytest.mark.parametrize("by", ["a ping", "a retry"])
def test_a_person_who_wants_to_know_ends_the_rest_and_one_is_tried(post, by):
    (delivery, *_) = post.tell(20)
    fail(post, 5)
    assert post.claim() == []
    if by == "a ping":
        ping_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    else:
        retry_delivery(tenant_id=post.tenant, delivery_id=delivery.id)
    assert len(post.claim()) == 1
    assert post.claim() == []


def test_a_ping_during_a_rest_is_what_is_sent(post):
    post.tell(20)
    fail(post, 5)
    ping_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    (claimed,) = post.claim()
    assert orjson.loads(claimed.body)["type"] == "ping"
    note(claimed, OK)
    assert len(post.claim()) == 4


def test_a_retry_during_a_rest_is_what_is_sent(post):
    post.tell(20)
    fail(post, 5)
    failed = [each for each in post.deliveries() if each.attempts_made][-1]
    retry_delivery(tenant_id=post.tenant, delivery_id=failed.id)
    (claimed,) = post.claim()
    assert claimed.delivery_id == failed.id


def test_each_rest_is_twice_as_long_up_to_a_quarter_of_an_hour(post, shift_clock):
    post.tell(40)
    fail(post, 5)
    rests = []
    for _ in range(6):
        rest = (post.endpoint.breaker_until - database_now()).total_seconds()
        rests.append(rest)
        shift_clock(rest + 0.1)
        fail(post, 1)
        assert post.claim() == []
    assert rests == [pytest.approx(seconds, abs=2) for seconds in (60, 120, 240, 480, 900, 900)]


def test_what_was_in_flight_as_it_opened_makes_the_rest_no_longer(post):
    post.tell(20)
    fail(post, 4)
    claimed = post.claim()
    for one in claimed:
        note(one, FAILED)
    assert (post.endpoint.failures, post.endpoint.breaker_openings) == (8, 1)


def test_a_receiver_that_is_gone_is_disabled_at_once_and_its_people_are_told(post):
    others = post.listen(["endpoint.*"])
    post.tell(2)
    post.place.answers(410)
    assert post.carry(count=1) == 1
    assert (post.endpoint.status, post.endpoint.disabled_reason) == ("disabled", "gone")
    assert [delivery.status for delivery in post.deliveries()] == ["dead", "pending"]
    assert post.claim() == []
    (told,) = facts(post, "endpoint.disabled")
    assert (told["id"], told["status"], told["disabled_reason"]) == (str(post.id), "disabled", "gone")
    assert not {"secret", "secrets"} & set(told)
    relay(post.tenant)
    assert post.carry(endpoint_id=others.id) == 1
    assert post.places[others.id].received[0].message["type"] == "endpoint.disabled"
    assert len(post.deliveries()) == 2


@pytest.mark.parametrize("answer", [GONE, FAILED, HUNG, OK])
def test_what_the_old_url_answers_is_charged_to_no_new_one(post, answer):
    (delivery,) = post.tell()
    (claimed,) = post.claim()
    before = post.endpoint
    change_endpoint(tenant_id=post.tenant, endpoint_id=post.id, url=post.hooks.place().url)
    assert note(claimed, answer)
    now = post.endpoint
    assert (now.status, now.health, now.is_slow) == ("enabled", before.health, False)
    assert post.delivery(delivery.message_id).status == ("delivered" if answer == OK else "pending")
    (attempt,) = post.attempts(delivery)
    assert attempt.outcome == answer.outcome


def test_five_days_without_a_success_disable_it_after_two_notices(post, shift_clock):
    post.tell(100)
    fail(post, 5)
    said = []
    for hours in range(12, 132, 12):
        shift_clock(12 * HOURS)
        fail(post, 1)
        said.append((hours, len(facts(post, "endpoint.failing")), len(facts(post, "endpoint.disabled"))))
        if post.endpoint.status == "disabled":
            break
    assert [each for each in said if each[0] in (12, 24, 60, 72, 108, 120)] == [
        (12, 0, 0),
        (24, 1, 0),
        (60, 1, 0),
        (72, 2, 0),
        (108, 2, 0),
        (120, 2, 1),
    ]
    assert post.endpoint.disabled_reason == "failing"
    notice = facts(post, "endpoint.failing")[0]
    assert (notice["status"], notice["id"]) == ("enabled", str(post.id))
    assert notice["disabled_at_latest"] > notice["failing_since"]
    assert facts(post, "endpoint.disabled")[0]["disabled_reason"] == "failing"


def test_few_failures_in_many_days_disable_nothing(post, shift_clock):
    post.tell(100)
    for _ in range(9):
        fail(post, 1)
        shift_clock(DAYS)
    assert post.endpoint.status == "enabled"
    assert facts(post, "endpoint.disabled") == []
    fail(post, 1)
    assert post.endpoint.status == "disabled"


def test_one_success_in_five_days_is_enough(post, shift_clock):
    post.tell(100)
    fail(post, 5)
    shift_clock(4 * DAYS)
    assert post.answer(OK, count=1) == 1
    fail(post, 5)
    shift_clock(4 * DAYS)
    fail(post, 1)
    assert post.endpoint.status == "enabled"


def test_one_that_is_enabled_again_begins_anew(post, shift_clock):
    post.tell(30)
    fail(post, 5)
    shift_clock(61)
    post.place.answers(410)
    post.carry()
    endpoint = enable_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    assert (endpoint.failures, endpoint.breaker_until, endpoint.failing_since) == (0, None, None)
    post.place.answers(200)
    assert post.carry() == 4


def test_one_whose_last_answer_took_long_is_served_by_the_other_queue(post):
    post.tell(4)
    post.answer(HUNG, count=1)
    assert post.endpoint.is_slow
    asked = {"tenant_id": post.tenant, "endpoint_id": post.id, "count_max": 1}
    assert claim(**asked, is_slow=False) == []
    assert len(claim(**asked, is_slow=True)) == 1
    post.answer(OK, count=1)
    assert not post.endpoint.is_slow


# --- nobody can sign for it


def lock_with_another_key(post) -> None:
    with tenant_transaction(post.tenant):
        Endpoint.objects.filter(id=post.id).update(secrets=b"locked with a key that is gone")


def test_one_that_nobody_can_sign_for_fails_and_rests_and_uses_up_no_attempt(post, shift_clock):
    post.tell(3)
    lock_with_another_key(post)
    with capture_logs() as logged:
        for _ in range(7):
            assert post.claim() == []
    said = [each for each in logged if each["event"] == "nobody_can_sign"]
    assert [(each["endpoint"], each["log_level"]) for each in said] == [(str(post.id), "error")] * 5
    assert (post.endpoint.failures, post.endpoint.breaker_openings) == (5, 1)
    assert {each.attempts_made for each in post.deliveries()} == {0}
    for _ in range(20):
        shift_clock(DAYS)
        assert post.claim() == []
    assert post.endpoint.status == "enabled"


def test_a_rotation_is_the_way_out_for_one_that_nobody_can_sign_for(post):
    post.tell()
    lock_with_another_key(post)
    assert post.claim() == []
    rotate_secret(tenant_id=post.tenant, endpoint_id=post.id)
    assert post.answer(OK) == 1
    assert post.endpoint.failing_since is None


def test_one_that_nobody_can_sign_for_keeps_nobody_from_the_sweep(make_post, monkeypatch):
    broken, well = make_post(), make_post()
    lock_with_another_key(broken)
    broken.say()
    well.say()
    with Couriers(is_slow=False, by=lambda *_: OK) as couriers:
        monkeypatch.setattr(jobs, "couriers", lambda **_: couriers)
        jobs.sweep()
    assert [each.status for each in well.deliveries()] == ["delivered"]
    assert [each.status for each in broken.deliveries()] == ["pending"]
    assert broken.endpoint.failing_since
