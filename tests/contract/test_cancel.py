"""`POST /v1/orders/{id}/cancel`: an order that nobody pays ends, and its hold with it; no other does."""

from collections.abc import Callable
from typing import Any

import pytest

from reservations import expiry
from tests.contract import expect
from tests.contract.test_idempotency import WRONG_KEYS, replays
from tests.contract.till import Till, key
from tests.contract.untouched import KEYS, untouched
from tests.support import feed

pytestmark = pytest.mark.usefixtures("shift_clock")
NOBODYS = "01890000-0000-7000-8000-000000000000"


@pytest.fixture
def till(make_till: Callable[..., Till]) -> Till:
    """Two units at 25.00 each."""
    return make_till()


@pytest.fixture
def hold(till: Till) -> Any:
    """One of the two."""
    return till.sale.hold(labels=["U-1"])


@pytest.fixture
def pending(till: Till, hold: Any) -> str:
    """The id of its order, whose payment was declined."""
    return till.declined(hold)


def is_refused(till: Till, order: Any) -> None:
    """A cancellation is no move of this order, however it is asked, and changes nothing."""
    before = till.order(order)
    with untouched(till, KEYS):
        expect.problem(till.cancel(order), 409, "invalid-transition")
        path = f"/v1/orders/{before['id']}/cancel"
        cart = key()
        first = till.sale.api.post(path, headers=cart)
        expect.problem(first, 409, "invalid-transition")
        replays(first, till.sale.api.post(path, headers=cart))
    assert till.order(order) == before


def test_a_pending_order_is_cancelled_and_its_hold_released(till: Till, hold: Any, pending: str) -> None:
    before = till.order(pending)
    answer = till.cancel(pending)
    order = expect.body(answer)
    assert "idempotency-replayed" not in answer.headers
    assert (order["status"], order["reason"], order["tickets"]) == ("cancelled", None, [])
    assert expect.apart_from(order, "status", "timeline") == expect.apart_from(before, "status", "timeline")
    assert order["timeline"][: len(before["timeline"])] == before["timeline"]
    assert [line["what"] for line in order["timeline"][len(before["timeline"]) :]] == ["order_cancelled"]
    assert till.order(pending) == order
    now = till.hold(hold)
    assert (now["status"], now["seconds_left"]) == ("released", 0)
    assert till.sale.statuses() == {"U-1": "available", "U-2": "available"}
    assert till.charges(pending) == []


def test_order_and_hold_are_told_of_once(till: Till, hold: Any, pending: str) -> None:
    order = expect.body(till.cancel(pending))
    till.cancel(pending)
    (message,) = feed.read(till.sale.api, f"subject={pending}")
    assert (message["type"], message["sequence"], message["data"]) == ("order.cancelled", 1, order)
    assert message["subject"] == {"type": "order", "id": pending}
    assert till.told(hold) == ["hold.created", "hold.released"]


def test_its_units_go_to_the_next_buyer_and_its_allowance_returns(make_till: Callable[..., Till]) -> None:
    till = make_till(1, units_per_customer_max=1)
    order = till.declined(till.sale.hold(labels=["U-1"]))
    expect.body(till.cancel(order))
    assert till.sold("U-1")["status"] == "confirmed"
    is_refused(till, order)


def test_its_hold_is_paid_released_and_extended_no_more(till: Till, hold: Any, pending: str) -> None:
    expect.body(till.cancel(pending))
    path = f"/v1/holds/{hold['id']}"
    with untouched(till, KEYS):
        expect.problem(till.pay(hold), 410, "hold-released")
        expect.problem(till.sale.api.post(f"{path}/extend"), 410, "hold-released")
        assert expect.body(till.sale.api.post(f"{path}/release"))["status"] == "released"


def test_a_second_time_is_no_move(till: Till, pending: str) -> None:
    expect.body(till.cancel(pending))
    is_refused(till, pending)


@pytest.mark.parametrize("status", ["confirmed", "partially_refunded", "refunded"])
def test_an_order_that_was_paid_is_not_cancelled(till: Till, status: str) -> None:
    order = till.sold()
    if status != "confirmed":
        till.refunded(order, **({"items": [{"unit": till.sale.ids[0]}]} if status == "partially_refunded" else {}))
    assert till.order(order)["status"] == status
    is_refused(till, order)


def test_a_free_order_is_not_cancelled(make_till: Callable[..., Till]) -> None:
    till = make_till(1, price_amount=0)
    is_refused(till, till.sold(method=None))


def test_an_order_that_failed_is_not_cancelled(till: Till, hold: Any, pending: str) -> None:
    expect.body(till.sale.api.post(f"/v1/holds/{hold['id']}/release"))
    assert till.order(pending)["status"] == "failed"
    is_refused(till, pending)


def test_an_order_whose_hold_has_run_out_fails_and_is_not_cancelled(
    till: Till, pending: str, shift_clock: Callable[[float], None]
) -> None:
    shift_clock(601)
    expect.problem(till.cancel(pending), 409, "invalid-transition")
    expiry.sweep_tenant(till.sale.tenant.id)
    now = till.order(pending)
    assert (now["status"], now["reason"]) == ("failed", "declined")
    is_refused(till, pending)
    assert till.told(pending) == ["order.failed"]


def test_while_a_charge_is_under_way_nothing_is_cancelled(till: Till, hold: Any) -> None:
    order = till.unknown(hold)
    is_refused(till, order)
    till.later()
    assert till.order(order)["status"] == "confirmed"
    is_refused(till, order)


def test_while_a_person_looks_at_a_charge_nothing_is_cancelled(till: Till, hold: Any) -> None:
    order = expect.body(till.pay(hold, "tok_wrong_amount"), 202)
    is_refused(till, order)


def test_an_order_that_was_declined_is_not_cancelled_while_another_method_is_tried(
    till: Till, hold: Any, pending: str
) -> None:
    order = till.unknown(hold)
    assert order["id"] == pending
    is_refused(till, order)


# --- how it is asked -------------------------------------------------------------------------------------------------


def test_a_key_may_be_sent_and_a_retry_hears_the_first_answer(till: Till, pending: str) -> None:
    path = f"/v1/orders/{pending}/cancel"
    first = till.sale.api.post(path, headers=key("cart"))
    assert expect.body(first)["status"] == "cancelled"
    with untouched(till):
        for _ in range(2):
            replays(first, till.sale.api.post(path, headers=key("cart")))
        expect.problem(till.sale.api.post(f"{path}?a=1", headers=key("cart")), 422, "idempotency-key-reused")


def test_a_key_that_is_none_is_refused(till: Till, pending: str) -> None:
    with untouched(till):
        for wrong in WRONG_KEYS:
            refused = till.sale.api.post(f"/v1/orders/{pending}/cancel", headers={"Idempotency-Key": wrong})
            expect.problem(refused, 400, "idempotency-key-invalid")


def test_it_takes_an_empty_object_or_no_body(till: Till, pending: str) -> None:
    path = f"/v1/orders/{pending}/cancel"
    with untouched(till):
        for name in ("reason", "status", "order"):
            assert expect.faults(till.sale.api.post(path, {name: "x"}, headers=key("cart"))) == {f"/{name}": "unknown"}
        assert expect.faults(till.sale.api.post(path, b"[]")) == {"": "not_an_object"}
        expect.problem(till.sale.api.post(path, b"{"), 400, "malformed")
        expect.problem(till.sale.api.post(path, b"{}", media_type="text/plain"), 415, "unsupported-media-type")
        expect.problem(till.sale.api.post(path, b"{}" + b" " * 2**20), 413, "body-too-large")
        expect.problem(till.sale.api.get(path), 405, "method-not-allowed")
        expect.problem(till.cancel(NOBODYS), 404, "not-found")
    assert expect.body(till.sale.api.post(path, {}, headers=key("cart")))["status"] == "cancelled"


@pytest.mark.parametrize("rival", ["pay", "release"])
def test_beside_another_end_one_alone_takes_place(
    till: Till, hold: Any, pending: str, run_together: Callable[..., list[Any]], rival: str
) -> None:
    rivals = {"pay": lambda: till.pay(hold), "release": lambda: till.sale.api.post(f"/v1/holds/{hold['id']}/release")}
    cancelled, other = run_together([lambda: till.cancel(pending), rivals[rival]])
    order = till.order(pending)
    story = expect.story(cancelled), expect.story(other)
    if cancelled.status_code == 200:
        assert order["status"] == "cancelled", story
        assert (till.kept(pending), till.sale.statuses()["U-1"]) == (0, "available"), story
    else:
        expect.problem(cancelled, 409, "invalid-transition")
        assert order["status"] == {"pay": "confirmed", "release": "failed"}[rival], story
        expect.body(other, {"pay": 201, "release": 200}[rival])
    assert len(till.told(pending)) == 1


def test_an_order_whose_hold_has_lapsed_is_over_once_somebody_has_tried(
    make_till: Callable[..., Till], shift_clock: Callable[[float], None]
) -> None:
    till = make_till(1)
    order = till.declined(till.sale.hold(quantity=1))
    shift_clock(901)
    expect.problem(till.cancel(order), 409, "invalid-transition")
    assert (till.order(order)["status"], till.order(order)["reason"]) == ("failed", "declined")
    assert till.told(order) == ["order.failed"]
