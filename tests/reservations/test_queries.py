"""Events, units and holds as JSON: what is shown at a moment, without HTTP around it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from holdfast.kernel.clock import Now
from holdfast.kernel.errors import NotFound
from holdfast.kernel.ids import new_id
from reservations.models import Event, Hold, HoldStatus, Unit
from reservations.queries.availability import sections
from reservations.queries.events import event_json, get_event
from reservations.queries.holds import get_hold, hold_json, item_json
from reservations.queries.units import unit_json, with_status_now
from tenants.scope import tenant_transaction

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def an_event(**fields: Any) -> Event:
    given = {"slug": "s", "name": "n", "kind": "seats", "currency": "EUR", "timezone": "UTC", "created_at": NOON}
    return Event(**given | fields)


def a_hold(event: Event, **fields: Any) -> Hold:
    given = {
        "event": event,
        "customer": "ada",
        "quantity": 1,
        "items": [],
        "total_amount": 0,
        "created_at": NOON,
        "expires_at": NOON + timedelta(seconds=600),
    }
    return Hold(**given | fields)


@pytest.mark.parametrize(
    ("after_seconds", "status", "seconds_left"),
    [
        (0, "active", 600),
        (0.5, "active", 599),
        (599, "active", 1),
        (599.999999, "active", 0),
        (600, "expired", 0),
        (600.000001, "expired", 0),
        (86_400, "expired", 0),
    ],
)
def test_a_hold_is_expired_from_its_last_moment_on(after_seconds: float, status: str, seconds_left: int) -> None:
    event = an_event()
    shown = hold_json(a_hold(event), event, NOON + timedelta(seconds=after_seconds))
    assert (shown["status"], shown["seconds_left"]) == (status, seconds_left)


@pytest.mark.parametrize("status", [HoldStatus.CONVERTED, HoldStatus.RELEASED, HoldStatus.EXPIRED])
@pytest.mark.parametrize("after_seconds", [0, 700])
def test_a_hold_that_has_ended_shows_how_whatever_the_time(status: HoldStatus, after_seconds: int) -> None:
    event = an_event()
    shown = hold_json(a_hold(event, status=status), event, NOON + timedelta(seconds=after_seconds))
    assert (shown["status"], shown["seconds_left"]) == (status.value, 0)


@pytest.mark.parametrize(("used", "left"), [(0, 2), (1, 1), (2, 0), (3, 0)])
def test_extensions_left_are_never_negative(used: int, left: int) -> None:
    event = an_event(hold_extensions_max=2)
    assert hold_json(a_hold(event, extensions_used=used), event, NOON)["extensions_left"] == left


def test_statuses_are_plain_text_in_json() -> None:
    event = an_event()
    shown = hold_json(a_hold(event, status=HoldStatus.ACTIVE), event, NOON)
    assert type(shown["status"]) is str
    assert type(shown["id"]) is str


def test_times_are_shown_in_utc_with_z() -> None:
    shown = event_json(an_event(starts_at=datetime.fromisoformat("2026-10-25T02:30:00+02:00")))
    assert shown["starts_at"] == "2026-10-25T00:30:00Z"
    assert shown["ends_at"] is None


def test_an_empty_place_is_shown_as_null() -> None:
    event, unit = an_event(), Unit(label="A-1", price_amount=5)
    unit.status_now = "available"  # type: ignore[attr-defined]
    shown = unit_json(unit, event)
    assert (shown["section"], shown["row"], shown["number"]) == (None, None, None)
    assert item_json(unit, event)["section"] is None
    assert item_json(unit, event)["price"] == {"amount": 5, "currency": "EUR"}


def test_what_is_unknown_or_another_tenants_is_not_found(
    tenant: Any, make_tenant: Callable[..., Any], make_event: Callable[..., Event]
) -> None:
    event = make_event(tenant)
    for tenant_id, event_id in ((tenant.id, new_id()), (make_tenant().id, event.id)):
        with tenant_transaction(tenant_id), pytest.raises(NotFound):
            get_event(event_id)
    with tenant_transaction(tenant.id):
        assert get_event(event.id) == event
        with pytest.raises(NotFound):
            get_hold(new_id())


def held(tenant_id: UUID, event: Event, units: list[Unit], seconds: int) -> Hold:
    with tenant_transaction(tenant_id):
        hold = Hold.objects.create(
            tenant_id=tenant_id,
            event=event,
            customer="ada",
            customer_key=b"k" * 32,
            quantity=len(units),
            items=[],
            total_amount=0,
            created_at=Now(),
            expires_at=Now() + timedelta(seconds=seconds),
        )
        Unit.objects.filter(id__in=[unit.id for unit in units]).update(status="held", hold=hold)
    return hold


def test_units_and_sections_agree_on_what_has_lapsed(
    tenant: Any,
    make_event: Callable[..., Event],
    make_units: Callable[..., list[Unit]],
    shift_clock: Callable[[float], None],
) -> None:
    event = make_event(tenant)
    units = make_units(tenant, event, labels=["A-1", "A-2", "A-3", "A-4"], section="Stalls")
    held(tenant.id, event, units[:2], seconds=60)
    held(tenant.id, event, units[2:3], seconds=600)

    def shown() -> Any:
        with tenant_transaction(tenant.id):
            rows = with_status_now(Unit.objects.filter(event=event)).order_by("id")
            return [row.status_now for row in rows], sections(event)  # type: ignore[attr-defined]

    count = {"section": "Stalls", "total": 4, "sold": 0, "blocked": 0}
    assert shown() == (["held", "held", "held", "available"], [count | {"available": 1, "held": 3}])
    shift_clock(61)
    assert shown() == (["available", "available", "held", "available"], [count | {"available": 3, "held": 1}])


def test_sections_are_counted_in_one_statement(
    tenant: Any, make_event: Callable[..., Event], make_units: Callable[..., list[Unit]], queries: Callable[..., Any]
) -> None:
    event = make_event(tenant)
    for section in ("A", "B", "C", ""):
        make_units(tenant, event, 3, section=section)
    with tenant_transaction(tenant.id), queries() as seen:
        found = sections(event)
    assert seen.count == 1
    assert [(row["section"], row["total"]) for row in found] == [(None, 3), ("A", 3), ("B", 3), ("C", 3)]
