"""`POST /v1/holds/{id}/extend`: more time, counted from now, as often as the event allows."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from reservations import expiry
from reservations.operations import events
from tests.contract import expect, test_holds
from tests.contract.sale import Sale
from tests.reservations.state import sell
from tests.support import feed
from tests.support.client import NOTHING, Api
from tests.support.rows import everything_of, unique


def extend(sale: Sale, hold: Any, body: Any = NOTHING, **kwargs: Any) -> Any:
    return sale.api.post(f"/v1/holds/{hold['id']}/extend", body, **kwargs)


def release(sale: Sale, hold: Any) -> Any:
    return expect.body(sale.api.post(f"/v1/holds/{hold['id']}/release"))


def read(sale: Sale, hold: Any) -> Any:
    return expect.body(sale.api.get(f"/v1/holds/{hold['id']}"))


def later(hold: Any, seconds: float) -> Any:
    """This long after the hold was made."""
    return expect.moment(hold["created_at"]) + timedelta(seconds=seconds)


def has(hold: Any, seconds: int) -> bool:
    """Whether the hold has this long left. Whole seconds are told, and some of one has gone since."""
    return bool(seconds - 1 <= hold["seconds_left"] <= seconds)


def is_refused(sale: Sale, hold: Any, status: int, slug: str, body: Any = NOTHING) -> None:
    """And nothing has changed, and nothing was said."""
    before, said = read(sale, hold), feed.read(sale.api)
    members = {"order"} if slug == "hold-converted" else set()
    expect.problem(extend(sale, hold, body), status, slug, members)
    now = read(sale, hold)
    assert expect.apart_from(now, "seconds_left") == expect.apart_from(before, "seconds_left")
    assert feed.read(sale.api) == said


def test_an_extension_counts_from_now_and_gives_the_events_term_by_default(
    sale: Sale, shift_clock: Callable[[float], None]
) -> None:
    hold = sale.hold(quantity=2)
    shift_clock(300)
    extended = expect.body(extend(sale, hold))
    assert set(extended) == test_holds.FIELDS
    assert later(hold, 900) <= expect.moment(extended["expires_at"]) < later(hold, 960)
    assert has(extended, 600)
    assert extended["extensions_left"] == 1
    changed = ("expires_at", "seconds_left", "extensions_left")
    assert expect.apart_from(extended, *changed) == expect.apart_from(hold, *changed)
    assert expect.apart_from(read(sale, hold), "seconds_left") == expect.apart_from(extended, "seconds_left")


@pytest.mark.parametrize("body", [NOTHING, {}, {"seconds": 600}, {"seconds": None}])
def test_a_body_is_optional(sale: Sale, shift_clock: Callable[[float], None], body: Any) -> None:
    hold = sale.hold(quantity=1)
    shift_clock(100)
    assert has(expect.body(extend(sale, hold, body)), 600)


@pytest.mark.parametrize("seconds", [5, 6, 300, 600])
def test_an_extension_gives_the_seconds_that_were_asked_for(
    sale: Sale, shift_clock: Callable[[float], None], seconds: int
) -> None:
    hold = sale.hold(quantity=1)
    shift_clock(596)
    assert has(expect.body(extend(sale, hold, {"seconds": seconds})), seconds)


@pytest.mark.parametrize("seconds", [5, 300, 599])
def test_an_extension_never_shortens_a_hold(sale: Sale, seconds: int) -> None:
    hold = sale.hold(quantity=1)
    extended = expect.body(extend(sale, hold, {"seconds": seconds}))
    assert extended["expires_at"] == hold["expires_at"]
    assert extended["extensions_left"] == 1


def test_a_hold_that_was_made_short_may_be_extended_to_the_events_term(sale: Sale) -> None:
    hold = sale.hold(quantity=1, ttl_seconds=5)
    extended = expect.body(extend(sale, hold))
    assert has(extended, 600)


@pytest.mark.parametrize("seconds", [4, 1, 0, -1, -5, 61, 7200, 7201, 2**31, 2**63])
def test_seconds_out_of_range_are_refused(make_sale: Callable[..., Sale], seconds: int) -> None:
    sale = make_sale(1, hold_ttl_seconds=60)
    hold = sale.hold(quantity=1)
    before = everything_of(sale.tenant.id)
    assert expect.pointers(extend(sale, hold, {"seconds": seconds})) == ["/seconds"]
    after = everything_of(sale.tenant.id)
    assert {**after, "tenants_apikey": before["tenants_apikey"]} == before


@pytest.mark.parametrize("bad", ["60", 60.0, 60.5, True, [], {}, ""])
def test_seconds_are_a_whole_number(sale: Sale, bad: Any) -> None:
    hold = sale.hold(quantity=1)
    assert expect.pointers(extend(sale, hold, {"seconds": bad})) == ["/seconds"]


def test_an_unknown_member_is_refused(sale: Sale) -> None:
    hold = sale.hold(quantity=1)
    assert expect.pointers(extend(sale, hold, {"minutes": 1})) == ["/minutes"]
    assert read(sale, hold)["extensions_left"] == 2


@pytest.mark.parametrize("allowed", [0, 1, 2, 10])
def test_a_hold_is_extended_as_often_as_the_event_allows_and_no_more(
    make_sale: Callable[..., Sale], shift_clock: Callable[[float], None], allowed: int
) -> None:
    sale = make_sale(1, hold_extensions_max=allowed)
    hold = sale.hold(quantity=1)
    assert hold["extensions_left"] == allowed
    for used in range(allowed):
        shift_clock(500)
        extended = expect.body(extend(sale, hold))
        assert has(extended, 600)
        assert extended["extensions_left"] == allowed - used - 1
    shift_clock(500)
    is_refused(sale, hold, 409, "extension-limit")
    is_refused(sale, hold, 409, "extension-limit", {"seconds": 5})
    shift_clock(101)
    assert read(sale, hold)["status"] == "expired"


def test_a_limit_that_is_lowered_meanwhile_holds_at_once(sale: Sale) -> None:
    hold = sale.hold(quantity=1)
    expect.body(extend(sale, hold))
    expect.body(sale.api.patch(sale.path, {"hold_extensions_max": 0}))
    assert read(sale, hold)["extensions_left"] == 0
    is_refused(sale, hold, 409, "extension-limit")


@pytest.mark.parametrize("status", ["paused", "closed"])
def test_an_extension_works_whatever_the_events_status(
    sale: Sale, shift_clock: Callable[[float], None], status: str
) -> None:
    hold = sale.hold(quantity=1)
    move = {"paused": events.pause_event, "closed": events.close_event}[status]
    move(tenant_id=sale.tenant.id, event_id=sale.event.id)
    shift_clock(300)
    assert has(expect.body(extend(sale, hold)), 600)


def test_an_extension_works_after_the_sale_has_ended(sale: Sale) -> None:
    hold = sale.hold(quantity=1)
    expect.body(sale.api.patch(sale.path, {"sales_close_at": "2020-01-01T00:00:00Z"}))
    expect.problem(sale.ask(quantity=1), 409, "not-on-sale", {"reason"})
    expect.body(extend(sale, hold))


def test_a_hold_can_be_extended_in_its_last_second_and_not_from_its_end_on(
    sale: Sale, shift_clock: Callable[[float], None]
) -> None:
    first, second = sale.hold(quantity=1), sale.hold(quantity=1)
    shift_clock(598)
    expect.body(extend(sale, first))
    shift_clock(2)
    is_refused(sale, second, 410, "hold-expired")
    assert read(sale, first)["status"] == "active"


@pytest.mark.parametrize("ended_by", ["nobody yet", "the sweeper"])
@pytest.mark.parametrize("allowed", [0, 2])
def test_a_hold_that_has_expired_can_not_be_extended(
    make_sale: Callable[..., Sale], shift_clock: Callable[[float], None], ended_by: str, allowed: int
) -> None:
    sale = make_sale(1, hold_extensions_max=allowed)
    hold = sale.hold(quantity=1)
    shift_clock(600)
    if ended_by == "the sweeper":
        assert expiry.sweep_tenant(sale.tenant.id) == 1
    is_refused(sale, hold, 410, "hold-expired")
    sale.hold(quantity=1, customer="bob")
    is_refused(sale, hold, 410, "hold-expired")


@pytest.mark.parametrize("seconds", [0, 601])
def test_a_hold_that_was_released_can_not_be_extended(
    sale: Sale, shift_clock: Callable[[float], None], seconds: int
) -> None:
    hold = sale.hold(quantity=1)
    release(sale, hold)
    shift_clock(seconds)
    is_refused(sale, hold, 410, "hold-released")


@pytest.mark.parametrize("seconds", [0, 601])
def test_a_hold_that_was_converted_can_not_be_extended(
    sale: Sale, shift_clock: Callable[[float], None], seconds: int
) -> None:
    hold = sale.hold(quantity=1)
    sell(sale.tenant.id, hold["id"])
    shift_clock(seconds)
    is_refused(sale, hold, 409, "hold-converted")


@pytest.mark.parametrize("verb", ["extend", "release"])
def test_an_unknown_hold_and_another_tenants_are_not_found(
    sale: Sale, make_tenant: Callable[..., Any], api: Callable[..., Api], verb: str
) -> None:
    hold = sale.hold(quantity=1)
    before = everything_of(sale.tenant.id)
    stranger = api(make_tenant())
    for name in (hold["id"], str(UUID(int=7)), "nonsense"):
        expect.problem(stranger.post(f"/v1/holds/{name}/{verb}"), 404, "not-found")
        expect.problem(stranger.post(f"/v1/holds/{name}/{verb}", {}), 404, "not-found")
    assert everything_of(sale.tenant.id) == before


@pytest.mark.parametrize("verb", ["extend", "release"])
def test_it_takes_the_scope_holds(sale: Sale, make_key: Callable[..., str], api: Callable[..., Api], verb: str) -> None:
    hold = sale.hold(quantity=1)
    path = f"/v1/holds/{hold['id']}/{verb}"
    for scope in ("read", "events", "orders", "tickets", "webhooks"):
        expect.problem(api(make_key(sale.tenant, scopes=[scope])).post(path), 403, "forbidden")
    expect.problem(api(None).post(path), 401, "unauthenticated")
    assert read(sale, hold)["status"] == "active"
    expect.body(api(make_key(sale.tenant, scopes=["holds"])).post(path))


@pytest.mark.parametrize("verb", ["extend", "release"])
@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE", "PUT"])
def test_it_is_a_post(sale: Sale, verb: str, method: str) -> None:
    hold = sale.hold(quantity=1)
    answer = sale.api.send(method, f"/v1/holds/{hold['id']}/{verb}")
    expect.problem(answer, 405, "method-not-allowed")


def test_a_retry_with_the_same_key_extends_once(sale: Sale, shift_clock: Callable[[float], None]) -> None:
    hold, key = sale.hold(quantity=1), {"Idempotency-Key": unique("key")}
    first = extend(sale, hold, {"seconds": 600}, headers=key)
    shift_clock(60)
    again = extend(sale, hold, {"seconds": 600}, headers=key)
    assert expect.body(again) == expect.body(first)
    assert again.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert read(sale, hold)["extensions_left"] == 1
    expect.problem(extend(sale, hold, {"seconds": 500}, headers=key), 422, "idempotency-key-reused")
    other = sale.hold(quantity=1)
    expect.problem(extend(sale, other, {"seconds": 600}, headers=key), 422, "idempotency-key-reused")
    assert expect.body(extend(sale, hold, {"seconds": 600}))["extensions_left"] == 0


def test_a_refusal_that_stands_is_given_again_to_the_same_key(sale: Sale) -> None:
    hold, key = sale.hold(quantity=1), {"Idempotency-Key": unique("key")}
    release(sale, hold)
    expect.problem(extend(sale, hold, headers=key), 410, "hold-released")
    again = extend(sale, hold, headers=key)
    expect.problem(again, 410, "hold-released")
    assert again.headers["idempotency-replayed"] == "true"


def test_each_extension_is_a_message(sale: Sale, shift_clock: Callable[[float], None]) -> None:
    hold = sale.hold(quantity=1)
    shift_clock(10)
    extended = expect.body(extend(sale, hold))
    created, message = feed.read(sale.api, f"subject={hold['id']}")
    assert (created["type"], created["sequence"], created["data"]) == ("hold.created", 1, hold)
    assert (message["type"], message["sequence"], message["data"]) == ("hold.extended", 2, extended)


def test_parallel_extensions_use_what_is_left_and_add_their_time_once(
    sale: Sale,
    api: Callable[..., Api],
    run_together: Callable[..., list[Any]],
    shift_clock: Callable[[float], None],
) -> None:
    hold = sale.hold(quantity=1)
    shift_clock(598)
    answers = run_together([lambda: extend(sale, hold)] * 12)
    assert sorted(answer.status_code for answer in answers) == [200] * 2 + [409] * 10
    for answer in answers:
        if answer.status_code == 409:
            expect.problem(answer, 409, "extension-limit")
    now = read(sale, hold)
    assert now["extensions_left"] == 0
    assert now["seconds_left"] in (598, 599, 600)
    assert feed.types(feed.read(sale.api, f"subject={hold['id']}")) == ["hold.created", *["hold.extended"] * 2]
