"""`POST /v1/orders/{id}/refund`: money, units and tickets go back, once, and no further than they came."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import pytest

from tests.contract import expect
from tests.contract.test_idempotency import WRONG_KEYS, replays
from tests.contract.till import REFUND, Till, key
from tests.contract.untouched import KEYS, untouched
from tests.support import feed

pytestmark = pytest.mark.usefixtures("shift_clock")
EUR_25 = {"amount": 2500, "currency": "EUR"}
NOBODYS = "01890000-0000-7000-8000-000000000000"


@pytest.fixture
def till(make_till: Callable[..., Till]) -> Till:
    """Three units at 25.00 each."""
    return make_till(3)


@pytest.fixture
def order(till: Till) -> Any:
    """All three are sold."""
    return till.sold()


def items(till: Till, *numbers: int) -> list[dict[str, str]]:
    """Units by their number, from 1 on, as a refund names them."""
    return [{"unit": till.sale.ids[number - 1]} for number in numbers]


def statuses(order: Any) -> dict[str, str]:
    """Its tickets, by label."""
    return {ticket["label"]: ticket["status"] for ticket in order["tickets"]}


def returned(order: Any) -> list[str]:
    """The labels of the items that went back."""
    return [item["label"] for item in order["items"] if item["refunded"]]


def redeem(till: Till, order: Any, label: str) -> Any:
    (token,) = (ticket["token"] for ticket in order["tickets"] if ticket["label"] == label)
    return till.sale.api.post("/v1/tickets/redeem", {"token": token})


# --- what goes back --------------------------------------------------------------------------------------------------


def test_without_items_all_of_it_goes_back(till: Till, order: Any) -> None:
    answer = till.refund(order, reason="rained off")
    now = expect.body(answer)
    assert now == till.order(order)
    assert "idempotency-replayed" not in answer.headers
    assert (now["status"], now["reason"], now["total"]) == ("refunded", None, {"amount": 7500, "currency": "EUR"})
    (refund,) = now["refunds"]
    assert set(refund) == REFUND
    expect.identifier(refund["id"])
    expect.moment(refund["created_at"])
    assert expect.apart_from(refund, "id", "created_at", "items") == {
        "status": "succeeded",
        "amount": {"amount": 7500, "currency": "EUR"},
        "reason": "rained off",
        "restock": True,
    }
    assert sorted(item["unit"] for item in refund["items"]) == sorted(till.sale.ids)
    assert [payment["status"] for payment in now["payments"]] == ["refunded"]
    assert (returned(now), set(statuses(now).values())) == (["U-1", "U-2", "U-3"], {"void"})
    assert till.kept(order) == 0
    assert set(till.sale.statuses().values()) == {"available"}
    assert till.hold({"id": order["hold"]})["status"] == "converted"


def test_a_body_is_not_needed(till: Till, order: Any) -> None:
    answer = till.sale.api.post(f"/v1/orders/{order['id']}/refund", headers=key())
    assert expect.body(answer)["status"] == "refunded"


def test_item_by_item_an_order_is_partially_refunded_and_then_refunded(till: Till, order: Any) -> None:
    first = till.refunded(order, items=items(till, 2))
    assert (first["status"], returned(first)) == ("partially_refunded", ["U-2"])
    assert statuses(first) == {"U-1": "valid", "U-2": "void", "U-3": "valid"}
    assert [payment["status"] for payment in first["payments"]] == ["succeeded"]
    assert [(refund["amount"], refund["items"]) for refund in first["refunds"]] == [(EUR_25, items(till, 2))]
    assert till.sale.statuses() == {"U-1": "sold", "U-2": "available", "U-3": "sold"}
    assert till.kept(order) == 5000

    second = till.refunded(order, items=items(till, 3))
    assert (second["status"], returned(second), len(second["refunds"])) == ("partially_refunded", ["U-2", "U-3"], 2)
    assert till.kept(order) == 2500

    last = till.refunded(order, items=items(till, 1))
    assert (last["status"], [refund["amount"] for refund in last["refunds"]]) == ("refunded", [EUR_25] * 3)
    assert [payment["status"] for payment in last["payments"]] == ["refunded"]
    assert (till.kept(order), set(till.sale.statuses().values())) == (0, {"available"})


def test_after_a_part_all_that_is_left_goes_back(till: Till, order: Any) -> None:
    till.refunded(order, items=items(till, 1))
    now = till.refunded(order)
    assert (now["status"], till.kept(order)) == ("refunded", 0)
    assert [refund["amount"]["amount"] for refund in now["refunds"]] == [2500, 5000]
    assert sorted(item["unit"] for item in now["refunds"][1]["items"]) == sorted(till.sale.ids[1:])


def test_items_that_are_named_together_go_back_in_one_refund(till: Till, order: Any) -> None:
    now = till.refunded(order, items=items(till, 3, 1))
    assert [(refund["amount"]["amount"], refund["items"]) for refund in now["refunds"]] == [(5000, items(till, 3, 1))]


def test_without_restock_the_units_stay_off_sale_until_they_are_unblocked(till: Till, order: Any) -> None:
    now = till.refunded(order, items=items(till, 1, 2), restock=False)
    assert [refund["restock"] for refund in now["refunds"]] == [False]
    assert till.sale.statuses() == {"U-1": "blocked", "U-2": "blocked", "U-3": "sold"}
    refused = till.sale.ask(quantity=1, customer="bob")
    assert expect.problem(refused, 409, "sold-out", {"available"})["available"] == 0
    till.refunded(order)
    assert till.sale.statuses() == {"U-1": "blocked", "U-2": "blocked", "U-3": "available"}
    expect.body(till.sale.api.post(f"{till.sale.path}/units/unblock", {"labels": ["U-1"]}))
    assert till.sold("U-1")["status"] == "confirmed"


def test_what_went_back_is_sold_again_and_the_first_order_has_no_more_to_give(till: Till, order: Any) -> None:
    till.refunded(order, items=items(till, 1))
    again = till.sold("U-1")
    with untouched(till):
        assert expect.faults(till.refund(order, items=items(till, 1))) == {"/items/0/unit": "refunded"}
    till.refunded(order)
    assert (till.order(again), till.kept(again)) == (again, 2500)
    assert till.sale.statuses() == {"U-1": "sold", "U-2": "available", "U-3": "available"}


def test_a_free_order_gives_back_units_and_no_money(make_till: Callable[..., Till]) -> None:
    till = make_till(2, price_amount=0)
    order = till.sold(method=None)
    now = till.refunded(order, items=items(till, 1))
    nothing = {"amount": 0, "currency": "EUR"}
    assert (now["status"], now["payments"]) == ("partially_refunded", [])
    assert [(refund["status"], refund["amount"]) for refund in now["refunds"]] == [("succeeded", nothing)]
    now = till.refunded(order, restock=False)
    assert (now["status"], statuses(now)) == ("refunded", {"U-1": "void", "U-2": "void"})
    assert till.sale.statuses() == {"U-1": "available", "U-2": "blocked"}
    with untouched(till, KEYS):
        expect.problem(till.refund(order), 409, "nothing-to-refund")


def test_its_tickets_let_nobody_in_whether_they_were_used_or_not(till: Till, order: Any) -> None:
    expect.body(redeem(till, order, "U-1"))
    now = till.refunded(order, items=items(till, 1, 2))
    assert statuses(now) == {"U-1": "void", "U-2": "void", "U-3": "valid"}
    for label in ("U-1", "U-2"):
        expect.problem(redeem(till, order, label), 410, "ticket-void")
    expect.body(redeem(till, order, "U-3"))


def test_the_customers_allowance_returns_with_what_went_back(make_till: Callable[..., Till]) -> None:
    till = make_till(4, units_per_customer_max=2)
    order = till.sold("U-1", "U-2")
    limit = {"limit", "in_use", "requested", "rule"}
    expect.problem(till.sale.ask(quantity=1), 422, "limit-exceeded", limit)
    till.refunded(order, items=items(till, 1))
    till.sale.hold(labels=["U-3"])
    assert expect.problem(till.sale.ask(quantity=1), 422, "limit-exceeded", limit)["in_use"] == 2
    till.refunded(order, restock=False)
    till.sale.hold(labels=["U-4"])
    assert expect.problem(till.sale.ask(quantity=1), 422, "limit-exceeded", limit)["in_use"] == 2


def test_it_is_told_of_order_and_tickets_without_what_opens_a_gate(till: Till, order: Any) -> None:
    part = till.refunded(order, items=items(till, 1))
    whole = till.refunded(order)
    told = feed.read(till.sale.api, f"subject={order['id']}")
    assert feed.types(told) == ["order.confirmed", "order.partially_refunded", "order.refunded"]
    assert [message["sequence"] for message in told] == [1, 2, 3]
    for message, shown in zip(told, (order, part, whole), strict=True):
        without_tokens = [expect.apart_from(ticket, "token") for ticket in shown["tickets"]]
        assert message["data"] == {**shown, "tickets": message["data"]["tickets"]}
        assert [expect.apart_from(ticket, "token") for ticket in message["data"]["tickets"]] == without_tokens
        assert not any(ticket["token"] in str(message) for ticket in shown["tickets"])
    for ticket in order["tickets"]:
        assert till.told(ticket) == ["ticket.issued", "ticket.voided"]
        *_, voided = feed.read(till.sale.api, f"subject={ticket['id']}")
        assert voided["data"]["status"] == "void"


# --- what is refused -------------------------------------------------------------------------------------------------


def test_twice_is_once(till: Till, order: Any) -> None:
    till.refunded(order)
    with untouched(till, KEYS):
        first = till.refund(order, "again")
        expect.problem(first, 409, "nothing-to-refund")
        replays(first, till.refund(order, "again"))
    assert len(till.psp.refunds(till.charges(order)[0]["id"])) == 1


@pytest.mark.parametrize("which", ["pending", "failed", "cancelled"])
@pytest.mark.parametrize("named", [False, True])
def test_an_order_that_nobody_paid_has_nothing_to_refund(till: Till, which: str, *, named: bool) -> None:
    hold = till.sale.hold(labels=["U-1"])
    order = till.declined(hold)
    if which == "failed":
        expect.body(till.sale.api.post(f"/v1/holds/{hold['id']}/release"))
    if which == "cancelled":
        expect.body(till.cancel(order))
    assert till.order(order)["status"] == which
    with untouched(till, KEYS):
        answer = till.refund(order, **({"items": items(till, 1)} if named else {}))
        expect.problem(answer, 409, "nothing-to-refund")


def test_an_order_whose_charge_is_unknown_has_nothing_to_refund(till: Till) -> None:
    order = till.unknown(till.sale.hold(labels=["U-1"]))
    with untouched(till, KEYS):
        expect.problem(till.refund(order), 409, "nothing-to-refund")


def test_items_that_are_not_there_to_refund_are_named_and_the_others_stay(till: Till) -> None:
    order, other = till.sold("U-1", "U-2"), till.sold("U-3")
    till.refunded(order, items=items(till, 1))
    with untouched(till):
        wrong = [*items(till, 2, 1, 3), {"unit": str(uuid4())}, {"unit": other["id"]}]
        assert expect.faults(till.refund(order, "cart", items=wrong)) == {
            "/items/1/unit": "refunded",
            "/items/2/unit": "unknown",
            "/items/3/unit": "unknown",
            "/items/4/unit": "unknown",
        }
    assert till.refunded(order, name="cart", items=items(till, 2))["status"] == "refunded"


def test_an_item_of_an_order_that_was_refunded_is_named(till: Till, order: Any) -> None:
    till.refunded(order)
    with untouched(till):
        assert expect.faults(till.refund(order, items=items(till, 2))) == {"/items/0/unit": "refunded"}


def test_an_item_that_is_named_twice_is_refused(till: Till, order: Any) -> None:
    first, second = items(till, 1, 2)
    shouted = {"unit": first["unit"].upper()}
    with untouched(till):
        answer = till.refund(order, items=[first, second, shouted, first])
        assert expect.faults(answer) == {"/items/2/unit": "duplicate", "/items/3/unit": "duplicate"}


@pytest.mark.parametrize("quantity", [1, 0, "1"])
def test_a_line_of_a_pool_that_the_order_does_not_have_is_refused(till: Till, order: Any, quantity: Any) -> None:
    wrong = [*items(till, 1), {"pool": NOBODYS, "quantity": quantity}]
    with untouched(till):
        places = expect.pointers(till.refund(order, items=wrong))
        assert all(place.startswith("/items/1") for place in places), places


WRONG: dict[str, Sequence[Any]] = {
    "/items": [{"items": wrong} for wrong in ([], None, {}, "U-1", 1, True, [{"unit": NOBODYS}] * 101)],
    "/items/0": [{"items": [wrong]} for wrong in (None, NOBODYS, 1, True, [])],
    "/items/0/unit": [{"items": [wrong]} for wrong in ({}, *({"unit": unit} for unit in (None, 1, "", "U-1", [])))],
    "/items/0/amount": [{"items": [{"unit": NOBODYS, "amount": 1}]}],
    "/restock": [{"restock": wrong} for wrong in (None, 0, 1, "true", "", [])],
    "/reason": [{"reason": wrong} for wrong in (1, True, [], {}, "a\0", "a\nb", "x" * 201)],
    **{f"/{name}": [{name: 1}] for name in ("amount", "Items", "units", "status")},
}


@pytest.mark.parametrize("place", WRONG)
def test_a_wrong_member_is_named_and_its_key_stays_free(till: Till, order: Any, place: str) -> None:
    with untouched(till):
        for wrong in WRONG[place]:
            assert expect.pointers(till.refund(order, "cart", **wrong)) == [place], wrong
    till.refunded(order, name="cart")


def test_a_reason_may_be_long_empty_or_none(till: Till, order: Any) -> None:
    reasons = ["x" * 200, "", None]
    for number, reason in enumerate(reasons, 1):
        till.refunded(order, items=items(till, number), reason=reason)
    assert [refund["reason"] for refund in till.order(order)["refunds"]] == ["x" * 200, None, None]


def test_what_is_no_readable_object_is_refused_as_such(till: Till, order: Any) -> None:
    def send(body: bytes, **more: Any) -> Any:
        return till.sale.api.post(f"/v1/orders/{order['id']}/refund", body, headers=key("cart"), **more)

    with untouched(till):
        for text in (b"[]", b"null", b'"x"', b"1"):
            assert expect.faults(send(text)) == {"": "not_an_object"}
        for text in (b"{", b"{},", b"\xff"):
            expect.problem(send(text), 400, "malformed")
        expect.problem(send(b"{}", media_type="text/plain"), 415, "unsupported-media-type")
        expect.problem(send(b"{}" + b" " * 2**20), 413, "body-too-large")
    expect.body(send(b"{}"))


# --- the key ---------------------------------------------------------------------------------------------------------


def test_a_refund_needs_a_key(till: Till, order: Any) -> None:
    path = f"/v1/orders/{order['id']}/refund"
    with untouched(till):
        expect.problem(till.sale.api.post(path, {}), 400, "idempotency-key-missing")
        for wrong in WRONG_KEYS:
            refused = till.sale.api.post(path, {}, headers={"Idempotency-Key": wrong})
            expect.problem(refused, 400, "idempotency-key-invalid")


def test_the_same_call_again_gives_the_first_answer_and_no_more_money(till: Till, order: Any) -> None:
    first = till.refund(order, "cart", items=items(till, 1))
    expect.body(first)
    with untouched(till):
        for _ in range(3):
            replays(first, till.refund(order, "cart", items=items(till, 1)))
        for other in ({}, {"items": items(till, 2)}, {"items": items(till, 1), "restock": False}):
            expect.problem(till.refund(order, "cart", **other), 422, "idempotency-key-reused")
    till.refunded(order)
    with untouched(till):
        replays(first, till.refund(order, "cart", items=items(till, 1)))
    assert till.kept(order) == 0


def test_an_unknown_order_leaves_the_key_free(till: Till, order: Any) -> None:
    with untouched(till):
        expect.problem(till.refund(NOBODYS, "cart"), 404, "not-found")
    till.refunded(order, name="cart")


# --- many at once ----------------------------------------------------------------------------------------------------


def test_however_many_ask_at_once_no_more_goes_back_than_came(
    till: Till, order: Any, run_together: Callable[..., list[Any]]
) -> None:
    wishes: list[Any] = [{}, {}, {"items": items(till, 1)}, {"items": items(till, 1, 2)}, {"items": items(till, 3)}]
    answers = run_together([lambda wish=wish: till.refund(order, **wish) for wish in wishes * 2])
    told = Counter(answer.status_code for answer in answers)
    assert told.keys() <= {200, 409, 422}, [expect.story(answer) for answer in answers]
    assert told[200] >= 1
    till.later()
    till.refund(order)
    now = till.order(order)
    (charge,) = till.charges(order)
    assert sum(refund["amount"]["amount"] for refund in now["refunds"]) == charge["refunded"] == 7500
    assert sorted(item["unit"] for refund in now["refunds"] for item in refund["items"]) == sorted(till.sale.ids)
    assert (now["status"], set(till.sale.statuses().values())) == ("refunded", {"available"})
    assert till.told(order).count("order.refunded") == 1


def test_one_key_many_times_at_once_is_one_refund(
    till: Till, order: Any, run_together: Callable[..., list[Any]]
) -> None:
    answers = run_together([lambda: till.refund(order, "cart", items=items(till, 1))] * 6)
    told = Counter(answer.status_code for answer in answers)
    assert told.keys() <= {200, 409}, [expect.story(answer) for answer in answers]
    for answer in answers:
        if answer.status_code == 409:
            expect.problem(answer, 409, "idempotency-in-flight")
            assert int(answer.headers["retry-after"]) > 0
    assert expect.body(till.refund(order, "cart", items=items(till, 1)))["status"] == "partially_refunded"
    assert (till.kept(order), len(till.order(order)["refunds"])) == (5000, 1)
