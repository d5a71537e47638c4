"""`POST /v1/holds` and its reading: what is chosen, what is answered, what is kept."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from reservations.models import Unit
from tenants.scope import tenant_transaction
from tests.contract import expect
from tests.contract.sale import Sale
from tests.reservations.state import release, rows_of, sell
from tests.support.client import Api
from tests.support.web import granian

FIELDS = {
    "id",
    "event",
    "status",
    "customer",
    "quantity",
    "items",
    "total",
    "created_at",
    "expires_at",
    "seconds_left",
    "extensions_left",
    "ended_at",
    "release_reason",
    "order",
    "metadata",
}


@pytest.fixture
def stalls(make_sale: Callable[..., Sale]) -> Sale:
    """Four units at 25.00 EUR in the stalls."""
    return make_sale(4, section="Stalls", price_amount=2500)


def item(sale: Sale, index: int, amount: int = 2500) -> dict[str, Any]:
    price = {"amount": amount, "currency": sale.event.currency}
    return {"unit": sale.ids[index], "label": sale.labels[index], "section": "Stalls", "price": price}


def test_a_hold_shows_all_that_was_promised(stalls: Sale) -> None:
    hold = stalls.hold(labels=["U-1", "U-2"], metadata={"cart": "42"})
    assert set(hold) == FIELDS
    expect.identifier(hold["id"])
    lifetime = expect.moment(hold["expires_at"]) - expect.moment(hold["created_at"])
    assert lifetime == timedelta(seconds=600)
    assert expect.apart_from(hold, "id", "created_at", "expires_at") == {
        "event": str(stalls.event.id),
        "status": "active",
        "customer": "ada@example.org",
        "quantity": 2,
        "items": [item(stalls, 0), item(stalls, 1)],
        "total": {"amount": 5000, "currency": "EUR"},
        "seconds_left": 600,
        "extensions_left": 2,
        "ended_at": None,
        "release_reason": None,
        "order": None,
        "metadata": {"cart": "42"},
    }
    assert stalls.statuses() == {"U-1": "held", "U-2": "held", "U-3": "available", "U-4": "available"}


def test_a_hold_reads_the_same_from_its_post_its_get_and_its_list_but_for_the_seconds(stalls: Sale) -> None:
    made = stalls.hold(quantity=1)
    read = expect.body(stalls.api.get(f"/v1/holds/{made['id']}"))
    assert expect.apart_from(read, "seconds_left") == expect.apart_from(made, "seconds_left")
    assert 590 <= read["seconds_left"] <= 600
    (listed,) = stalls.holds()
    assert expect.apart_from(listed, "seconds_left") == expect.apart_from(made, "seconds_left")


def test_units_are_chosen_by_id_and_kept_in_the_order_asked(stalls: Sale) -> None:
    hold = stalls.hold(units=[stalls.ids[2], stalls.ids[0].upper()])
    assert hold["items"] == [item(stalls, 2), item(stalls, 0)]


def test_units_are_chosen_by_label_and_kept_in_the_order_asked(stalls: Sale) -> None:
    assert stalls.hold(labels=["U-4", "U-1"])["items"] == [item(stalls, 3), item(stalls, 0)]


def test_any_units_are_chosen_by_quantity(stalls: Sale) -> None:
    hold = stalls.hold(quantity=3)
    assert hold["quantity"] == 3
    assert len({unit["unit"] for unit in hold["items"]}) == 3
    assert all(unit in [item(stalls, index) for index in range(4)] for unit in hold["items"])
    assert list(stalls.statuses().values()).count("held") == 3


def test_any_units_of_a_section_come_from_that_section_alone(make_sale: Callable[..., Sale], make_units: Any) -> None:
    sale = make_sale(3, section="Stalls")
    make_units(sale.tenant, sale.event, labels=["B-1", "B-2"], section="Balcony")
    hold = sale.hold(quantity=2, section="Balcony")
    assert {unit["label"] for unit in hold["items"]} == {"B-1", "B-2"}
    document = expect.problem(sale.ask(quantity=1, section="Balcony"), 409, "sold-out", {"available"})
    assert document["available"] == 0
    assert sale.hold(quantity=3, section=None)["quantity"] == 3


def test_a_unit_without_a_section_and_a_price_shows_null_and_nothing_to_pay(sale: Sale) -> None:
    (unit,) = sale.hold(labels=["U-1"])["items"]
    assert unit == {
        "unit": sale.ids[0],
        "label": "U-1",
        "section": None,
        "price": {"amount": 0, "currency": "EUR"},
    }


@pytest.mark.parametrize(("currency", "amount"), [("EUR", 1), ("JPY", 80), ("KWD", 1234), ("EUR", 10**12)])
def test_a_total_is_the_sum_in_the_currencys_minor_unit(
    make_sale: Callable[..., Sale], currency: str, amount: int
) -> None:
    sale = make_sale(3, currency=currency, price_amount=amount)
    hold = sale.hold(quantity=3)
    assert hold["total"] == {"amount": 3 * amount, "currency": currency}
    assert {unit["price"]["amount"] for unit in hold["items"]} == {amount}
    assert expect.body(sale.api.get(f"/v1/holds/{hold['id']}"))["total"] == hold["total"]


def test_units_of_several_prices_add_up(make_sale: Callable[..., Sale], make_units: Any) -> None:
    sale = make_sale(1, price_amount=1999)
    make_units(sale.tenant, sale.event, labels=["cheap"], price_amount=1)
    make_units(sale.tenant, sale.event, labels=["free"])
    assert sale.hold(labels=["U-1", "cheap", "free"])["total"] == {"amount": 2000, "currency": "EUR"}


def test_label_and_price_are_those_of_the_moment_of_the_hold(stalls: Sale) -> None:
    hold = stalls.hold(labels=["U-1"])
    with tenant_transaction(stalls.tenant.id):
        Unit.objects.filter(id=stalls.units[0].id).update(price_amount=9900, label="renamed", section="Balcony")
    read = expect.body(stalls.api.get(f"/v1/holds/{hold['id']}"))
    assert (read["items"], read["total"]) == (hold["items"], hold["total"])


def test_the_limits_of_the_event_apply_to_the_hold(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(1, hold_ttl_seconds=90, hold_extensions_max=7)
    hold = sale.hold(quantity=1)
    assert (hold["seconds_left"], hold["extensions_left"]) == (90, 7)


@pytest.mark.parametrize("seconds", [5, 6, 119, 120, None])
def test_a_hold_may_be_shorter_than_the_events_term(make_sale: Callable[..., Sale], seconds: int | None) -> None:
    sale = make_sale(1, hold_ttl_seconds=120)
    hold = sale.hold(quantity=1, ttl_seconds=seconds)
    lifetime = expect.moment(hold["expires_at"]) - expect.moment(hold["created_at"])
    assert lifetime == timedelta(seconds=seconds or 120)


@pytest.mark.parametrize("seconds", [0, -5, 4, 121, 7200, 7201, 10**18, 10**30, "60", 60.0, True, "PT60S"])
def test_a_term_out_of_range_is_refused(make_sale: Callable[..., Sale], seconds: Any) -> None:
    sale = make_sale(1, hold_ttl_seconds=120)
    assert expect.pointers(sale.ask(quantity=1, ttl_seconds=seconds)) == ["/ttl_seconds"]
    assert rows_of(sale.tenant.id) == {"holds": 0, "units": {"available": 1}}


def test_the_shortest_event_takes_only_its_own_term(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(1, hold_ttl_seconds=5)
    assert expect.pointers(sale.ask(quantity=1, ttl_seconds=6)) == ["/ttl_seconds"]
    assert sale.hold(quantity=1, ttl_seconds=5)["seconds_left"] == 5


def test_the_longest_term_is_two_hours(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(2, hold_ttl_seconds=7200)
    assert sale.hold(quantity=1)["seconds_left"] == 7200
    assert sale.hold(quantity=1, ttl_seconds=7200)["seconds_left"] == 7200


@pytest.mark.parametrize(
    "customer",
    [
        "a",
        "ada@example.org",
        " Ada  Lovelace ",
        "İstanbul ǅ ß ﬁ",
        "👩‍🚀 e\u0301 \u202eabc",
        "x" * 200,
        "😀" * 200,
        "<script>alert(1)</script>",
        "'; DROP TABLE holds; --",
        "{{7*7}} %s %(x)s",
    ],
)
def test_the_customers_text_is_kept_as_it_was_given(sale: Sale, customer: str) -> None:
    hold = sale.hold(quantity=1, customer=customer)
    assert hold["customer"] == customer
    assert expect.body(sale.api.get(f"/v1/holds/{hold['id']}"))["customer"] == customer


@pytest.mark.parametrize("customer", ["", " ", "\u3000\u00a0 ", "x" * 201, "😀" * 201, "a\0b", None, 5, True, [], {}])
def test_a_customer_that_is_no_text_is_refused(sale: Sale, customer: Any) -> None:
    assert expect.pointers(sale.ask(quantity=1, customer=customer)) == ["/customer"]
    assert rows_of(sale.tenant.id) == {"holds": 0, "units": {"available": 3}}


METADATA = [
    {},
    {"cart": "42"},
    {"nested": {"list": [1, -1.5, None, True, "ß 😀", []]}, "": "empty name"},
    {"big": 2**63, "small": -(2**63), "float": 0.1},
]


@pytest.mark.parametrize("metadata", METADATA)
def test_metadata_comes_back_as_it_was_sent(sale: Sale, metadata: Any) -> None:
    hold = sale.hold(quantity=1, metadata=metadata)
    assert hold["metadata"] == metadata
    assert expect.body(sale.api.get(f"/v1/holds/{hold['id']}"))["metadata"] == metadata
    assert sale.holds()[0]["metadata"] == metadata


@pytest.mark.parametrize("text", ["1e20", "18446744073709551616", "1e300", "-1e300", "1.0", "1e-300", "100e-2"])
def test_a_large_number_in_metadata_never_makes_a_hold_unreadable(sale: Sale, text: str) -> None:
    sent = f'{{"event":"{sale.event.id}","quantity":1,"customer":"ada","metadata":{{"number":{text}}}}}'
    answer = sale.api.post("/v1/holds", sent.encode())
    if answer.status_code == 422:
        assert expect.pointers(answer)[0].startswith("/metadata")
        assert rows_of(sale.tenant.id)["holds"] == 0
        return
    hold = expect.body(answer, 201)
    assert hold["metadata"]["number"] == float(text)
    assert expect.body(sale.api.get(f"/v1/holds/{hold['id']}"))["metadata"]["number"] == float(text)
    assert sale.holds()[0]["metadata"]["number"] == float(text)


def nested(depth: int, opening: str, closing: str) -> str:
    return opening * depth + "1" + closing * depth


@pytest.mark.parametrize("depth", [1, 50, 200, 245, 250, 251, 252, 253, 254, 255, 256, 500, 1000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "deep"}], ids=["no key", "key"])
def test_metadata_that_is_nested_deeply_is_kept_or_refused_and_never_makes_a_hold_unreadable(
    sale: Sale, depth: int, opening: str, closing: str, headers: dict[str, str]
) -> None:
    metadata = f'{{"m":{nested(depth, opening, closing)}}}'
    sent = f'{{"event":"{sale.event.id}","quantity":1,"customer":"ada","metadata":{metadata}}}'
    answer = sale.api.post("/v1/holds", sent.encode(), headers=headers)
    if answer.status_code != 201:
        assert rows_of(sale.tenant.id) == {"holds": 0, "units": {"available": 3}}, "refused, and yet there is a hold"
        assert answer.status_code in (400, 422), expect.story(answer)
        return
    hold = expect.body(answer, 201)
    expect.body(sale.api.get(f"/v1/holds/{hold['id']}"))
    expect.body(sale.api.get("/v1/holds"))


def test_metadata_has_at_most_four_kibibytes(sale: Sale) -> None:
    # {"k":"…"} is 8 bytes around its text
    fits = {"k": "x" * (4096 - 8)}
    assert sale.hold(quantity=1, metadata=fits)["metadata"] == fits
    for wrong in ({"k": "x" * (4096 - 7)}, {"k": "é" * 2045}, {"k" * 5000: 1}):
        assert expect.pointers(sale.ask(quantity=1, metadata=wrong)) == ["/metadata"]
    assert rows_of(sale.tenant.id)["holds"] == 1


@pytest.mark.parametrize("metadata", [None, [], "cart", 1, True, {"nul": "a\0b"}, {"a\0": 1}, {"deep": [{"a": "\0"}]}])
def test_metadata_that_can_not_be_kept_is_refused(sale: Sale, metadata: Any) -> None:
    assert expect.pointers(sale.ask(quantity=1, metadata=metadata)) == ["/metadata"]
    assert rows_of(sale.tenant.id) == {"holds": 0, "units": {"available": 3}}


def test_an_unknown_hold_and_another_tenants_are_the_same_404(sale: Sale, client: Api) -> None:
    hold = sale.hold(quantity=1)
    theirs = expect.problem(client.get(f"/v1/holds/{hold['id']}"), 404, "not-found")
    unknown = expect.problem(client.get(f"/v1/holds/{uuid4()}"), 404, "not-found")
    assert expect.apart_from(theirs, "request_id") == expect.apart_from(unknown, "request_id")


@pytest.mark.parametrize("name", ["1", "9223372036854775808", "%00", "x" * 3000, "0" * 32])
def test_what_is_no_id_of_a_hold_is_a_404(client: Api, name: str) -> None:
    expect.problem(client.get(f"/v1/holds/{name}"), 404, "not-found")


def test_holds_are_filtered_by_event_status_and_customer(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(5)
    other = make_sale(1, tenant=sale.tenant)
    ada = sale.hold(quantity=1, customer="Ada@Example.org")["id"]
    bob = sale.hold(quantity=1, customer="bob")["id"]
    sold = sale.hold(quantity=1, customer="ada@example.org ")["id"]
    released = sale.hold(quantity=1, customer="bob")["id"]
    elsewhere = other.hold(quantity=1)["id"]
    sell(sale.tenant.id, sold)
    release(sale.tenant.id, released)

    def found(query: str) -> list[str]:
        return [hold["id"] for hold in expect.body(sale.api.get(f"/v1/holds?{query}"))["data"]]

    assert found("") == [ada, bob, sold, released, elsewhere]
    assert found(f"event={other.event.id}") == [elsewhere]
    assert found(f"event={str(sale.event.id).upper()}") == [ada, bob, sold, released]
    assert found("status=active") == [ada, bob, elsewhere]
    assert found("status=converted") == [sold]
    assert found("status=released") == [released]
    assert found("status=expired") == []
    assert found("customer=ADA@example.org") == [ada, sold, elsewhere]
    assert found("customer=%20ada@example.org") == [ada, sold, elsewhere]
    assert found("customer=bo") == []
    assert found(f"event={sale.event.id}&status=active&customer=bob") == [bob]
    assert found(f"event={uuid4()}") == []


@pytest.mark.parametrize(
    "query",
    ["event=1", "event=", "event=null", "event=9223372036854775808", "status=held", "status=", "status=ACTIVE"],
)
def test_a_filter_of_holds_that_is_wrong_is_named(sale: Sale, query: str) -> None:
    assert expect.parameters(sale.api.get(f"/v1/holds?{query}")) == [query.partition("=")[0]]


@pytest.mark.parametrize("customer", ["", "%20", "x" * 5000, "%ED%A0%80", "%F0%9F%98%80"])
def test_a_strange_customer_selects_nothing(sale: Sale, customer: str) -> None:
    sale.hold(quantity=1)
    assert expect.body(sale.api.get(f"/v1/holds?customer={customer}"))["data"] == []


def test_the_database_dates_a_hold_and_no_process_does(sale: Sale, shift_clock: Callable[[float], None]) -> None:
    before = expect.moment(sale.hold(quantity=1)["created_at"])
    shift_clock(7 * 86_400)
    hold = sale.hold(quantity=1)
    ahead = expect.moment(hold["created_at"]) - before
    assert timedelta(days=7) <= ahead < timedelta(days=7, minutes=2)
    assert hold["seconds_left"] == 600
    assert expect.body(sale.api.get(f"/v1/holds/{hold['id']}"))["status"] == "active"


def test_the_zone_of_a_web_process_changes_no_time(sale: Sale) -> None:
    with granian(workers=1, blocking_threads=1, TZ="Australia/Brisbane", PGTZ="America/Los_Angeles") as web:
        there = web.api(sale.tenant)
        body = {"event": str(sale.event.id), "quantity": 1, "customer": "ada"}
        hold = expect.body(there.post("/v1/holds", body), 201)
        here = expect.body(sale.api.get(f"/v1/holds/{hold['id']}"))
        assert expect.apart_from(here, "seconds_left") == expect.apart_from(hold, "seconds_left")
        assert 590 <= here["seconds_left"] <= 600
        assert expect.body(there.get(f"/v1/holds/{hold['id']}"))["status"] == "active"
    assert timedelta(seconds=600) == expect.moment(hold["expires_at"]) - expect.moment(hold["created_at"])
