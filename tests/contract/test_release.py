"""`POST /v1/holds/{id}/release`: the units go back, once."""

from collections.abc import Callable
from typing import Any

import pytest

from reservations import expiry
from reservations.models import Unit
from reservations.operations import events
from tenants.scope import tenant_transaction
from tests.contract import expect, test_holds
from tests.contract.sale import Sale
from tests.contract.test_extend import read
from tests.reservations.state import rows_of, sell
from tests.support import feed
from tests.support.client import NOTHING, Api
from tests.support.rows import unique


def release(sale: Sale, hold: Any, body: Any = NOTHING, **kwargs: Any) -> Any:
    return sale.api.post(f"/v1/holds/{hold['id']}/release", body, **kwargs)


def test_a_release_frees_all_units_of_the_hold_and_no_others(sale: Sale, shift_clock: Callable[[float], None]) -> None:
    hold = sale.hold(labels=["U-1", "U-3"])
    other = sale.hold(labels=["U-2"], customer="bob")
    shift_clock(60)
    released = expect.body(release(sale, hold, {"reason": "changed my mind"}))
    assert set(released) == test_holds.FIELDS
    assert (released["status"], released["seconds_left"]) == ("released", 0)
    assert released["release_reason"] == "changed my mind"
    lasted = expect.moment(released["ended_at"]) - expect.moment(hold["created_at"])
    assert 60 <= lasted.total_seconds() < 120
    changed = ("status", "seconds_left", "ended_at", "release_reason")
    assert expect.apart_from(released, *changed) == expect.apart_from(hold, *changed)
    assert read(sale, hold) == released
    assert sale.statuses() == {"U-1": "available", "U-2": "held", "U-3": "available"}
    assert read(sale, other)["status"] == "active"
    assert [row["id"] for row in sale.holds("&status=released")] == [hold["id"]]
    assert [row["id"] for row in sale.holds("&status=active")] == [other["id"]]


@pytest.mark.parametrize("body", [NOTHING, {}, {"reason": None}, {"reason": ""}])
def test_a_body_and_a_reason_are_optional(sale: Sale, body: Any) -> None:
    hold = sale.hold(quantity=1)
    assert expect.body(release(sale, hold, body))["release_reason"] is None


@pytest.mark.parametrize("reason", ["x", "x" * 200, "Zwölf Boxkämpfer 🎟️", "'; DROP TABLE --"])
def test_a_reason_is_kept(sale: Sale, reason: str) -> None:
    hold = sale.hold(quantity=1)
    assert expect.body(release(sale, hold, {"reason": reason}))["release_reason"] == reason
    assert feed.read(sale.api, f"subject={hold['id']}")[-1]["data"]["release_reason"] == reason


@pytest.mark.parametrize("bad", ["x" * 201, 7, True, [], {}, "a\0b"])
def test_a_bad_reason_releases_nothing(sale: Sale, bad: Any) -> None:
    hold = sale.hold(quantity=1)
    assert expect.pointers(release(sale, hold, {"reason": bad})) == ["/reason"]
    assert read(sale, hold)["status"] == "active"


def test_an_unknown_member_is_refused(sale: Sale) -> None:
    hold = sale.hold(quantity=1)
    assert expect.pointers(release(sale, hold, {"why": "x"})) == ["/why"]
    assert read(sale, hold)["status"] == "active"


def test_a_second_release_answers_as_the_first_and_changes_nothing(
    sale: Sale, shift_clock: Callable[[float], None]
) -> None:
    hold = sale.hold(labels=["U-1"])
    first = expect.body(release(sale, hold, {"reason": "first"}))
    bobs = sale.hold(labels=["U-1"], customer="bob")
    shift_clock(30)
    for body in ({"reason": "second"}, NOTHING, {}):
        assert expect.body(release(sale, hold, body)) == first
    assert sale.statuses()["U-1"] == "held"
    assert read(sale, bobs)["status"] == "active"
    with tenant_transaction(sale.tenant.id):
        assert str(Unit.objects.get(label="U-1").hold_id) == bobs["id"]
    assert feed.types(feed.read(sale.api, f"subject={hold['id']}")) == ["hold.created", "hold.released"]


def test_a_release_stays_one_after_the_holds_time(sale: Sale, shift_clock: Callable[[float], None]) -> None:
    hold = sale.hold(quantity=1)
    first = expect.body(release(sale, hold))
    shift_clock(3600)
    assert expiry.sweep_tenant(sale.tenant.id) == 0
    assert expect.body(release(sale, hold)) == first == read(sale, hold)


@pytest.mark.parametrize("ended_by", ["nobody yet", "the sweeper"])
def test_a_hold_that_has_expired_can_not_be_released(
    sale: Sale, shift_clock: Callable[[float], None], ended_by: str
) -> None:
    hold = sale.hold(labels=["U-1"])
    shift_clock(600)
    if ended_by == "the sweeper":
        assert expiry.sweep_tenant(sale.tenant.id) == 1
    expect.problem(release(sale, hold), 410, "hold-expired")
    sale.hold(labels=["U-1"], customer="bob")
    expect.problem(release(sale, hold), 410, "hold-expired")
    assert sale.statuses()["U-1"] == "held"
    assert read(sale, hold)["status"] == "expired"
    assert feed.types(feed.read(sale.api, f"subject={hold['id']}")) == ["hold.created", "hold.expired"]


@pytest.mark.parametrize("seconds", [0, 601])
def test_a_hold_that_was_converted_can_not_be_released(
    sale: Sale, shift_clock: Callable[[float], None], seconds: int
) -> None:
    hold = sale.hold(quantity=1)
    sell(sale.tenant.id, hold["id"])
    shift_clock(seconds)
    expect.problem(release(sale, hold), 409, "hold-converted", {"order"})
    assert rows_of(sale.tenant.id) == {"holds": 1, "units": {"available": 2, "sold": 1}}


@pytest.mark.parametrize("status", ["paused", "closed"])
def test_a_release_works_whatever_the_events_status(sale: Sale, status: str) -> None:
    hold = sale.hold(quantity=1)
    move = {"paused": events.pause_event, "closed": events.close_event}[status]
    move(tenant_id=sale.tenant.id, event_id=sale.event.id)
    assert expect.body(release(sale, hold))["status"] == "released"


def test_an_extended_hold_is_released_as_any_other(sale: Sale, shift_clock: Callable[[float], None]) -> None:
    hold = sale.hold(quantity=1)
    shift_clock(500)
    extended = expect.body(sale.api.post(f"/v1/holds/{hold['id']}/extend"))
    shift_clock(500)
    released = expect.body(release(sale, hold))
    assert released["expires_at"] == extended["expires_at"]
    assert released["extensions_left"] == 1


def test_what_was_released_gives_the_customers_allowance_back_once(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(4, units_per_customer_max=2)
    hold = sale.hold(quantity=2)
    expect.problem(sale.ask(quantity=1), 422, "limit-exceeded", {"rule", "limit", "in_use", "requested"})
    for _ in range(3):
        expect.body(release(sale, hold))
    sale.hold(quantity=2)
    expect.problem(sale.ask(quantity=1), 422, "limit-exceeded", {"rule", "limit", "in_use", "requested"})


def test_a_retry_with_the_same_key_is_the_first_answer(sale: Sale) -> None:
    hold, key = sale.hold(labels=["U-1"]), {"Idempotency-Key": unique("key")}
    first = release(sale, hold, {"reason": "x"}, headers=key)
    again = release(sale, hold, {"reason": "x"}, headers=key)
    assert expect.body(again) == expect.body(first)
    assert again.headers["idempotency-replayed"] == "true"
    expect.problem(release(sale, hold, {"reason": "y"}, headers=key), 422, "idempotency-key-reused")


def test_one_of_many_parallel_releases_frees_the_units_and_all_answer_the_same(
    sale: Sale, api: Callable[..., Api], run_together: Callable[..., list[Any]]
) -> None:
    hold = sale.hold(quantity=3)
    answers = run_together([lambda n=n: release(sale, hold, {"reason": str(n)}) for n in range(12)])
    bodies = [expect.body(answer) for answer in answers]
    assert all(body == bodies[0] for body in bodies)
    assert feed.types(feed.read(sale.api, f"subject={hold['id']}")) == ["hold.created", "hold.released"]
    assert rows_of(sale.tenant.id) == {"holds": 1, "units": {"available": 3}}
