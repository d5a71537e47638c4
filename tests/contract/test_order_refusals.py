"""`POST /v1/orders`: how it is refused or put off, what a retry is told, and that a refusal changes nothing."""

from collections.abc import Callable
from threading import Event
from typing import Any
from uuid import uuid4

import pytest

from reservations.checkout.mock import MockProvider
from reservations.checkout.provider import Charge, ChargeOrder
from tests.contract import expect
from tests.contract.test_idempotency import WRONG_KEYS, replays
from tests.contract.till import IN_PROGRESS, PAY, Till, key
from tests.contract.untouched import KEYS, untouched

pytestmark = pytest.mark.usefixtures("shift_clock")
DECLINED = {"decline_code", "order"}
DEADLINE_SECONDS = 60


@pytest.fixture
def till(make_till: Callable[..., Till]) -> Till:
    """Two units at 25.00 each."""
    return make_till()


@pytest.fixture
def hold(till: Till) -> Any:
    """One of the two."""
    return till.sale.hold(labels=["U-1"])


# --- the key ---------------------------------------------------------------------------------------------------------


def test_an_order_needs_a_key(till: Till, hold: Any) -> None:
    body = {"hold": hold["id"], "payment": {"method": "tok_ok"}}
    with untouched(till):
        expect.problem(till.sale.api.post(PAY, body), 400, "idempotency-key-missing")
        for wrong in WRONG_KEYS:
            refused = till.sale.api.post(PAY, body, headers={"Idempotency-Key": wrong})
            expect.problem(refused, 400, "idempotency-key-invalid")
    expect.body(till.pay(hold), 201)


def test_the_same_call_again_is_the_same_order_and_one_charge(till: Till, hold: Any) -> None:
    first = till.pay(hold, name="cart")
    expect.body(first, 201)
    with untouched(till):
        for _ in range(3):
            replays(first, till.pay(hold, name="cart"))
    assert len(till.charges(first.json())) == 1


def test_its_key_is_used_up_for_any_other_call(till: Till, hold: Any) -> None:
    order = expect.body(till.pay(hold, name="cart"), 201)
    other = till.sale.hold(labels=["U-2"])
    with untouched(till):
        for refused in (
            till.pay(other, name="cart"),
            till.pay(hold, "tok_no_callback", "cart"),
            till.pay(hold, name="cart", buyer={}),
            till.refund(order, "cart"),
            till.sale.ask(quantity=1, headers=key("cart")),
        ):
            expect.problem(refused, 422, "idempotency-key-reused")


def test_the_key_of_a_hold_pays_nothing(till: Till) -> None:
    hold = expect.body(till.sale.ask(quantity=1, headers=key("cart")), 201)
    with untouched(till):
        expect.problem(till.pay(hold, name="cart"), 422, "idempotency-key-reused")


def test_the_key_of_another_api_key_is_another(
    till: Till, hold: Any, make_key: Callable[..., str], api: Callable[..., Any]
) -> None:
    body = {"hold": hold["id"], "payment": {"method": "tok_ok"}}
    order = expect.body(till.pay(hold, name="cart"), 201)
    refused = api(make_key(till.sale.tenant, ["orders"])).post(PAY, body, headers=key("cart"))
    assert expect.problem(refused, 409, "hold-converted", {"order"})["order"] == order["id"]
    assert "idempotency-replayed" not in refused.headers


# --- what can not be asked -------------------------------------------------------------------------------------------

NO_TEXT: list[Any] = [1, 1.5, True, [], {}, "a\0", "a\nb"]
# by the place of the fault, what stands in the body
WRONG: dict[str, list[dict[str, Any]]] = {
    "/hold": [
        *({"hold": wrong} for wrong in (None, 1, True, "", "x", [], {}, "0" * 32)),
        {"hold": "{01890000-0000-7000-8000-000000000000}"},
    ],
    "/payment": [{"payment": wrong} for wrong in ("tok_ok", [], 1, True, [{"method": "tok_ok"}])],
    "/payment/method": [
        {"payment": {}},
        *({"payment": {"method": wrong}} for wrong in (*NO_TEXT, None, "", " ", "tok_ok\n", "x" * 256)),
    ],
    "/payment/amount": [{"payment": {"method": "tok_ok", "amount": 2500}}],
    "/buyer": [{"buyer": wrong} for wrong in ("Ada", [], 1, True)],
    "/buyer/name": [{"buyer": {"name": wrong}} for wrong in (*NO_TEXT, "x" * 201)],
    "/buyer/email": [{"buyer": {"email": wrong}} for wrong in (*NO_TEXT, "x" * 255)],
    "/buyer/phone": [{"buyer": {"name": "Ada", "phone": "1"}}],
    **{f"/{name}": [{name: 1}] for name in ("Hold", "method", "event", "total", "status", "tenant")},
}


@pytest.mark.parametrize("place", WRONG)
def test_a_wrong_member_is_named_and_its_key_stays_free(till: Till, hold: Any, place: str) -> None:
    good = {"hold": hold["id"], "payment": {"method": "tok_ok"}}
    with untouched(till):
        for wrong in WRONG[place]:
            refused = till.sale.api.post(PAY, good | wrong, headers=key("cart"))
            assert expect.pointers(refused) == [place], wrong
    expect.body(till.sale.api.post(PAY, good, headers=key("cart")), 201)


def test_all_that_is_wrong_is_named_at_once(till: Till) -> None:
    wrong = {"payment": {"method": 1}, "buyer": {"name": 1, "age": 2}, "x": 3}
    with untouched(till):
        answer = till.sale.api.post(PAY, wrong, headers=key())
        assert set(expect.faults(answer)) == {"/hold", "/payment/method", "/buyer/name", "/buyer/age", "/x"}


def test_a_buyer_is_taken_up_to_the_limits(till: Till, hold: Any) -> None:
    buyer = {"name": "ä" * 200, "email": "x" * 254}
    assert expect.body(till.pay(hold, buyer=buyer), 201)["buyer"] == buyer


def test_a_method_may_be_long_and_is_the_providers_to_judge(till: Till, hold: Any) -> None:
    refused = till.pay(hold, "x" * 255)
    assert expect.problem(refused, 402, "payment-declined", DECLINED)["decline_code"]


def test_what_is_no_readable_object_is_refused_as_such(till: Till, hold: Any) -> None:
    def send(body: bytes, **more: Any) -> Any:
        return till.sale.api.post(PAY, body, headers=key("cart"), **more)

    good = b'{"hold":"%s","payment":{"method":"tok_ok"}}' % hold["id"].encode()
    with untouched(till):
        for text in (b"[]", b"null", b'"x"', b"1", b"[%s]" % good):
            assert expect.faults(send(text)) == {"": "not_an_object"}
        for text in (b"", b"{", good[:-1], good + b",", b"\xff", b'{"hold":NaN}', b'{"hold":"\\ud800"}'):
            expect.problem(send(text), 400, "malformed")
        for media_type in ("text/plain", "application/x-www-form-urlencoded", "application/xml"):
            expect.problem(send(good, media_type=media_type), 415, "unsupported-media-type")
        expect.problem(send(good + b" " * 2**20), 413, "body-too-large")
    expect.body(send(good), 201)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_orders_are_only_listed_and_made(till: Till, hold: Any, method: str) -> None:
    with untouched(till):
        expect.problem(till.sale.api.send(method, PAY, {"hold": hold["id"]}), 405, "method-not-allowed")


def test_a_hold_that_is_not_there_is_named(till: Till, hold: Any) -> None:
    with untouched(till):
        for unknown in (str(uuid4()), str(till.sale.event.id), till.sale.ids[0]):
            assert expect.faults(till.pay({"id": unknown}, name="cart")) == {"/hold": "unknown"}
    expect.body(till.pay(hold, name="cart"), 201)


@pytest.mark.parametrize("more", [{}, {"payment": None}, {"buyer": {"name": "Ada"}}])
def test_what_costs_something_needs_a_payment(till: Till, hold: Any, more: Any) -> None:
    with untouched(till):
        assert expect.pointers(till.pay(hold, None, "cart", **more)) == ["/payment"]
    expect.body(till.pay(hold, name="cart"), 201)


# --- a hold that has ended -------------------------------------------------------------------------------------------


def test_a_hold_past_its_time_is_gone_and_stays_gone_for_its_key(till: Till, hold: Any, shift_clock: Any) -> None:
    shift_clock(601)
    with untouched(till, KEYS):
        first = till.pay(hold, name="late")
        expect.problem(first, 410, "hold-expired")
    till.sale.hold(labels=["U-1"], customer="bob")
    with untouched(till):
        replays(first, till.pay(hold, name="late"))


def test_a_hold_is_payable_until_its_last_second(till: Till, hold: Any, shift_clock: Any) -> None:
    shift_clock(595)
    expect.body(till.pay(hold), 201)


def test_a_hold_that_was_released_is_gone(till: Till, hold: Any) -> None:
    expect.body(till.sale.api.post(f"/v1/holds/{hold['id']}/release"))
    with untouched(till, KEYS):
        first = till.pay(hold, name="late")
        expect.problem(first, 410, "hold-released")
        replays(first, till.pay(hold, name="late"))


def test_a_hold_that_was_paid_names_its_order_again_and_again(till: Till, hold: Any) -> None:
    order = expect.body(till.pay(hold), 201)
    with untouched(till, KEYS):
        first = till.pay(hold, name="again")
        assert expect.problem(first, 409, "hold-converted", {"order"})["order"] == order["id"]
        replays(first, till.pay(hold, name="again"))


@pytest.mark.parametrize("status", ["partially_refunded", "refunded"])
def test_a_hold_whose_order_was_refunded_stays_converted(till: Till, status: str) -> None:
    order = till.sold()
    items = {"items": [{"unit": till.sale.ids[0]}]} if status == "partially_refunded" else {}
    assert till.refunded(order, **items)["status"] == status
    with untouched(till, KEYS):
        refused = till.pay({"id": order["hold"]})
        assert expect.problem(refused, 409, "hold-converted", {"order"})["order"] == order["id"]


# --- a payment that is declined --------------------------------------------------------------------------------------


def test_a_decline_says_why_and_the_hold_and_the_order_go_on(till: Till, hold: Any) -> None:
    refused = expect.problem(till.pay(hold, "tok_declined"), 402, "payment-declined", DECLINED)
    assert refused["decline_code"] == "card_declined"
    order = till.order(refused["order"])
    assert (order["status"], order["reason"], order["hold"]) == ("pending", None, hold["id"])
    assert order["tickets"] == order["refunds"] == []
    assert [(payment["status"], payment["decline_code"]) for payment in order["payments"]] == [
        ("declined", "card_declined")
    ]
    assert (till.hold(hold)["status"], till.hold(hold)["extensions_left"]) == ("active", hold["extensions_left"])
    assert till.hold(hold)["expires_at"] >= hold["expires_at"]
    assert till.sale.statuses() == {"U-1": "held", "U-2": "available"}
    assert (till.told(order), till.told(hold)) == ([], ["hold.created"])
    assert till.charges(order) == []


def test_a_decline_is_kept_under_its_key_and_another_method_takes_another_key(till: Till, hold: Any) -> None:
    first = till.pay(hold, "tok_declined", "first")
    order = expect.problem(first, 402, "payment-declined", DECLINED)["order"]
    with untouched(till):
        replays(first, till.pay(hold, "tok_declined", "first"))
        expect.problem(till.pay(hold, "tok_ok", "first"), 422, "idempotency-key-reused")
    second = till.pay(hold, "tok_ok", "second")
    confirmed = expect.body(second, 201)
    assert confirmed["id"] == order
    assert [payment["status"] for payment in confirmed["payments"]] == ["declined", "succeeded"]
    with untouched(till):
        replays(first, till.pay(hold, "tok_declined", "first"))
        replays(second, till.pay(hold, "tok_ok", "second"))
    assert till.kept(order) == 2500


def test_after_declines_the_hold_still_ends_and_its_order_fails(till: Till, hold: Any) -> None:
    order = till.declined(hold)
    for _ in range(3):
        assert till.declined(hold) == order
    expect.body(till.sale.api.post(f"/v1/holds/{hold['id']}/release"))
    assert (till.order(order)["status"], till.order(order)["reason"]) == ("failed", "declined")
    assert till.told(order) == ["order.failed"]
    with untouched(till, KEYS):
        expect.problem(till.pay(hold), 410, "hold-released")


# --- a payment that is under way -------------------------------------------------------------------------------------


def wait_is_told(answer: Any) -> None:
    assert int(answer.headers["retry-after"]) > 0
    assert "idempotency-replayed" not in answer.headers


def test_while_a_charge_is_unknown_nothing_else_is_done_with_the_hold(till: Till, hold: Any) -> None:
    order = till.unknown(hold)
    path = f"/v1/holds/{hold['id']}"
    with untouched(till):
        for refused in (
            till.pay(hold, name="second"),
            till.pay(hold, None),
            till.sale.api.post(f"{path}/extend", headers=key()),
            till.sale.api.post(f"{path}/release", headers=key()),
        ):
            assert expect.problem(refused, 409, "checkout-in-progress", IN_PROGRESS)["order"] == order["id"]
            wait_is_told(refused)
    till.later()
    converted = till.pay(hold, name="second")
    assert expect.problem(converted, 409, "hold-converted", {"order"})["order"] == order["id"]
    assert len(till.charges(order)) == 1


class Gate:
    """Charges wait at it: `reached` says that one does, `opened` lets them go."""

    def __init__(self) -> None:
        self.reached, self.opened = Event(), Event()

    def hold_back(self, charge: Callable[..., Charge]) -> Callable[..., Charge]:
        def charge_later(provider: MockProvider, order: ChargeOrder) -> Charge:
            self.reached.set()
            assert self.opened.wait(DEADLINE_SECONDS)
            return charge(provider, order)

        return charge_later


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    gate = Gate()
    monkeypatch.setattr(MockProvider, "charge", gate.hold_back(MockProvider.charge))
    return gate


def test_while_the_provider_is_asked_the_key_is_in_flight_and_the_hold_in_checkout(
    till: Till, hold: Any, gate: Gate, run_together: Callable[..., list[Any]]
) -> None:
    def ask_meanwhile() -> list[Any]:
        assert gate.reached.wait(DEADLINE_SECONDS)
        try:
            return [till.pay(hold, name="first"), till.pay(hold, name="second"), till.pay(hold, "tok_other", "first")]
        finally:
            gate.opened.set()

    paid, (same, second, reused) = run_together([lambda: till.pay(hold, name="first"), ask_meanwhile])
    order = expect.body(paid, 201)
    expect.problem(same, 409, "idempotency-in-flight")
    assert expect.problem(second, 409, "checkout-in-progress", IN_PROGRESS)["order"] == order["id"]
    wait_is_told(same)
    wait_is_told(second)
    expect.problem(reused, 422, "idempotency-key-reused")
    replays(paid, till.pay(hold, name="first"))
    assert len(till.charges(order)) == 1


# --- an answer that is not known yet ---------------------------------------------------------------------------------


def put_off(answer: Any) -> Any:
    """A 202: where to look, and when."""
    order = expect.body(answer, 202)
    assert answer.headers["location"] == f"{PAY}/{order['id']}"
    assert int(answer.headers["retry-after"]) > 0
    return order


def test_an_unknown_charge_is_a_pending_order(till: Till, hold: Any) -> None:
    answer = till.pay(hold, "tok_reset_after_charge", "cart")
    order = put_off(answer)
    assert "idempotency-replayed" not in answer.headers
    assert (order["status"], order["reason"], order["tickets"]) == ("pending", None, [])
    assert [payment["status"] for payment in order["payments"]] == ["unknown"]
    assert expect.body(till.sale.api.get(answer.headers["location"])) == order
    assert till.hold(hold)["status"] == "active"
    assert (till.told(order), till.sale.statuses()["U-1"]) == ([], "held")
    with untouched(till):
        again = till.pay(hold, "tok_reset_after_charge", "cart")
        assert put_off(again) == order
        assert again.headers["idempotency-replayed"] == "true"
        expect.problem(till.pay(hold, "tok_ok", "cart"), 422, "idempotency-key-reused")


def test_its_replay_tells_that_it_was_confirmed(till: Till, hold: Any) -> None:
    order = till.unknown(hold, name="cart")
    till.later()
    with untouched(till):
        answer = till.pay(hold, "tok_reset_after_charge", "cart")
        confirmed = expect.body(answer, 201)
    assert answer.headers["idempotency-replayed"] == "true"
    assert "retry-after" not in answer.headers
    assert confirmed == till.order(order)
    assert (confirmed["id"], confirmed["status"]) == (order["id"], "confirmed")
    assert all(ticket["token"] for ticket in confirmed["tickets"])
    assert till.kept(order) == 2500


def test_its_replay_tells_that_it_never_took_place(till: Till, hold: Any) -> None:
    order = till.unknown(hold, "tok_error_500", "cart")
    for _ in range(3):
        till.later()
    with untouched(till):
        answer = till.pay(hold, "tok_error_500", "cart")
        declined = expect.problem(answer, 402, "payment-declined", DECLINED)
    assert (declined["decline_code"], declined["order"]) == ("provider_unavailable", order["id"])
    assert answer.headers["idempotency-replayed"] == "true"
    assert till.order(order)["status"] == "pending"
    assert till.sale.statuses()["U-1"] == "held"
    assert till.kept(order) == 0
    assert expect.body(till.pay(hold), 201)["id"] == order["id"]


def test_its_replay_tells_that_the_hold_ended_first_and_the_money_goes_back(
    till: Till, hold: Any, shift_clock: Any
) -> None:
    order = till.unknown(hold, name="cart")
    shift_clock(1000)
    expect.body(till.pay(till.sale.hold(labels=["U-1"], customer="bob")), 201)
    till.later()
    with untouched(till):
        answer = till.pay(hold, "tok_reset_after_charge", "cart")
        assert expect.problem(answer, 410, "hold-expired", {"order"})["order"] == order["id"]
    assert answer.headers["idempotency-replayed"] == "true"
    now = till.order(order)
    assert (now["status"], now["reason"]) == ("failed", "expired_while_paying")
    assert [payment["status"] for payment in now["payments"]] == ["refunded"]
    assert (till.kept(order), till.told(order)) == (0, ["order.failed"])


def test_another_amount_than_was_asked_is_left_to_a_person(till: Till, hold: Any) -> None:
    order = put_off(till.pay(hold, "tok_wrong_amount", "cart"))
    (payment,) = order["payments"]
    assert payment["status"] == "needs_review"
    assert (till.told(payment), till.told(order)) == (["payment.needs_review"], [])
    till.later(3600)
    with untouched(till):
        again = till.pay(hold, "tok_wrong_amount", "cart")
        assert put_off(again)["payments"] == [payment]
        assert again.headers["idempotency-replayed"] == "true"
        refused = till.pay(hold)
        assert expect.problem(refused, 409, "checkout-in-progress", IN_PROGRESS)["order"] == order["id"]
