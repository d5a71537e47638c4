"""Many units by one form: seats by rows, items by numbers, slots by the clock."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest

from reservations.models import Unit
from tenants.scope import tenant_transaction
from tests.admin.conftest import page, said

SEATS = {
    "section": "Stalls",
    "rows": "A-C",
    "first": 1,
    "last": 4,
    "price": "25.50",
    "pattern": "{section} {row}-{number}",
}
SLOTS = {"first_day": "2027-05-03", "last_day": "2027-05-04", "opens": "09:00", "closes": "10:00"}
SLOTS |= {"length": 20, "gap": 10, "side_by_side": 2, "price": "5", "section": ""}


def add(browser, event, form: dict):
    return browser.post(page("reservations_event_add_units", event.id), form)


def faults(response) -> str:
    return str(response.context["form"].errors)


def units_of(tenant) -> list[Unit]:
    with tenant_transaction(tenant.id):
        return list(Unit.objects.order_by("id"))


def test_a_block_of_seats(tenant, make_event, sign_in):
    answer = add(sign_in(tenant), make_event(tenant), SEATS)
    assert "12 units were added" in said(answer)
    units = units_of(tenant)
    assert [unit.label for unit in units][:5] == [f"Stalls {seat}" for seat in ("A-1", "A-2", "A-3", "A-4", "B-1")]
    assert {(unit.section, unit.price_amount) for unit in units} == {("Stalls", 2550)}
    assert (units[-1].row, units[-1].number) == ("C", "4")


@pytest.mark.parametrize(("rows", "count"), [("1-10", 40), ("A, B, BB", 12), ("A-B, 7", 12)])
def test_rows_can_be_named_in_three_ways(rows, count, tenant, make_event, sign_in):
    add(sign_in(tenant), make_event(tenant), SEATS | {"rows": rows})
    assert len(units_of(tenant)) == count


def test_a_preview_shows_labels_and_makes_nothing(tenant, make_event, sign_in):
    answer = add(sign_in(tenant), make_event(tenant), SEATS | {"_preview": "1"})
    assert "Stalls A-1" in answer.content.decode()
    assert "12 units" in answer.content.decode()
    assert units_of(tenant) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rows": "1-100", "last": 100}, "more than 5,000 units"),
        ({"last": 99_999}, "more than 5,000 units"),
        ({"rows": "C-A"}, "runs backwards"),
        ({"rows": "A, A"}, "named twice"),
        ({"rows": ","}, "at least one row"),
        ({"rows": "1-9999"}, "at most 500"),
        ({"first": 5}, "no unit at all"),
        ({"pattern": "{seat}"}, "stands for nothing"),
        ({"pattern": "{row"}, "without its partner"),
        ({"pattern": "{row.__class__}"}, "without its partner"),
        ({"pattern": "{row}"}, "repeats in this call"),
        ({"pattern": "x" * 70}, "longer than a label"),
        ({"price": "1.005"}, "decimal places"),
        ({"price": "-1"}, "greater than or equal to 0"),
        ({"price": "NaN"}, "Enter a number"),
        ({"price": "99999999999999"}, "less than or equal"),
    ],
)
def test_what_makes_no_sense_is_refused_and_makes_nothing(change, reason, tenant, make_event, sign_in):
    assert reason in faults(add(sign_in(tenant), make_event(tenant), SEATS | change))
    assert units_of(tenant) == []


def test_labels_that_are_taken_are_named_and_nothing_is_made(tenant, make_event, make_units, sign_in):
    event = make_event(tenant)
    make_units(tenant, event, labels=["Stalls B-2"])
    answer = add(sign_in(tenant), event, SEATS)
    assert "Stalls B-2" in faults(answer)
    assert len(units_of(tenant)) == 1


def test_a_run_of_items_in_a_currency_without_minor_units(tenant, make_event, sign_in):
    event = make_event(tenant, kind="items", currency="JPY")
    form = {"first": 1, "last": 100, "price": "3900", "pattern": "Mug {number}"}
    add(sign_in(tenant), event, form)
    units = units_of(tenant)
    assert (len(units), units[99].label, units[0].price_amount) == (100, "Mug 100", 3900)


def test_days_of_slots_side_by_side(tenant, make_event, sign_in):
    add(sign_in(tenant), make_event(tenant, kind="slots"), SLOTS)
    units = units_of(tenant)
    assert [unit.label for unit in units[:4]] == [
        "2027-05-03 09:00 #1", "2027-05-03 09:00 #2", "2027-05-03 09:30 #1", "2027-05-03 09:30 #2",
    ]  # fmt: skip
    assert len(units) == 8
    assert units[0].starts_at == datetime(2027, 5, 3, 7, 0, tzinfo=UTC)
    assert units[0].ends_at == datetime(2027, 5, 3, 7, 20, tzinfo=UTC)


def slots_of_a_night(tenant, make_event, sign_in, day: str) -> dict[str, str]:
    night = {"first_day": day, "last_day": day, "opens": "01:00", "closes": "04:00", "length": 60, "gap": 0}
    add(sign_in(tenant), make_event(tenant, kind="slots"), SLOTS | night | {"side_by_side": 1})
    units = units_of(tenant)
    assert all(first.ends_at <= second.starts_at for first, second in pairwise(units))
    return {unit.label[11:]: unit.starts_at.strftime("%H:%M") for unit in units}


def test_a_skipped_hour_has_no_slot(tenant, make_event, sign_in):
    made = slots_of_a_night(tenant, make_event, sign_in, "2027-03-28")
    assert made == {"01:00": "00:00", "03:00": "01:00"}


def test_a_repeated_hour_has_two_slots_with_two_labels(tenant, make_event, sign_in):
    made = slots_of_a_night(tenant, make_event, sign_in, "2027-10-31")
    assert made == {"01:00": "23:00", "02:00+02:00": "00:00", "02:00+01:00": "01:00", "03:00": "02:00"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"last_day": "2027-05-02"}, "the same day or later"),
        ({"last_day": "2030-05-02"}, "within 366 days"),
        ({"closes": "08:00"}, "later than it opens"),
        ({"length": 61}, "no unit at all"),
        ({"length": 1, "gap": 0, "side_by_side": 500}, "more than 5,000"),
        ({"opens": "25:00"}, "valid time"),
    ],
)
def test_slots_that_make_no_sense_are_refused(change, reason, tenant, make_event, sign_in):
    assert reason in faults(add(sign_in(tenant), make_event(tenant, kind="slots"), SLOTS | change))
    assert units_of(tenant) == []


def test_midnight_closes_the_day(tenant, make_event, sign_in):
    late = {"last_day": "2027-05-03", "opens": "23:00", "closes": "00:00", "side_by_side": 1, "length": 30, "gap": 0}
    add(sign_in(tenant), make_event(tenant, kind="slots"), SLOTS | late)
    assert [unit.label for unit in units_of(tenant)] == ["2027-05-03 23:00", "2027-05-03 23:30"]
