"""`/v1/orders`: a hold is paid, and becomes an order with its tickets."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.contract import expect
from tests.contract.test_tickets import FIELDS as TICKET
from tests.contract.till import ORDER, PAY, PAYMENT, Till, key
from tests.support import database, feed

BUYER = {"name": "Ada Lovelace", "email": "ada@example.org"}


def test_a_paid_hold_is_a_confirmed_order(make_till: Callable[..., Till]) -> None:
    till = make_till(2, section="Stalls")
    hold = till.sale.hold(labels=till.sale.labels, customer="  Ada@Example.org ")
    answer = till.pay(hold, buyer=BUYER)
    order = expect.body(answer, 201)
    assert answer.headers["location"] == f"/v1/orders/{order['id']}"
    assert "retry-after" not in answer.headers
    assert "idempotency-replayed" not in answer.headers
    assert set(order) == ORDER
    expect.identifier(order["id"])
    assert abs(expect.moment(order["created_at"]) - datetime.now(tz=UTC)) < timedelta(seconds=60)
    assert expect.apart_from(order, "id", "created_at", "payments", "tickets", "timeline") == {
        "hold": hold["id"],
        "event": str(till.sale.event.id),
        "status": "confirmed",
        "reason": None,
        "customer": "  Ada@Example.org ",
        "buyer": BUYER,
        "total": {"amount": 5000, "currency": "EUR"},
        "items": [{**item, "refunded": False} for item in hold["items"]],
        "refunds": [],
    }
    assert till.order(order) == order


def test_its_payment_says_what_was_taken_and_where(make_till: Callable[..., Till]) -> None:
    till = make_till(2)
    order = till.sold()
    (payment,) = order["payments"]
    assert set(payment) == PAYMENT
    expect.identifier(payment["id"])
    expect.moment(payment["created_at"])
    (charge,) = till.charges(order)
    assert expect.apart_from(payment, "id", "created_at") == {
        "status": "succeeded",
        "amount": {"amount": 5000, "currency": "EUR"},
        "captured": {"amount": 5000, "currency": "EUR"},
        "provider": "mock",
        "provider_reference": charge["id"],
        "decline_code": None,
    }
    assert (charge["amount"], charge["currency"], charge["refunded"]) == (5000, "EUR", 0)


def test_a_payment_says_what_was_captured_once_it_was(make_till: Callable[..., Till]) -> None:
    till = make_till(3)
    declined, unknown = till.declined(till.sale.hold(labels=["U-1"])), till.unknown(till.sale.hold(labels=["U-2"]))
    captured = [till.order(order)["payments"][0]["captured"] for order in (declined, unknown)]
    assert captured == [None, None]
    till.later()
    assert till.order(unknown)["payments"][0]["captured"] == {"amount": 2500, "currency": "EUR"}
    reviewed = expect.body(till.pay(till.sale.hold(labels=["U-3"]), "tok_wrong_amount"), 202)
    (payment,), (charge,) = reviewed["payments"], till.charges(reviewed)
    assert payment["amount"] == {"amount": 2500, "currency": "EUR"}
    assert payment["captured"] == {"amount": charge["amount"], "currency": charge["currency"]} != payment["amount"]


def test_it_has_a_good_ticket_for_each_unit(make_till: Callable[..., Till]) -> None:
    till = make_till(3)
    order = till.sold()
    assert [set(ticket) for ticket in order["tickets"]] == [TICKET] * 3
    assert {ticket["label"] for ticket in order["tickets"]} == set(till.sale.labels)
    assert {ticket["status"] for ticket in order["tickets"]} == {"valid"}
    listed = expect.body(till.sale.api.get(f"/v1/orders/{order['id']}/tickets"))["data"]
    assert listed == order["tickets"]
    for ticket in order["tickets"]:
        expect.body(till.sale.api.post("/v1/tickets/redeem", {"token": ticket["token"]}))


def test_its_timeline_tells_what_happened_by_time(make_till: Callable[..., Till]) -> None:
    till = make_till(1)
    hold = till.sale.hold(quantity=1)
    till.declined(hold)
    order = expect.body(till.pay(hold), 201)
    at = [expect.moment(line["at"]) for line in order["timeline"]]
    assert at == sorted(at)
    assert all(isinstance(line["what"], str) and line["what"] for line in order["timeline"])
    declined = [line for line in order["timeline"] if "decline_code" in line]
    assert [line["what"] for line in declined] == ["payment_declined"]
    tries = ["payment_created", "payment_declined", "payment_created", "payment_succeeded"]
    assert told(order) == ["order_created", *tries, "order_confirmed"]


def told(order: Any) -> list[str]:
    """Its timeline, without the times."""
    return [line["what"] for line in order["timeline"]]


def test_what_was_paid_stays_told_when_it_went_back(make_till: Callable[..., Till]) -> None:
    till = make_till(2)
    order = till.sold()
    paid = [line for line in order["timeline"] if line["what"] == "payment_succeeded"]
    back = till.refunded(order)
    assert [payment["status"] for payment in back["payments"]] == ["refunded"]
    assert [line for line in back["timeline"] if line["what"] == "payment_succeeded"] == paid
    assert told(back) == [*told(order), "refund_created", "refund_succeeded"]


def test_money_that_could_not_be_kept_is_told_to_have_been_paid(make_till: Callable[..., Till]) -> None:
    till = make_till(1)
    order = till.unknown(till.sale.hold(quantity=1))
    database.advance_clock(1000)
    till.sold()
    till.later()
    ends = ["payment_succeeded", "refund_created", "order_failed", "refund_succeeded"]
    assert told(till.order(order)) == ["order_created", "payment_created", *ends]


def test_a_payment_under_review_is_told_as_that(make_till: Callable[..., Till]) -> None:
    till = make_till(1)
    order = expect.body(till.pay(till.sale.hold(quantity=1), "tok_wrong_amount"), 202)
    assert told(order) == ["order_created", "payment_created", "payment_needs_review"]


def test_its_hold_is_converted_and_its_units_are_sold(make_till: Callable[..., Till]) -> None:
    till = make_till(2)
    hold = till.sale.hold(labels=["U-1"])
    assert till.hold(hold)["order"] is None
    order = expect.body(till.pay(hold), 201)
    now = till.hold(hold)
    assert (now["status"], now["order"], now["seconds_left"]) == ("converted", order["id"], 0)
    assert till.sale.statuses() == {"U-1": "sold", "U-2": "available"}
    path = f"/v1/holds/{hold['id']}"
    for refused in (till.pay(hold), till.sale.api.post(f"{path}/extend"), till.sale.api.post(f"{path}/release")):
        assert expect.problem(refused, 409, "hold-converted", {"order"})["order"] == order["id"]
    assert till.sale.statuses() == {"U-1": "sold", "U-2": "available"}


@pytest.mark.parametrize("body", [{}, {"payment": None}, {"payment": {"method": "tok_declined"}}])
def test_what_costs_nothing_is_confirmed_without_a_payment(make_till: Callable[..., Till], body: Any) -> None:
    till = make_till(1, price_amount=0)
    hold = till.sale.hold(quantity=1)
    order = expect.body(till.pay(hold, None, **body), 201)
    assert (order["status"], order["payments"]) == ("confirmed", [])
    assert order["total"] == {"amount": 0, "currency": "EUR"}
    assert [ticket["status"] for ticket in order["tickets"]] == ["valid"]
    assert till.sale.statuses() == {"U-1": "sold"}


@pytest.mark.parametrize(("currency", "amount"), [("JPY", 80), ("EUR", 1), ("KWD", 1234), ("KRW", 50_000)])
def test_the_provider_takes_just_what_the_order_says_in_any_currency(
    make_till: Callable[..., Till], currency: str, amount: int
) -> None:
    till = make_till(2, price_amount=amount, currency=currency)
    order = till.sold()
    whole = {"amount": 2 * amount, "currency": currency}
    assert order["total"] == order["payments"][0]["amount"] == whole
    (charge,) = till.charges(order)
    assert {name: charge[name] for name in whole} == whole
    (confirmed,) = feed.read(till.sale.api, f"subject={order['id']}")
    assert confirmed["data"]["total"] == whole
    back = till.refunded(order, items=[{"unit": till.sale.ids[0]}])
    assert back["refunds"][0]["amount"] == {"amount": amount, "currency": currency}
    assert till.kept(order) == amount


@pytest.mark.parametrize("buyer", [None, {}, {"name": "Ada"}, {"email": "ada@example.org"}, {"name": None}])
def test_the_buyer_may_say_as_much_as_is_wished(make_till: Callable[..., Till], buyer: Any) -> None:
    till = make_till(1)
    assert till.sold(buyer=buyer)["buyer"] == buyer


def test_without_a_buyer_there_is_none_and_a_second_try_keeps_the_first_ones(make_till: Callable[..., Till]) -> None:
    till = make_till(2)
    assert till.sold("U-1")["buyer"] is None
    hold = till.sale.hold(labels=["U-2"])
    refused = till.pay(hold, "tok_declined", buyer=BUYER)
    assert expect.problem(refused, 402, "payment-declined", {"decline_code", "order"})
    assert expect.body(till.pay(hold), 201)["buyer"] == BUYER


def test_the_price_is_the_one_that_was_held(make_till: Callable[..., Till]) -> None:
    till = make_till(1)
    hold = till.sale.hold(quantity=1)
    assert till.sale.units[0].price_amount == hold["total"]["amount"] == 2500
    assert expect.body(till.pay(hold), 201)["total"] == hold["total"]


def listed(till: Till, query: str = "") -> list[str]:
    return [order["id"] for order in expect.body(till.sale.api.get(f"{PAY}?limit=200{query}"))["data"]]


def test_the_list_is_filtered_by_event_status_and_customer(make_till: Callable[..., Till]) -> None:
    till = make_till(4)
    other = make_till(1, tenant=till.sale.tenant)
    first = till.sold("U-1")["id"]
    bobs = expect.body(till.pay(till.sale.hold(labels=["U-2"], customer="Bob")), 201)["id"]
    pending = till.declined(till.sale.hold(labels=["U-3"]))
    theirs = other.sold()["id"]
    till.refunded(first)
    assert listed(till) == [first, bobs, pending, theirs]
    assert listed(till, f"&event={till.sale.event.id}") == [first, bobs, pending]
    assert listed(till, "&status=confirmed") == [bobs, theirs]
    assert listed(till, "&status=refunded") == [first]
    assert listed(till, f"&status=pending&event={till.sale.event.id}") == [pending]
    assert listed(till, "&customer=%20BOB%20") == [bobs]
    for nothing in ("&status=failed", "&customer=eve", "&event=01890000-0000-7000-8000-000000000000"):
        assert listed(till, nothing) == []
    shown = expect.body(till.sale.api.get(f"{PAY}?limit=1"))["data"][0]
    assert shown == till.order(first)


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("event=1", "event"),
        ("status=paid", "status"),
        ("status=", "status"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=x", "limit"),
        ("cursor=x", "cursor"),
    ],
)
def test_a_wrong_parameter_of_the_list_is_named(client: Any, query: str, parameter: str) -> None:
    assert expect.parameters(client.get(f"{PAY}?{query}")) == [parameter]


def test_the_list_is_walked_page_by_page_while_it_grows(make_till: Callable[..., Till]) -> None:
    till = make_till(5, price_amount=0)
    made = [till.sold(f"U-{number}", method=None)["id"] for number in range(1, 5)]
    seen, cursor = [], ""
    while cursor is not None:
        page = expect.body(till.sale.api.get(f"{PAY}?limit=3{cursor and f'&cursor={cursor}'}"))
        assert set(page) == {"data", "next"}
        seen += [order["id"] for order in page["data"]]
        if not cursor:
            made.append(till.sold("U-5", method=None)["id"])
        cursor = page["next"]
    assert seen == made


def test_another_tenants_orders_are_not_there(make_till: Callable[..., Till]) -> None:
    mine, theirs = make_till(1), make_till(1)
    hold = theirs.sale.hold(quantity=1)
    assert expect.pointers(mine.pay(hold)) == ["/hold"]
    order = expect.body(theirs.pay(hold), 201)
    assert listed(mine) == []
    path = f"/v1/orders/{order['id']}"
    for answer in (
        mine.sale.api.get(path),
        mine.sale.api.get(f"{path}/tickets"),
        mine.refund(order),
        mine.cancel(order),
        mine.sale.api.get("/v1/orders/01890000-0000-7000-8000-000000000000"),
    ):
        expect.problem(answer, 404, "not-found")
    cursor = expect.body(theirs.sale.api.get(f"{PAY}?limit=1"))["next"]
    assert cursor is None
    assert theirs.order(order) == order


@pytest.mark.parametrize("path", ["/v1/orders/1", "/v1/orders/é", "/v1/orders/%00", "/v1/orders/1/refund"])
def test_what_is_no_id_is_not_found(client: Any, path: str) -> None:
    send = client.post if path.endswith("refund") else client.get
    expect.problem(send(path, headers=key()), 404, "not-found")
