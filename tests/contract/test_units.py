"""`/v1/events/{id}/units`: create in bulk, list, filter."""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from reservations.operations.units import create_units
from tests.contract import expect
from tests.contract.sale import Sale
from tests.reservations.state import sell
from tests.support.client import Api

FIELDS = {"id", "label", "section", "row", "number", "price", "status", "starts_at", "ends_at"}
UNITS_PER_CALL_MAX = 5_000
KIB = 1024
BULK_BYTES_MAX = 4 * KIB * KIB


@pytest.fixture
def empty(make_sale: Callable[..., Sale]) -> Sale:
    """An event in draft without units."""
    return make_sale(0, status="draft")


def create(sale: Sale, *units: Any) -> Any:
    return sale.api.post(f"{sale.path}/units", {"units": list(units)})


def shown(sale: Sale, query: str = "") -> list[Any]:
    found: list[Any] = expect.body(sale.api.get(f"{sale.path}/units?{query}"))["data"]
    return found


def test_a_unit_needs_only_a_label_and_costs_nothing_unless_it_has_a_price(empty: Sale) -> None:
    assert expect.body(create(empty, {"label": "A-1"}), 201) == {"created": 1}
    (unit,) = shown(empty)
    assert set(unit) == FIELDS
    expect.identifier(unit["id"])
    assert expect.apart_from(unit, "id") == {
        "label": "A-1",
        "section": None,
        "row": None,
        "number": None,
        "price": {"amount": 0, "currency": "EUR"},
        "status": "available",
        "starts_at": None,
        "ends_at": None,
    }


def test_every_field_of_a_unit_is_kept_as_it_was_given(empty: Sale) -> None:
    fields = {
        "label": "Balcony 3-07 ♿",
        "section": "Balcony",
        "row": "3",
        "number": "07",
        "price": {"amount": 2500, "currency": "EUR"},
        "starts_at": "2027-03-01T10:00:00Z",
        "ends_at": "2027-03-01T10:30:00Z",
    }
    assert expect.body(create(empty, fields), 201) == {"created": 1}
    (unit,) = shown(empty)
    assert expect.apart_from(unit, "id", "status") == fields


@pytest.mark.parametrize("name", ["section", "row", "number", "price", "starts_at", "ends_at"])
def test_null_is_as_good_as_absence(empty: Sale, name: str) -> None:
    assert expect.body(create(empty, {"label": "A-1", name: None}), 201) == {"created": 1}
    (unit,) = shown(empty)
    assert unit[name] == ({"amount": 0, "currency": "EUR"} if name == "price" else None)


def test_units_are_listed_in_the_order_they_were_given(empty: Sale) -> None:
    labels = ["C-9", "A-10", "A-9", "b-1"]
    assert expect.body(create(empty, *({"label": label} for label in labels)), 201) == {"created": 4}
    assert [unit["label"] for unit in shown(empty)] == labels


@pytest.mark.parametrize("status", ["draft", "on_sale", "paused", "closed"])
def test_units_may_be_added_in_any_status_of_the_event(make_sale: Callable[..., Sale], status: str) -> None:
    sale = make_sale(0, status=status)
    assert expect.body(create(sale, {"label": "A-1"}), 201) == {"created": 1}


@pytest.mark.parametrize(("name", "limit"), [("label", 60), ("section", 40), ("row", 40), ("number", 40)])
def test_a_text_may_be_as_long_as_its_limit_and_no_longer(empty: Sale, name: str, limit: int) -> None:
    # characters, not bytes
    fits = "é" * limit
    assert expect.pointers(create(empty, {"label": "A-1"} | {name: fits + "é"})) == [f"/units/0/{name}"]
    assert shown(empty) == []
    assert expect.body(create(empty, {"label": "A-1"} | {name: fits}), 201) == {"created": 1}
    assert shown(empty)[0][name] == fits


@pytest.mark.parametrize("name", ["label", "section", "row", "number"])
@pytest.mark.parametrize("value", [12, 1.5, True, [], {}, "a\0b", "line\nbreak"])
def test_a_text_of_a_unit_is_text(empty: Sale, name: str, value: Any) -> None:
    assert expect.pointers(create(empty, {"label": "A-1"} | {name: value})) == [f"/units/0/{name}"]
    assert shown(empty) == []


@pytest.mark.parametrize("label", ["", "   ", None])
def test_a_label_is_not_empty(empty: Sale, label: Any) -> None:
    assert expect.pointers(create(empty, {"label": label})) == ["/units/0/label"]
    assert expect.pointers(create(empty, {})) == ["/units/0/label"]


@pytest.mark.parametrize(
    ("price", "place"),
    [
        ({"amount": 2500, "currency": "USD"}, "/price/currency"),
        ({"amount": 2500, "currency": "eur"}, "/price/currency"),
        ({"amount": 2500, "currency": 978}, "/price/currency"),
        ({"amount": 0, "currency": "USD"}, "/price/currency"),
        ({"amount": 2500}, "/price/currency"),
        ({"currency": "EUR"}, "/price/amount"),
        ({"amount": -1, "currency": "EUR"}, "/price/amount"),
        ({"amount": 25.0, "currency": "EUR"}, "/price/amount"),
        ({"amount": "2500", "currency": "EUR"}, "/price/amount"),
        ({"amount": True, "currency": "EUR"}, "/price/amount"),
        ({"amount": None, "currency": "EUR"}, "/price/amount"),
        ({"amount": 2**63, "currency": "EUR"}, "/price/amount"),
        ({"amount": 10**30, "currency": "EUR"}, "/price/amount"),
        ({"amount": 1, "currency": "EUR", "tax": 1}, "/price/tax"),
        (2500, "/price"),
        ("2500", "/price"),
        ([], "/price"),
    ],
)
def test_a_price_that_can_not_be_is_refused_at_its_place(empty: Sale, price: Any, place: str) -> None:
    answer = create(empty, {"label": "A-1"}, {"label": "A-2", "price": price})
    assert expect.pointers(answer) == [f"/units/1{place}"]
    assert shown(empty) == []


def test_each_unit_of_another_currency_is_named(empty: Sale) -> None:
    wrong = {"amount": 1, "currency": "JPY"}
    answer = create(
        empty,
        {"label": "A-1", "price": wrong},
        {"label": "A-2", "price": {"amount": 1, "currency": "EUR"}},
        {"label": "A-3", "price": wrong},
    )
    assert expect.pointers(answer) == ["/units/0/price/currency", "/units/2/price/currency"]
    assert shown(empty) == []


@pytest.mark.parametrize("name", ["status", "id", "hold", "event", "Label"])
def test_a_member_that_a_client_can_not_set_is_refused(empty: Sale, name: str) -> None:
    assert expect.faults(create(empty, {"label": "A-1", name: "sold"})) == {f"/units/0/{name}": "unknown"}
    assert shown(empty) == []


@pytest.mark.parametrize("units", [None, [], {}, "A-1", 1])
def test_units_are_a_list_with_something_in_it(empty: Sale, units: Any) -> None:
    assert expect.pointers(empty.api.post(f"{empty.path}/units", {"units": units})) == ["/units"]
    assert expect.pointers(empty.api.post(f"{empty.path}/units", {})) == ["/units"]


@pytest.mark.parametrize("unit", [None, "A-1", 1, ["A-1"]])
def test_each_unit_is_an_object(empty: Sale, unit: Any) -> None:
    assert expect.pointers(create(empty, {"label": "A-1"}, unit)) == ["/units/1"]
    assert shown(empty) == []


def test_a_label_that_repeats_in_a_call_is_named_at_each_repeat(empty: Sale) -> None:
    labels = ["A-1", "A-2", "A-1", "A-3", "A-2", "A-1"]
    answer = create(empty, *({"label": label} for label in labels))
    assert expect.pointers(answer) == ["/units/2/label", "/units/4/label", "/units/5/label"]
    assert shown(empty) == []


def test_a_label_that_exists_is_named_and_nothing_is_made(empty: Sale) -> None:
    expect.body(create(empty, {"label": "A-1"}, {"label": "A-3"}), 201)
    answer = create(empty, *({"label": f"A-{number}"} for number in (3, 2, 1)))
    assert expect.faults(answer) == {"/units/0/label": "taken", "/units/2/label": "taken"}
    assert [unit["label"] for unit in shown(empty)] == ["A-1", "A-3"]


def test_labels_that_differ_only_by_case_are_two_and_by_outer_space_are_one(empty: Sale) -> None:
    assert expect.body(create(empty, {"label": "a-1"}, {"label": "A-1"}), 201) == {"created": 2}
    assert expect.pointers(create(empty, {"label": " A-1 "})) == ["/units/0/label"]


def test_two_events_and_two_tenants_may_use_the_same_labels(make_sale: Callable[..., Sale]) -> None:
    first = make_sale(0)
    others = [make_sale(0, tenant=first.tenant), make_sale(0)]
    for sale in (first, *others):
        assert expect.body(create(sale, {"label": "A-1"}), 201) == {"created": 1}


def test_ten_creations_of_the_same_labels_at_once_make_them_once(
    empty: Sale, api: Callable[..., Api], run_together: Callable[..., list[Any]]
) -> None:
    body = {"units": [{"label": "A-1"}, {"label": "A-2"}]}
    answers = run_together([lambda: api(empty.tenant).post(f"{empty.path}/units", body)] * 10)
    made = [answer for answer in answers if answer.status_code == 201]
    assert len(made) == 1, [expect.story(answer) for answer in answers]
    for answer in answers:
        if answer is not made[0]:
            assert set(expect.faults(answer).values()) == {"taken"}
    assert [unit["label"] for unit in shown(empty)] == ["A-1", "A-2"]


def test_five_thousand_units_go_into_one_call_and_one_more_does_not(empty: Sale) -> None:
    units = [{"label": str(number)} for number in range(UNITS_PER_CALL_MAX + 1)]
    assert expect.pointers(create(empty, *units)) == ["/units"]
    assert shown(empty) == []
    assert expect.body(create(empty, *units[:-1]), 201) == {"created": UNITS_PER_CALL_MAX}


def padded(units: int, size: int) -> bytes:
    """A body of exactly that many bytes."""
    sent = json.dumps({"units": [{"label": f"P-{number}"} for number in range(units)]}).encode()
    return sent + b" " * (size - len(sent))


def test_units_may_take_four_mebibytes_and_not_a_byte_more(empty: Sale) -> None:
    path = f"{empty.path}/units"
    expect.problem(empty.api.post(path, padded(2, BULK_BYTES_MAX + 1)), 413, "body-too-large")
    assert shown(empty) == []
    assert expect.body(empty.api.post(path, padded(2, BULK_BYTES_MAX)), 201) == {"created": 2}


@pytest.mark.parametrize("call", ["units", "units/block"])
def test_units_of_an_unknown_event_and_another_tenants_are_the_same_404(sale: Sale, client: Api, call: str) -> None:
    body = {"units": [{"label": "new"}]} if call == "units" else {"labels": sale.labels}
    theirs = expect.problem(client.post(f"{sale.path}/{call}", body), 404, "not-found")
    unknown = expect.problem(client.post(f"/v1/events/{uuid4()}/{call}", body), 404, "not-found")
    assert expect.apart_from(theirs, "request_id") == expect.apart_from(unknown, "request_id")
    expect.problem(client.get(f"{sale.path}/units"), 404, "not-found")
    assert set(sale.statuses().values()) == {"available"}


@pytest.fixture
def mixed(make_sale: Callable[..., Sale]) -> Sale:
    """U-1 available, U-2 held, U-3 sold, U-4 blocked."""
    sale = make_sale(4)
    sale.hold(labels=["U-2"])
    sell(sale.tenant.id, sale.hold(labels=["U-3"])["id"])
    expect.body(sale.api.post(f"{sale.path}/units/block", {"labels": ["U-4"]}))
    return sale


@pytest.mark.parametrize(
    ("status", "label"), [("available", "U-1"), ("held", "U-2"), ("sold", "U-3"), ("blocked", "U-4")]
)
def test_units_are_filtered_by_the_status_they_show(mixed: Sale, status: str, label: str) -> None:
    assert [(unit["label"], unit["status"]) for unit in shown(mixed, f"status={status}")] == [(label, status)]


def test_a_unit_whose_hold_has_lapsed_reads_available_in_every_way(
    mixed: Sale, shift_clock: Callable[[float], None]
) -> None:
    shift_clock(601)
    assert mixed.statuses() == {"U-1": "available", "U-2": "available", "U-3": "sold", "U-4": "blocked"}
    assert [unit["label"] for unit in shown(mixed, "status=available")] == ["U-1", "U-2"]
    assert shown(mixed, "status=held") == []


def test_units_are_filtered_by_section_and_label_and_by_both(empty: Sale) -> None:
    places = [("Stalls", "A-1"), ("Stalls", "A-2"), ("Balcony", "B-1"), (None, "C-1")]
    expect.body(create(empty, *({"label": label, "section": section} for section, label in places)), 201)
    assert [unit["label"] for unit in shown(empty, "section=Stalls")] == ["A-1", "A-2"]
    assert [unit["label"] for unit in shown(empty, "label=B-1")] == ["B-1"]
    assert [unit["label"] for unit in shown(empty, "section=Stalls&label=A-2&status=available")] == ["A-2"]
    assert shown(empty, "section=Balcony&label=A-2") == []
    assert shown(empty, "section=stalls") == []
    assert shown(empty, "label=unknown") == []


@pytest.mark.parametrize("query", ["status=free", "status=", "status=Held", "status=available,held", "label=%00"])
def test_a_filter_that_is_wrong_is_named(sale: Sale, query: str) -> None:
    name = query.partition("=")[0]
    assert expect.parameters(sale.api.get(f"{sale.path}/units?{query}")) == [name]


@pytest.mark.parametrize("query", ["section=%ED%A0%80", "label=%FF%FE", "label=" + "x" * 4000, "section=%E2%80%A8"])
def test_a_strange_filter_selects_nothing(sale: Sale, query: str) -> None:
    assert shown(sale, query) == []


def test_a_price_is_in_the_currency_that_the_event_has_when_the_unit_is_made(
    empty: Sale, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The currency changes after the price was looked at and before the unit is made."""

    def changed_meanwhile(**arguments: Any) -> int:
        expect.body(empty.api.patch(empty.path, {"currency": "JPY"}))
        return create_units(**arguments)

    monkeypatch.setattr("reservations.api.units.create_units", changed_meanwhile)
    answer = create(empty, {"label": "A-1", "price": {"amount": 2500, "currency": "EUR"}})
    assert [unit["price"] for unit in shown(empty)] in ([], [{"amount": 2500, "currency": "EUR"}]), expect.story(answer)
