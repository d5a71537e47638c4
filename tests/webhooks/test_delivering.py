"""One attempt: claimed, sent and written down; what then becomes of the delivery."""

import base64
import hashlib
import hmac
import html
import threading
import time
from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import quote

import pytest
from django.db import connections, transaction

from holdfast.kernel.clock import database_now
from tenants.scope import tenant_transaction
from tests.webhooks.post import FAILED, HOURS, OK, Post, note
from webhooks import delivery as delivery_module
from webhooks.delivery import LEASE_SECONDS, EndpointTaken, SendInTransaction, readable, record, send
from webhooks.egress import Answer, Outcome, resolve
from webhooks.locks import lock_endpoint
from webhooks.models import Delivery, Endpoint
from webhooks.operations.endpoints import (
    change_endpoint,
    delete_endpoint,
    disable_endpoint,
    enable_endpoint,
    rotate_secret,
)
from webhooks.retry import SCHEDULE_SECONDS


def signature(secret: str, hook) -> str:
    signed = b"%b.%b.%b" % (hook.id.encode(), hook.headers["webhook-timestamp"].encode(), hook.body)
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def seconds_until(moment) -> float:
    return (moment - database_now()).total_seconds()


def test_a_message_arrives_as_the_feed_shows_it_and_signed(post):
    (delivery,) = post.tell(name="Zoë 🎟️")
    assert post.carry() == 1
    (hook,) = post.place.received
    assert set(hook.message) == {"id", "type", "sequence", "occurred_at", "tenant", "subject", "data"}
    assert (hook.message["type"], hook.message["data"]) == ("hold.created", {"name": "Zoë 🎟️"})
    assert (hook.message["id"], hook.message["tenant"]) == (str(delivery.message_id), str(post.tenant))
    assert hook.headers["content-type"] == "application/json"
    assert hook.id == str(delivery.message_id)
    assert abs(int(hook.headers["webhook-timestamp"]) - database_now().timestamp()) < 10
    assert hook.headers["webhook-signature"] == signature(post.secrets[post.id], hook)


def test_what_was_delivered_is_not_sent_again(post):
    (delivery,) = post.tell()
    post.place.answers(204)
    assert (post.carry(), post.carry()) == (1, 0)
    delivery.refresh_from_db(using="maintenance")
    assert (delivery.status, delivery.attempts_made, delivery.look_at) == ("delivered", 1, None)
    (attempt,) = post.attempts(delivery)
    assert (attempt.outcome, attempt.status_code, attempt.response) == ("delivered", 204, "")
    assert 0 <= attempt.duration_ms < 10_000


def test_a_refusal_is_tried_again_with_the_same_bytes_and_a_time_of_its_own(post, shift_clock):
    post.place.answers(500, b"no \xff\0 thanks")
    (delivery,) = post.tell()
    post.carry()
    assert post.carry() == 0
    shift_clock(3 * HOURS)
    post.place.answers(200)
    assert post.carry() == 1
    first, second = post.place.received
    assert (first.body, first.id) == (second.body, second.id)
    later = int(second.headers["webhook-timestamp"]) - int(first.headers["webhook-timestamp"])
    assert 3 * HOURS <= later < 3 * HOURS + 20
    assert second.headers["webhook-signature"] == signature(post.secrets[post.id], second)
    assert [(each.outcome, each.status_code, each.response) for each in post.attempts(delivery)] == [
        ("rejected", 500, "no \\xff\\x00 thanks"),
        ("delivered", 200, ""),
    ]


def test_it_is_tried_ten_times_by_the_schedule_and_is_then_dead(post, shift_clock):
    (delivery,) = post.tell()
    for number in range(1, 11):
        assert post.answer(FAILED) == 1
        delivery.refresh_from_db(using="maintenance")
        if number == 10:
            break
        wait = seconds_until(delivery.look_at)
        assert 0.8 * SCHEDULE_SECONDS[number] - 1 <= wait <= 1.2 * SCHEDULE_SECONDS[number]
        shift_clock(wait - 1)
        assert post.claim() == []
        shift_clock(20 * 60)  # longer than any rest
    assert (delivery.status, delivery.attempts_made, delivery.look_at) == ("dead", 10, None)
    assert len(post.attempts(delivery)) == 10
    shift_clock(100 * HOURS)
    assert post.claim() == []


@pytest.mark.parametrize(("status", "wait"), [(429, 3600), (503, 3600), (500, 5)])
def test_a_receiver_may_ask_for_more_time(post, status, wait):
    (delivery,) = post.tell()
    post.place.answers(status, Retry_After="3600")
    post.carry()
    delivery.refresh_from_db(using="maintenance")
    assert 0.8 * wait - 2 <= seconds_until(delivery.look_at) <= 1.2 * wait


def test_no_transaction_is_open_while_a_request_is_made(post):
    post.tell()
    (claimed,) = post.claim()
    with pytest.raises(SendInTransaction), transaction.atomic():
        send(claimed)
    with pytest.raises(SendInTransaction), tenant_transaction(post.tenant):
        send(claimed)
    assert post.place.received == []


def test_names_are_looked_up_on_behalf_of_the_tenant(post):
    post.tell()
    (claimed,) = post.claim()
    seen = []

    def by(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        seen.append(resolve._sender.get())
        return OK

    send(claimed, by)
    assert seen == [str(post.tenant)]


# --- who may send


def test_of_workers_that_claim_at_once_each_delivery_goes_to_one(post, run_together):
    post.tell(4)
    claims = run_together([post.claim] * 4)
    assert sorted(one.delivery_id for claim in claims for one in claim) == [each.id for each in post.deliveries()]


def test_four_are_in_flight_to_an_endpoint_and_no_more(post, run_together):
    post.tell(20)
    claims = run_together([lambda: post.claim(count=100)] * 4)
    claimed = [one for claim in claims for one in claim]
    assert len(claimed) == 4
    assert post.claim() == []
    note(claimed[0], OK)
    assert len(post.claim()) == 1


def test_sixteen_are_in_flight_for_a_tenant_and_another_is_not_kept_from_its_own(make_post, run_together):
    post, other = make_post(), make_post()
    endpoints = [post.endpoint, *(post.listen() for _ in range(5))]
    for _ in range(5):
        post.tell()
    other.tell(4)
    claims = run_together([lambda each=each: post.claim(endpoint_id=each.id) for each in endpoints])
    assert sum(map(len, claims)) == 16
    assert all(post.claim(endpoint_id=each.id) == [] for each in endpoints)
    assert len(other.claim()) == 4


def test_slow_endpoints_leave_some_of_the_sixteen_to_the_others(post):
    slow = [post.endpoint, *(post.listen() for _ in range(4))]
    quick = post.listen()
    with tenant_transaction(post.tenant):
        Endpoint.objects.exclude(id=quick.id).update(is_slow=True)
    post.tell(5)
    assert [len(post.claim(endpoint_id=each.id)) for each in slow] == [4, 4, 4, 0, 0]
    assert len(post.claim(endpoint_id=quick.id)) == 4


def test_the_longest_due_are_first(post, shift_clock):
    first = post.tell(2)
    shift_clock(1)
    second = post.tell(6)
    assert {one.delivery_id for one in post.claim()} >= {delivery.id for delivery in first}
    assert len(second) == 6


def test_one_who_died_is_followed_when_his_lease_has_run_out(post, shift_clock):
    (delivery,) = post.tell()
    assert len(post.claim()) == 1
    shift_clock(LEASE_SECONDS - 5)
    assert post.claim() == []
    shift_clock(6)
    assert post.carry() == 1
    delivery.refresh_from_db(using="maintenance")
    assert (delivery.status, delivery.attempts_made) == ("delivered", 2)
    assert [attempt.outcome for attempt in post.attempts(delivery)] == ["lost", "delivered"]


def test_one_that_kills_whoever_sends_it_is_dead_after_ten_attempts(post, shift_clock):
    (delivery,) = post.tell()
    for _ in range(10):
        assert len(post.claim()) == 1
        shift_clock(LEASE_SECONDS + 1)
    assert post.claim() == []
    delivery.refresh_from_db(using="maintenance")
    assert (delivery.status, delivery.attempts_made) == ("dead", 10)
    assert [attempt.outcome for attempt in post.attempts(delivery)] == ["lost"] * 10


@pytest.mark.parametrize("late", [OK, FAILED], ids=["delivered", "failed"])
def test_one_who_wakes_after_another_took_over_changes_nothing(post, shift_clock, late):
    (delivery,) = post.tell()
    (zombie,) = post.claim()
    shift_clock(LEASE_SECONDS + 1)
    (successor,) = post.claim()
    before = Delivery.everywhere.filter(id=delivery.id).values().get()
    assert note(zombie, late) is False
    assert Delivery.everywhere.filter(id=delivery.id).values().get() == before
    assert note(successor, OK) is True
    assert note(zombie, late) is False
    delivery.refresh_from_db(using="maintenance")
    assert delivery.status == "delivered"
    assert [attempt.outcome for attempt in post.attempts(delivery)] == ["lost", "delivered"]


def test_an_answer_is_written_down_once(post):
    (delivery,) = post.tell()
    (claimed,) = post.claim()
    assert (note(claimed, FAILED), note(claimed, OK)) == (True, False)
    assert [attempt.outcome for attempt in post.attempts(delivery)] == ["rejected"]


# --- endpoints that are disabled, deleted, changed meanwhile


def test_what_waits_for_a_disabled_endpoint_is_sent_when_it_is_enabled(post, shift_clock):
    (delivery,) = post.tell()
    disable_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    shift_clock(10 * HOURS)
    assert post.claim() == []
    enable_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    assert post.carry() == 1
    assert post.place.ids == [str(delivery.message_id)]


def test_a_claim_waits_for_whoever_disables_the_endpoint_and_then_takes_nothing(post, run_together, monkeypatch):
    monkeypatch.setattr(delivery_module, "LOCK_TIMEOUT_MS", 2_000)
    post.tell()
    locked, claiming = threading.Event(), threading.Event()

    def disable() -> None:
        with tenant_transaction(post.tenant):
            endpoint = lock_endpoint(post.id)
            locked.set()
            assert claiming.wait(60)
            endpoint.status, endpoint.disabled_reason = "disabled", "organizer"
            endpoint.save(update_fields=["status", "disabled_reason"])

    def take() -> list:
        assert locked.wait(60)
        threading.Timer(0.2, claiming.set).start()
        return post.claim()

    assert run_together([disable, take]) == [None, []]


def test_neither_a_claim_nor_a_record_waits_long_for_an_endpoint_that_is_locked(post):
    post.tell(2)
    (claimed,) = post.claim(count=1)
    done = threading.Event()

    def lock() -> None:
        with tenant_transaction(post.tenant):
            lock_endpoint(post.id)
            locked.set()
            done.wait(60)
        connections.close_all()

    locked = threading.Event()
    locking = threading.Thread(target=lock)
    locking.start()
    assert locked.wait(60)
    try:
        for attempt in (post.claim, lambda: note(claimed, OK)):
            took = []
            for _ in range(3):
                began = time.monotonic()
                with pytest.raises(EndpointTaken):
                    attempt()
                took.append(time.monotonic() - began)
            assert min(took) < 1
    finally:
        done.set()
        locking.join()
    assert note(claimed, OK)
    assert len(post.claim()) == 1


@pytest.mark.parametrize("end", [disable_endpoint, delete_endpoint])
def test_an_answer_to_what_was_under_way_is_still_written_down(post, end):
    (delivery,) = post.tell()
    (claimed,) = post.claim()
    end(tenant_id=post.tenant, endpoint_id=post.id)
    assert note(claimed, OK)
    delivery.refresh_from_db(using="maintenance")
    assert delivery.status == "delivered"
    assert post.endpoint.status == "disabled"


def test_the_next_attempt_goes_to_the_new_url(post, shift_clock):
    post.tell()
    post.place.answers(500)
    post.carry()
    elsewhere = post.hooks.place()
    change_endpoint(tenant_id=post.tenant, endpoint_id=post.id, url=elsewhere.url)
    shift_clock(10)
    post.carry()
    assert (len(post.place.received), len(elsewhere.received)) == (1, 1)


# --- what it costs


def test_a_claim_takes_eight_statements_and_four_answers_nine(post, queries):
    def statements() -> tuple[int, int]:
        with queries() as claiming:
            claimed = post.claim()
        with queries() as recording:
            record(post.id, [(one, OK) for one in claimed])
        return claiming.count, recording.count

    post.tell(8)
    statements()
    assert statements() == (8, 9)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"", ""),
        ("schön 🎟️".encode(), "schön 🎟️"),
        (b"\x00\xff", "\\x00\\xff"),
        ("🎟️".encode()[:2], "\\xf0\\x9f"),
        (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
    ],
)
def test_any_answer_can_be_kept(post, answer, text):
    assert readable(answer) == text
    (delivery,) = post.tell()
    post.answer(Answer(Outcome.REJECTED, 500, None, answer, 5))
    assert [attempt.response for attempt in post.attempts(delivery)] == [text]


def test_a_time_zone_of_the_database_changes_no_moment(post: Post) -> None:
    (delivery,) = post.tell()
    (claimed,) = post.claim()
    delivery.refresh_from_db(using="maintenance")
    assert delivery.claimed_at is not None
    assert delivery.look_at == delivery.claimed_at + timedelta(seconds=LEASE_SECONDS)
    assert claimed.headers["webhook-timestamp"] == str(int(delivery.claimed_at.timestamp()))


@pytest.mark.parametrize(
    "shown",
    [
        lambda text: text,
        lambda text: text.replace("/", "\\/"),
        lambda text: quote(text, safe=""),
        lambda text: html.escape(text).replace("/", "&#x2F;").replace("=", "&#x3D;"),
        lambda text: text.removeprefix("v1,"),
    ],
    ids=["plain", "JSON", "URL", "HTML", "without its version"],
)
def test_the_log_keeps_no_secret_and_no_signature_that_the_receiver_repeats(post, shown):
    (delivery,) = post.tell()
    (claimed,) = post.claim()
    signed, secret = claimed.headers["webhook-signature"], post.secrets[post.id]
    answered = f'{{"got": "{shown(signed)}", "know": "{shown(secret)}", "is": "wrong"}}'
    assert note(claimed, Answer(Outcome.REJECTED, 401, None, answered.encode(), 5))
    (attempt,) = post.attempts(delivery)
    assert attempt.response == '{"got": "[blanked]", "know": "[blanked]", "is": "wrong"}'


def test_of_two_signatures_and_of_a_secret_that_is_cut_off_nothing_is_kept(post):
    first = post.secrets[post.id]
    rotate_secret(tenant_id=post.tenant, endpoint_id=post.id)
    (delivery,) = post.tell()
    (claimed,) = post.claim()
    answered = f"{claimed.headers['webhook-signature']} does not fit {first[:20]}"
    assert note(claimed, Answer(Outcome.REJECTED, 401, None, answered.encode(), 5))
    (attempt,) = post.attempts(delivery)
    assert attempt.response == "[blanked] [blanked] does not fit [blanked]"


def test_of_other_answers_the_log_keeps_every_letter(post):
    (delivery,) = post.tell()
    (claimed,) = post.claim()
    answered = "v1, v1,ok and API v1/orders: no such id 0192f6c1-7a3e-7c5d-9f0a-3b2c1d4e5f60 =/+"
    assert note(claimed, Answer(Outcome.REJECTED, 404, None, answered.encode(), 5))
    (attempt,) = post.attempts(delivery)
    assert attempt.response == answered
