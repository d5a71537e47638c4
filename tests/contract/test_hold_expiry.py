"""A hold never outlives its time: no worker runs in these tests."""

from collections.abc import Callable
from typing import Any

import pytest

from reservations.models import Hold, Unit
from tenants.scope import tenant_transaction
from tests.contract import expect
from tests.contract.sale import Sale
from tests.reservations.state import rows_of


def read(sale: Sale, hold: Any) -> Any:
    return expect.body(sale.api.get(f"/v1/holds/{hold['id']}"))


def test_a_hold_is_active_until_its_last_second_and_expired_from_then_on(
    sale: Sale, shift_clock: Callable[[float], None]
) -> None:
    hold = sale.hold(quantity=1, ttl_seconds=600)
    shift_clock(590)
    now = read(sale, hold)
    assert now["status"] == "active"
    assert 0 <= now["seconds_left"] <= 10
    shift_clock(10)
    now = read(sale, hold)
    assert now["status"] == "expired"
    assert now["seconds_left"] == 0
    assert now["ended_at"] == now["expires_at"]
    changed = ("status", "seconds_left", "ended_at")
    assert expect.apart_from(now, *changed) == expect.apart_from(hold, *changed)
    assert [row["status"] for row in sale.holds()] == ["expired"]


@pytest.mark.parametrize("choose", ["units", "labels", "quantity", "section"])
def test_a_unit_whose_hold_has_run_out_is_the_next_buyers_at_once(
    make_sale: Callable[..., Sale], shift_clock: Callable[[float], None], choose: str
) -> None:
    sale = make_sale(1, section="Stalls")
    choice: dict[str, Any] = {
        "units": {"units": sale.ids},
        "labels": {"labels": sale.labels},
        "quantity": {"quantity": 1},
        "section": {"quantity": 1, "section": "Stalls"},
    }[choose]
    old = sale.hold(quantity=1)
    assert sale.ask(**choice, customer="bob").status_code == 409
    shift_clock(601)
    new = sale.hold(**choice, customer="bob")
    assert new["items"] == old["items"]
    assert read(sale, old)["status"] == "expired"
    assert read(sale, new)["status"] == "active"
    assert sale.statuses() == {"U-1": "held"}
    assert rows_of(sale.tenant.id) == {"holds": 2, "units": {"held": 1}}
    with tenant_transaction(sale.tenant.id):
        assert str(Unit.objects.get().hold_id) == new["id"]


def test_all_units_of_a_hold_that_has_run_out_are_free_when_one_of_them_is_taken(
    sale: Sale, shift_clock: Callable[[float], None]
) -> None:
    sale.hold(labels=["U-1", "U-2", "U-3"])
    shift_clock(601)
    sale.hold(labels=["U-2"], customer="bob")
    assert rows_of(sale.tenant.id) == {"holds": 2, "units": {"available": 2, "held": 1}}
    assert sale.hold(quantity=2, customer="cem")["quantity"] == 2


def test_many_holds_that_have_run_out_make_room_for_one_that_needs_them_all(
    make_sale: Callable[..., Sale], shift_clock: Callable[[float], None]
) -> None:
    sale = make_sale(6)
    for number in range(6):
        sale.hold(quantity=1, customer=f"c-{number}", ttl_seconds=60 + number)
    shift_clock(100)
    assert sale.hold(quantity=6, customer="bob")["quantity"] == 6


def test_a_hold_that_has_run_out_is_over_for_good_and_gives_nothing_back(
    make_sale: Callable[..., Sale], shift_clock: Callable[[float], None]
) -> None:
    sale = make_sale(1, hold_ttl_seconds=60)
    old = sale.hold(quantity=1)
    shift_clock(61)
    new = sale.hold(quantity=1, customer="bob")
    # whatever touches the unit from now on finds the new hold
    expect.problem(sale.ask(quantity=1, customer="cem"), 409, "sold-out", {"available"})
    expect.problem(sale.ask(labels=["U-1"], customer="cem"), 409, "units-unavailable", {"unavailable"})
    answer = sale.api.post(f"{sale.path}/units/block", {"labels": ["U-1"]})
    expect.problem(answer, 409, "units-unavailable", {"unavailable"})
    assert read(sale, old)["status"] == "expired"
    assert read(sale, new)["status"] == "active"
    shift_clock(30)
    assert read(sale, new)["status"] == "active"
    assert sale.statuses() == {"U-1": "held"}
    with tenant_transaction(sale.tenant.id):
        ended = Hold.objects.get(id=old["id"])
        assert (ended.status, ended.ended_at is not None) == ("expired", True)
        assert not Unit.objects.filter(hold_id=old["id"]).exists()


def test_a_hold_that_was_ended_stays_ended_even_if_the_clock_goes_back(
    make_sale: Callable[..., Sale], shift_clock: Callable[[float], None]
) -> None:
    sale = make_sale(1)
    old = sale.hold(quantity=1)
    shift_clock(601)
    new = sale.hold(quantity=1, customer="bob")
    shift_clock(-601)
    assert read(sale, old)["status"] == "expired"
    assert read(sale, old)["seconds_left"] == 0
    assert read(sale, new)["status"] == "active"


def test_a_refusal_ends_no_hold_and_loses_no_unit(
    make_sale: Callable[..., Sale], shift_clock: Callable[[float], None]
) -> None:
    sale = make_sale(2)
    sale.hold(labels=["U-1"], ttl_seconds=60)
    sale.hold(labels=["U-2"], ttl_seconds=600)
    shift_clock(61)
    answer = sale.ask(labels=["U-1", "U-2"], customer="bob")
    document = expect.problem(answer, 409, "units-unavailable", {"unavailable"})
    assert document["unavailable"] == [{"unit": sale.ids[1], "label": "U-2", "status": "held"}]
    assert sale.statuses() == {"U-1": "available", "U-2": "held"}
    assert sale.hold(labels=["U-1"], customer="bob")["quantity"] == 1


def test_two_buyers_of_a_unit_whose_hold_has_run_out_do_not_both_get_it(
    make_sale: Callable[..., Sale],
    api: Callable[..., Any],
    run_together: Callable[..., list[Any]],
    shift_clock: Callable[[float], None],
) -> None:
    sale = make_sale(1)
    sale.hold(quantity=1)
    shift_clock(601)
    body = {"event": str(sale.event.id), "labels": ["U-1"]}
    answers = run_together(
        [lambda name=name: api(sale.tenant).post("/v1/holds", body | {"customer": name}) for name in "abcdef"]
    )
    granted = [answer for answer in answers if answer.status_code == 201]
    assert len(granted) == 1, [expect.story(answer) for answer in answers]
    assert all(answer.status_code == 409 for answer in answers if answer is not granted[0])
    assert rows_of(sale.tenant.id) == {"holds": 2, "units": {"held": 1}}
