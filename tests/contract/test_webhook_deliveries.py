"""`/v1/webhooks/deliveries`: each message on its way, what came of every attempt, and trying once more."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from holdfast.kernel.clock import database_now
from holdfast.kernel.ids import new_id
from tests.contract import expect, till
from tests.contract.listener import DELIVERIES, Listener
from tests.contract.test_idempotency import replays
from tests.contract.test_lists import walk
from tests.support.client import Api
from tests.support.rows import everything_of
from tests.webhooks.post import FAILED, HOURS, OK
from webhooks.models import Delivery
from webhooks.retry import ATTEMPTS_MAX

FIELDS = {"id", "endpoint", "message", "type", "status", "attempts_made", "next_attempt_at", "created_at"}
ATTEMPT = {"at", "duration_ms", "outcome", "status_code", "response"}


def retry(listener: Listener, delivery: Any, **kwargs: Any) -> Any:
    return listener.api.post(f"{DELIVERIES}/{delivery.id}/retry", **kwargs)


def die(listener: Listener, shift_clock: Callable[[float], None]) -> None:
    """What is pending at the first endpoint fails to the end."""
    for _ in range(ATTEMPTS_MAX):
        assert listener.answer(FAILED) == 1
        shift_clock(30 * HOURS)
        # it is disabled after some days of this
        listener.call("enable")


def ids(rows: list[Any]) -> list[str]:
    return [str(row["id"] if isinstance(row, dict) else row.id) for row in rows]


# --- one, and its attempts


def test_a_delivery_that_waits_is_shown(listener: Listener) -> None:
    (delivery,) = listener.tell()
    shown = listener.delivery_shown(delivery.id)
    assert set(shown) == FIELDS | {"attempts"}
    expect.identifier(shown["id"])
    assert expect.moment(shown["created_at"]) <= database_now()
    assert expect.moment(shown["next_attempt_at"]) <= database_now()
    assert expect.apart_from(shown, "id", "created_at", "next_attempt_at") == {
        "endpoint": str(listener.id),
        "message": str(delivery.message_id),
        "type": "hold.created",
        "status": "pending",
        "attempts_made": 0,
        "attempts": [],
    }
    assert listener.listed() == [expect.apart_from(shown, "attempts")]


def test_each_attempt_is_shown_the_first_one_first(listener: Listener, shift_clock: Callable[[float], None]) -> None:
    (delivery,) = listener.tell()
    listener.place.answers(503, "später \0".encode() + b"\xff")
    listener.carry()
    failed = listener.delivery_shown(delivery.id)
    assert (failed["status"], failed["attempts_made"]) == ("pending", 1)
    assert expect.moment(failed["next_attempt_at"]) > database_now()
    shift_clock(10)
    listener.place.answers(204)
    assert listener.carry() == 1
    shown = listener.delivery_shown(delivery.id)
    assert (shown["status"], shown["attempts_made"], shown["next_attempt_at"]) == ("delivered", 2, None)
    first, second = shown["attempts"]
    assert [first] == failed["attempts"]
    for attempt in (first, second):
        assert set(attempt) == ATTEMPT
        assert attempt["duration_ms"] >= 0
    assert expect.moment(second["at"]) - expect.moment(first["at"]) >= timedelta(seconds=10)
    names = ("outcome", "status_code", "response")
    assert [first[name] for name in names] == ["rejected", 503, "später \\x00\\xff"]
    assert [second[name] for name in names] == ["delivered", 204, ""]
    assert listener.place.ids == [str(delivery.message_id)] * 2


def test_an_attempt_without_an_answer_has_no_status_code(listener: Listener) -> None:
    listener.api.patch(listener.path, {"url": "http://127.0.0.1:1/"})
    (delivery,) = listener.tell()
    listener.carry()
    (attempt,) = listener.delivery_shown(delivery.id)["attempts"]
    assert (attempt["outcome"], attempt["status_code"], attempt["response"]) == ("connect_failed", None, "")


def test_an_attempt_of_which_nothing_was_heard_is_shown_as_lost(
    listener: Listener, shift_clock: Callable[[float], None]
) -> None:
    (delivery,) = listener.tell()
    listener.claim()
    sent = listener.delivery_shown(delivery.id)
    assert (sent["status"], sent["attempts_made"], sent["next_attempt_at"]) == ("pending", 1, None)
    shift_clock(61)
    assert expect.moment(listener.delivery_shown(delivery.id)["next_attempt_at"]) <= database_now()
    listener.carry()
    shown = listener.delivery_shown(delivery.id)
    assert [(attempt["outcome"], attempt["duration_ms"] is None) for attempt in shown["attempts"]] == [
        ("lost", True),
        ("delivered", False),
    ]


def test_during_a_rest_the_next_attempt_is_after_it(listener: Listener) -> None:
    delivery, *_ = listener.tell(9)
    listener.place.answers(500)
    while listener.carry():
        pass
    end = listener.shown()["resting_until"]
    assert {shown["next_attempt_at"] for shown in listener.listed() if not shown["attempts_made"]} == {end}
    tried = listener.delivery_shown(delivery.id)
    assert tried["attempts_made"] == 1
    assert expect.moment(tried["next_attempt_at"]) >= expect.moment(end)


def test_of_a_disabled_endpoint_there_is_no_next_attempt(listener: Listener) -> None:
    (delivery,) = listener.tell()
    listener.call("disable")
    for shown in (listener.delivery_shown(delivery.id), *listener.listed()):
        assert (shown["status"], shown["next_attempt_at"]) == ("pending", None)


def test_a_dead_one_is_shown_with_all_ten_attempts(listener: Listener, shift_clock: Callable[[float], None]) -> None:
    (delivery,) = listener.tell()
    die(listener, shift_clock)
    shown = listener.delivery_shown(delivery.id)
    assert (shown["status"], shown["attempts_made"], shown["next_attempt_at"]) == ("dead", 10, None)
    assert len(shown["attempts"]) == 10
    moments = [expect.moment(attempt["at"]) for attempt in shown["attempts"]]
    assert moments == sorted(moments)


# --- the list


def test_the_list_is_walked_oldest_first_by_pages_of_any_size(listener: Listener) -> None:
    made = ids(listener.tell(7))
    for limit in (1, 3, 7):
        rows = walk(listener.api, DELIVERIES, limit)
        assert ids(rows) == made
        assert all(set(row) == FIELDS for row in rows)
        assert ids(walk(listener.api, f"{DELIVERIES}?endpoint={listener.id}&status=pending", limit)) == made


def test_the_filters_choose_and_go_together(listener: Listener, shift_clock: Callable[[float], None]) -> None:
    other = listener.listen()
    (dead,) = listener.tell()
    die(listener, shift_clock)
    delivered, pending = listener.tell(2)
    listener.answer(OK, count=1)
    mine = ids([dead, delivered, pending])
    assert ids(listener.listed(f"endpoint={listener.id}")) == mine
    assert len(listener.listed()) == 6
    assert len(listener.listed(f"endpoint={other.id}")) == 3
    for status, row in (("dead", dead), ("delivered", delivered), ("pending", pending)):
        assert ids(listener.listed(f"endpoint={listener.id}&status={status}")) == [str(row.id)]
        both = listener.listed(f"message={row.message_id}")
        assert {shown["endpoint"] for shown in both} == {str(listener.id), str(other.id)}
        assert ids(listener.listed(f"message={row.message_id}&endpoint={listener.id}&status={status}")) == [str(row.id)]
    assert listener.listed(f"message={dead.message_id}&endpoint={listener.id}&status=pending") == []


@pytest.mark.parametrize("name", ["endpoint", "message"])
def test_an_unknown_id_selects_nothing_and_what_is_no_id_is_named(listener: Listener, name: str) -> None:
    listener.tell()
    assert listener.listed(f"{name}={new_id()}") == []
    for wrong in ("", "x", "1", str(listener.id)[:-1], f"{listener.id}x", str(listener.id).replace("-", ""), "%00"):
        assert expect.parameters(listener.api.get(f"{DELIVERIES}?{name}={wrong}")) == [name], wrong


@pytest.mark.parametrize("wrong", ["", "PENDING", "failed", "dead,pending", "%00"])
def test_an_unknown_status_is_named(client: Api, wrong: str) -> None:
    assert expect.parameters(client.get(f"{DELIVERIES}?status={wrong}")) == ["status"]


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=x", "cursor=x"])
def test_a_page_that_can_not_be_is_named(client: Api, query: str) -> None:
    assert expect.parameters(client.get(f"{DELIVERIES}?{query}")) == [query.partition("=")[0]]


# --- retry


def test_what_was_delivered_what_is_dead_and_what_waits_is_sent_now(
    listener: Listener, shift_clock: Callable[[float], None]
) -> None:
    (dead,) = listener.tell()
    die(listener, shift_clock)
    (delivered,) = listener.tell()
    listener.carry()
    (waiting,) = listener.tell()
    listener.place.answers(500)
    listener.carry()
    listener.place.answers(200)
    listener.place.received.clear()
    assert listener.carry() == 0
    for delivery in (dead, delivered, waiting):
        assert expect.body(retry(listener, delivery), 202) == {"delivery": str(delivery.id)}
        assert listener.delivery_shown(delivery.id)["status"] == "pending"
    assert listener.carry() == 3
    assert sorted(listener.place.ids) == sorted(str(each.message_id) for each in (dead, delivered, waiting))
    made = {delivery.id: listener.delivery_shown(delivery.id) for delivery in (dead, delivered, waiting)}
    assert {shown["status"] for shown in made.values()} == {"delivered"}
    assert [made[each.id]["attempts_made"] for each in (dead, delivered, waiting)] == [11, 2, 2]


def test_one_that_is_being_sent_is_left_alone(listener: Listener) -> None:
    (delivery,) = listener.tell()
    listener.claim()
    before = listener.delivery_shown(delivery.id)
    expect.body(retry(listener, delivery), 202)
    assert listener.delivery_shown(delivery.id) == before
    assert listener.claim() == []


def test_nothing_is_retried_at_a_disabled_endpoint(listener: Listener) -> None:
    (delivery,) = listener.tell()
    listener.answer(OK)
    listener.call("disable")
    before = Delivery.everywhere.filter(id=delivery.id).values().get()
    expect.problem(retry(listener, delivery), 409, "endpoint-disabled")
    assert Delivery.everywhere.filter(id=delivery.id).values().get() == before


def test_under_one_key_a_retry_is_one(listener: Listener) -> None:
    (delivery,) = listener.tell()
    listener.answer(OK)
    key = till.key()
    first = retry(listener, delivery, headers=key)
    listener.answer(OK)
    before = everything_of(listener.tenant)
    replays(first, retry(listener, delivery, headers=key))
    assert everything_of(listener.tenant) == before
    assert listener.claim() == []


def test_a_retry_takes_no_members(listener: Listener) -> None:
    (delivery,) = listener.tell()
    listener.answer(OK)
    path = f"{DELIVERIES}/{delivery.id}/retry"
    assert expect.faults(listener.api.post(path, {"at": "now"})) == {"/at": "unknown"}
    assert listener.delivery_shown(delivery.id)["status"] == "delivered"
    expect.body(listener.api.post(path, {}), 202)


# --- tenants and scopes


def test_another_tenants_deliveries_are_not_there(listener: Listener, make_listener: Callable[..., Listener]) -> None:
    theirs = make_listener()
    (delivery,) = theirs.tell()
    theirs.answer(OK)
    before = Delivery.everywhere.filter(id=delivery.id).values().get()
    expect.problem(listener.api.get(f"{DELIVERIES}/{delivery.id}"), 404, "not-found")
    expect.problem(retry(listener, delivery), 404, "not-found")
    for query in ("", f"endpoint={theirs.id}", f"message={delivery.message_id}", "status=delivered"):
        assert listener.listed(query) == []
    assert Delivery.everywhere.filter(id=delivery.id).values().get() == before


def test_a_key_that_reads_can_not_retry(
    make_tenant: Any, make_listener: Callable[..., Listener], make_key: Any, api: Callable[..., Api]
) -> None:
    tenant = make_tenant()
    listener = make_listener(tenant)
    (delivery,) = listener.tell()
    reader = api(make_key(tenant, ["read"]))
    assert ids(expect.body(reader.get(DELIVERIES))["data"]) == [str(delivery.id)]
    assert expect.body(reader.get(f"{DELIVERIES}/{delivery.id}")) == listener.delivery_shown(delivery.id)
    expect.problem(reader.post(f"{DELIVERIES}/{delivery.id}/retry"), 403, "forbidden")
    expect.body(api(make_key(tenant, ["webhooks"])).post(f"{DELIVERIES}/{delivery.id}/retry"), 202)


def test_a_page_of_any_size_costs_the_same_statements_and_reads_no_text_of_messages(
    listener: Listener, queries: Callable[..., Any]
) -> None:
    listener.tell(20)
    costs = []
    for limit in (1, 20):
        with queries() as seen:
            expect.body(listener.api.get(f"{DELIVERIES}?limit={limit}"))
        costs.append(seen.count)
        assert not [sql for sql in seen if '"payload"' in sql or '"secrets"' in sql]
    assert costs[0] == costs[1]
