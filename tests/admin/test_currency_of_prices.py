"""A price stays in the currency in which somebody wrote it."""

import threading

import pytest
from django.db import DatabaseError, connections

from holdfast.kernel.errors import Contention, Invalid, Refusal
from reservations.admin import add_units as add_units_page
from reservations.locks import lock_hold
from reservations.models import Event, Unit
from reservations.operations.events import change_event
from reservations.operations.unit_changes import change_unit, delete_units
from tenants.scope import tenant_transaction
from tests.admin.conftest import page

ROW = {"section": "", "rows": "A", "first": "1", "last": "1", "price": "25", "pattern": "{row}{number}"}


def in_another_thread(function) -> None:
    def run() -> None:
        try:
            function()
        except (Refusal, DatabaseError):
            pass  # refused, or made to wait: both are fine
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)


def sell_in(tenant, event, currency: str) -> None:
    change_event(tenant_id=tenant.id, event_id=event.id, currency=currency)


def total_of(tenant, event) -> tuple[str, int]:
    with tenant_transaction(tenant.id):
        prices = Unit.objects.filter(event=event).values_list("price_amount", flat=True)
        return Event.objects.get(id=event.id).currency, sum(prices)


@pytest.fixture
def draft(tenant, make_event):
    return make_event(tenant, status="draft", currency="EUR")


def test_a_price_is_not_given_while_the_currency_changes(tenant, draft, make_units):
    (unit,) = make_units(tenant, draft, 1)
    with tenant_transaction(tenant.id):  # a page of the admin is one transaction
        change_unit(tenant_id=tenant.id, unit_id=unit.id, price_amount=2500)
        in_another_thread(lambda: sell_in(tenant, draft, "JPY"))
    assert total_of(tenant, draft) == ("EUR", 2500)


def test_a_price_in_another_currency_is_refused(tenant, draft, make_units):
    (unit,) = make_units(tenant, draft, 1)
    sell_in(tenant, draft, "JPY")
    with pytest.raises(Invalid, match="sells in JPY now, not in EUR"):
        change_unit(tenant_id=tenant.id, unit_id=unit.id, price_currency="EUR", price_amount=2500)
    assert total_of(tenant, draft) == ("JPY", 0)


def test_a_unit_page_that_showed_another_currency_gives_no_price(tenant, draft, make_units, sign_in):
    (unit,) = make_units(tenant, draft, labels=["A-1"])
    browser, address = sign_in(tenant), page("reservations_unit_change", unit.id)
    assert 'name="initial-currency" value="EUR"' in browser.get(address).content.decode()
    sell_in(tenant, draft, "JPY")
    form = {"label": "A-1", "price_amount": "25", "initial-currency": "EUR", "initial-timezone": "Europe/Berlin"}
    answer = browser.post(address, form)
    assert "sells in JPY now" in str(answer.context["adminform"].form.errors["price_amount"])
    assert total_of(tenant, draft) == ("JPY", 0)
    assert 'name="initial-currency" value="JPY"' in answer.content.decode()
    browser.post(address, form | {"initial-currency": "JPY"})
    assert total_of(tenant, draft) == ("JPY", 25)


def test_units_are_not_added_in_a_currency_that_has_changed_since_the_page(tenant, draft, sign_in):
    browser, address = sign_in(tenant), page("reservations_event_add_units", draft.id)
    assert 'name="currency" value="EUR"' in browser.get(address).content.decode()
    sell_in(tenant, draft, "JPY")
    answer = browser.post(address, ROW | {"currency": "EUR"})
    assert "sells in JPY now, not in EUR" in str(answer.context["form"].errors["price"])
    assert 'name="currency" value="JPY"' in answer.content.decode()
    assert total_of(tenant, draft) == ("JPY", 0)
    browser.post(address, ROW | {"currency": "JPY"})
    assert total_of(tenant, draft) == ("JPY", 25)


def test_units_are_not_added_in_a_currency_that_changes_meanwhile(tenant, draft, sign_in, monkeypatch):
    create_units = add_units_page.create_units

    def create_units_a_moment_later(**fields):
        in_another_thread(lambda: sell_in(tenant, draft, "JPY"))
        return create_units(**fields)

    monkeypatch.setattr(add_units_page, "create_units", create_units_a_moment_later)
    answer = sign_in(tenant).post(page("reservations_event_add_units", draft.id), ROW | {"last": "30"})
    assert str(answer.context["form"].errors).count("The event sells in JPY.") == 1
    assert total_of(tenant, draft) == ("JPY", 0)


@pytest.mark.parametrize(
    "do",
    [
        lambda tenant, unit: change_unit(tenant_id=tenant.id, unit_id=unit.id, row="Z"),
        lambda tenant, unit: delete_units(tenant_id=tenant.id, unit_ids=[unit.id]),
    ],
)
def test_a_unit_whose_hold_is_being_ended_is_contended_and_not_held(
    do, tenant, make_event, make_units, make_hold, shift_clock
):
    event = make_event(tenant)
    (unit,) = make_units(tenant, event, labels=["A-1"])
    hold = make_hold(tenant, event, ["A-1"])
    shift_clock(601)
    refusals = []

    def tried() -> None:
        try:
            do(tenant, unit)
        except Refusal as refusal:
            refusals.append(type(refusal))

    with tenant_transaction(tenant.id):
        lock_hold(hold.id)  # as a transaction that ends it does
        in_another_thread(tried)
    assert refusals == [Contention]
