"""`/v1/events/{id}/units/block` and `/unblock`."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract import expect
from tests.contract.sale import Sale
from tests.reservations.state import sell

ALL_FREE = {"U-1": "available", "U-2": "available", "U-3": "available"}


def switch(sale: Sale, move: str, labels: Any) -> Any:
    return sale.api.post(f"{sale.path}/units/{move}", {"labels": labels})


def test_blocking_takes_units_off_sale_and_unblocking_brings_them_back(sale: Sale) -> None:
    assert expect.body(switch(sale, "block", ["U-1", "U-3"])) == {"changed": 2}
    assert sale.statuses() == {"U-1": "blocked", "U-2": "available", "U-3": "blocked"}
    assert expect.body(switch(sale, "unblock", ["U-1", "U-3"])) == {"changed": 2}
    assert sale.statuses() == ALL_FREE


def test_a_unit_that_is_there_already_is_no_fault(sale: Sale) -> None:
    assert expect.body(switch(sale, "unblock", ["U-1"])) == {"changed": 0}
    assert expect.body(switch(sale, "block", ["U-1"])) == {"changed": 1}
    assert expect.body(switch(sale, "block", ["U-1", "U-2"])) == {"changed": 1}
    assert expect.body(switch(sale, "block", ["U-1", "U-2"])) == {"changed": 0}


def test_a_blocked_unit_is_not_sold_to_anybody(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(1)
    expect.body(switch(sale, "block", ["U-1"]))
    assert expect.problem(sale.ask(quantity=1), 409, "sold-out", {"available"})["available"] == 0
    expect.problem(sale.ask(labels=["U-1"]), 409, "units-unavailable", {"unavailable"})
    expect.body(switch(sale, "unblock", ["U-1"]))
    assert sale.hold(quantity=1)["items"][0]["label"] == "U-1"


@pytest.mark.parametrize("move", ["block", "unblock"])
def test_a_held_or_sold_unit_is_named_and_nothing_changes(make_sale: Callable[..., Sale], move: str) -> None:
    sale = make_sale(4)
    sale.hold(labels=["U-2"])
    sell(sale.tenant.id, sale.hold(labels=["U-3"])["id"])
    expect.body(switch(sale, "block", ["U-4"]))
    before = sale.statuses()
    answer = switch(sale, move, ["U-1", "U-2", "U-3", "U-4"])
    document = expect.problem(answer, 409, "units-unavailable", {"unavailable"})
    assert sorted(document["unavailable"], key=lambda unit: unit["label"]) == [
        {"unit": sale.ids[1], "label": "U-2", "status": "held"},
        {"unit": sale.ids[2], "label": "U-3", "status": "sold"},
    ]
    assert sale.statuses() == before


@pytest.mark.parametrize("move", ["block", "unblock"])
def test_each_unknown_label_is_named_and_nothing_changes(sale: Sale, move: str) -> None:
    expect.body(switch(sale, "block", ["U-3"]))
    answer = switch(sale, move, ["U-1", "nowhere", "U-3", "u-1"])
    assert expect.faults(answer) == {"/labels/1": "unknown", "/labels/3": "unknown"}
    assert sale.statuses() == ALL_FREE | {"U-3": "blocked"}


def test_a_label_of_another_event_is_unknown(sale: Sale, make_sale: Callable[..., Sale]) -> None:
    other = make_sale(["elsewhere"], tenant=sale.tenant)
    assert expect.faults(switch(sale, "block", ["elsewhere"])) == {"/labels/0": "unknown"}
    assert other.statuses() == {"elsewhere": "available"}


def test_the_unit_of_a_hold_that_has_lapsed_may_be_blocked(sale: Sale, shift_clock: Callable[[float], None]) -> None:
    hold = sale.hold(labels=["U-1", "U-2"])
    shift_clock(601)
    assert expect.body(switch(sale, "block", ["U-1"])) == {"changed": 1}
    assert sale.statuses() == ALL_FREE | {"U-1": "blocked"}
    assert expect.body(sale.api.get(f"/v1/holds/{hold['id']}"))["status"] == "expired"


@pytest.mark.parametrize("labels", [None, [], {}, "U-1", 5])
def test_labels_are_a_list_with_something_in_it(sale: Sale, labels: Any) -> None:
    assert expect.pointers(switch(sale, "block", labels)) == ["/labels"]
    assert sale.statuses() == ALL_FREE


@pytest.mark.parametrize("label", [None, 1, "", "x" * 61, ["U-1"], "a\0"])
def test_each_label_is_a_text(sale: Sale, label: Any) -> None:
    assert expect.pointers(switch(sale, "block", ["U-1", label])) == ["/labels/1"]
    assert sale.statuses() == ALL_FREE


def test_the_body_takes_labels_and_no_more(sale: Sale) -> None:
    answer = sale.api.post(f"{sale.path}/units/block", {"labels": ["U-1"], "section": "Stalls"})
    assert expect.faults(answer) == {"/section": "unknown"}
    assert sale.statuses() == ALL_FREE


def test_blocking_and_a_hold_at_once_give_the_unit_to_one_of_them(
    make_sale: Callable[..., Sale], run_together: Callable[..., list[Any]]
) -> None:
    for _ in range(5):
        sale = make_sale(1)
        blocked, held = run_together([lambda: switch(sale, "block", ["U-1"]), lambda: sale.ask(labels=["U-1"])])  # noqa: B023
        if blocked.status_code == 200:
            expect.problem(held, 409, "units-unavailable", {"unavailable"})
            assert sale.statuses() == {"U-1": "blocked"}
        else:
            expect.problem(blocked, 409, "units-unavailable", {"unavailable"})
            expect.body(held, 201)
            assert sale.statuses() == {"U-1": "held"}
