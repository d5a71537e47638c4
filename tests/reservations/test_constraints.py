"""What the database itself refuses, however the row is written."""

import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, connection
from django.db.models import CheckConstraint, F

from holdfast.kernel.clock import Now
from holdfast.kernel.db.errors import constraint_name
from reservations.models import Event, Hold, Unit
from tenants.models import TenantModel
from tenants.scope import tenant_transaction

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)

EVENT = {
    "event_status_is_known": [{"status": "sold"}, {"status": ""}],
    "event_kind_is_known": [{"kind": "seat"}, {"kind": ""}],
    "event_has_a_paused_reason_iff_paused": [
        {"status": "paused"},
        {"paused_reason": "organizer"},
        {"status": "paused", "paused_reason": "weather"},
        {"status": "closed", "paused_reason": "invariant"},
    ],
    "event_hold_ttl_seconds_in_range": [{"hold_ttl_seconds": 4}, {"hold_ttl_seconds": 7201}, {"hold_ttl_seconds": 0}],
    "event_hold_extensions_in_range": [{"hold_extensions_max": 11}],
    "event_units_per_hold_in_range": [{"units_per_hold_max": 0}, {"units_per_hold_max": 101}],
    "event_units_per_customer_in_range": [{"units_per_customer_max": 0}, {"units_per_customer_max": 10_001}],
    "event_starts_before_it_ends": [{"starts_at": NOON, "ends_at": NOON}],
    "event_sales_open_before_they_close": [
        {"sales_open_at": NOON, "sales_close_at": NOON},
        {"sales_open_at": NOON, "sales_close_at": NOON - timedelta(seconds=1)},
    ],
}
HOLD = {
    "hold_status_is_known": [{"status": "pending", "ended_at": Now()}],
    "hold_ended_iff_not_active": [
        {"ended_at": Now()},
        {"status": "expired"},
        {"status": "released"},
        {"status": "converted"},
    ],
    "hold_quantity_is_positive": [{"quantity": 0}],
    "hold_returns_what_it_had": [
        {"returned": 1},
        {"status": "released", "ended_at": Now(), "returned": 1},
        {"status": "converted", "ended_at": Now(), "returned": 2},
    ],
    "hold_total_is_not_negative": [{"total_amount": -1}],
    "hold_ends_after_it_begins": [{"expires_at": F("created_at") - timedelta(microseconds=1)}],
}
UNIT = {
    "unit_held_iff_hold": [{"status": "held"}, {"status": "sold"}],
    "unit_sold_iff_order": [{"order_id": UUID(int=0)}],
    "unit_price_is_not_negative": [{"price_amount": -1}],
    "unit_starts_before_it_ends": [{"starts_at": NOON, "ends_at": NOON}],
}


def violations(checks: dict[str, list[dict[str, Any]]]) -> Any:
    return pytest.mark.parametrize(
        ("name", "fields"),
        [
            pytest.param(name, fields, id=f"{name}-{n}")
            for name, each in checks.items()
            for n, fields in enumerate(each)
        ],
    )


@pytest.fixture
def place(tenant: Any, make_event: Callable[..., Event], make_units: Callable[..., list[Unit]]) -> Any:
    """A tenant with an event, one free unit, and one hold with a unit of its own."""
    event = make_event(tenant)
    free, held = make_units(tenant, event, 2)
    with tenant_transaction(tenant.id):
        hold = Hold.objects.create(
            tenant_id=tenant.id,
            event=event,
            customer="ada",
            customer_key=secrets.token_bytes(32),
            quantity=1,
            items=[],
            total_amount=0,
            expires_at=Now() + timedelta(seconds=600),
        )
        Unit.objects.filter(id=held.id).update(status="held", hold=hold)
    return {"tenant": tenant, "event": event, "free": free, "held": held, "hold": hold}


def refused(place: Any, name: str, write: Callable[[], Any]) -> None:
    """The write is refused by the constraint of this name, and so is nothing else of its transaction kept."""
    with pytest.raises(IntegrityError) as error, tenant_transaction(place["tenant"].id):
        write()
    assert constraint_name(error.value) == name


@violations(EVENT)
def test_an_event_that_can_not_be_is_refused(place: Any, name: str, fields: dict[str, Any]) -> None:
    refused(place, name, lambda: Event.objects.filter(id=place["event"].id).update(**fields))


@violations(HOLD)
def test_a_hold_that_can_not_be_is_refused(place: Any, name: str, fields: dict[str, Any]) -> None:
    refused(place, name, lambda: Hold.objects.filter(id=place["hold"].id).update(**fields))


@violations(UNIT)
def test_a_unit_that_can_not_be_is_refused(place: Any, name: str, fields: dict[str, Any]) -> None:
    refused(place, name, lambda: Unit.objects.filter(id=place["free"].id).update(**fields))


@pytest.mark.parametrize("status", ["reserved", ""])
@pytest.mark.parametrize("which", ["free", "held"])
def test_a_status_that_no_unit_has_is_refused(place: Any, which: str, status: str) -> None:
    # two constraints see it; PostgreSQL names the first of them by name
    refused(place, "unit_held_iff_hold", lambda: Unit.objects.filter(id=place[which].id).update(status=status))


@pytest.mark.parametrize("status", ["available", "blocked"])
def test_a_unit_with_a_hold_is_held_or_sold(place: Any, status: str) -> None:
    refused(place, "unit_held_iff_hold", lambda: Unit.objects.filter(id=place["held"].id).update(status=status))
    refused(place, "unit_held_iff_hold", lambda: Unit.objects.filter(id=place["held"].id).update(hold=None))


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("reservations_hold", "quantity"),
        ("reservations_event", "hold_extensions_max"),
        ("reservations_hold", "extensions_used"),
    ],
)
def test_a_count_is_never_negative(place: Any, table: str, column: str) -> None:
    def write() -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"UPDATE {table} SET {column} = -1")  # noqa: S608 - both are written above

    with pytest.raises(IntegrityError) as error, tenant_transaction(place["tenant"].id):
        write()
    assert column in constraint_name(error.value)


def test_a_label_is_unique_in_its_event(place: Any) -> None:
    refused(
        place,
        "unit_label_is_unique_in_its_event",
        lambda: Unit.objects.filter(id=place["free"].id).update(label=place["held"].label),
    )


def test_a_slug_is_unique_in_its_tenant(place: Any, make_event: Callable[..., Event]) -> None:
    other = make_event(place["tenant"])
    refused(
        place,
        "event_slug_is_unique_in_its_tenant",
        lambda: Event.objects.filter(id=other.id).update(slug=place["event"].slug),
    )


def test_a_unit_can_not_name_another_tenants_hold_or_event(
    place: Any, make_tenant: Callable[..., Any], make_event: Callable[..., Event], make_units: Callable[..., list[Unit]]
) -> None:
    other = make_tenant()
    theirs = {"tenant": other}
    (unit,) = make_units(other, make_event(other), 1)
    mine = Unit.objects.model
    for name, fields in (
        ("unit_hold_of_its_tenant", {"status": "held", "hold_id": place["hold"].id}),
        ("unit_event_of_its_tenant", {"event_id": place["event"].id}),
    ):
        refused(theirs, name, lambda fields=fields: mine.objects.filter(id=unit.id).update(**fields))


def test_a_hold_with_units_and_an_event_with_either_can_not_be_deleted(place: Any) -> None:
    for table, row, name in (
        ("reservations_hold", place["hold"], "unit_hold_of_its_tenant"),
        ("reservations_event", place["event"], None),
    ):
        with (
            pytest.raises(IntegrityError) as error,
            tenant_transaction(place["tenant"].id),
            connection.cursor() as cursor,
        ):
            cursor.execute(f"DELETE FROM {table} WHERE id = %s", [row.id])  # noqa: S608 - written above
        assert name is None or constraint_name(error.value) == name


def checks_of(*of: type[TenantModel]) -> set[str]:
    """The names of all check constraints of these models."""
    declared = [constraint for model in of for constraint in model._meta.constraints]
    return {constraint.name for constraint in declared if isinstance(constraint, CheckConstraint)}


def test_every_check_of_the_models_is_tried_here() -> None:
    assert checks_of(Event, Hold, Unit) == set(EVENT) | set(HOLD) | set(UNIT) | {"unit_status_is_known"}
