"""Units: create in bulk, block and unblock."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError
from django.db.models import Q

from holdfast.kernel.db.errors import constraint_name
from holdfast.kernel.errors import FieldError, Invalid, NotFound
from reservations.errors import UnavailableUnit, UnitsUnavailable
from reservations.expiry import expire_lapsed_holds, refuse_ending
from reservations.locks import lock_event, lock_units
from reservations.models import Event, Unit, UnitStatus
from reservations.models.event import UNITS_PER_EVENT_MAX
from reservations.spread import spread_keys
from tenants.scope import tenant_transaction

_LABEL_TAKEN = "unit_label_is_unique_in_its_event"


@dataclass(frozen=True, slots=True)
class NewUnit:
    """A unit to be made; its price is in the minor unit of `price_currency`: the event's, whether given or not."""

    label: str
    section: str = ""
    row: str = ""
    number: str = ""
    price_amount: int = 0
    price_currency: str | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None


def create_units(*, tenant_id: UUID, event_id: UUID, units: Sequence[NewUnit]) -> int:
    """Make all of these units, or none; answers how many.

    Raises NotFound; Invalid for labels that repeat or exist (each named), for times out of order, for prices in another
    currency than the event's, and for more than 100,000 units in the event.
    """
    _refuse_repeats(units)
    try:
        with tenant_transaction(tenant_id):
            event = lock_event(event_id)  # counts and labels can't change under this call
            if event is None:
                raise NotFound
            if event.units.count() + len(units) > UNITS_PER_EVENT_MAX:
                raise Invalid.at("/units", "too_many", f"An event has at most {UNITS_PER_EVENT_MAX} units.")
            _refuse_other_currencies(event, units)
            _refuse_taken(event, units)
            _insert(event, units)
    except IntegrityError as error:
        if constraint_name(error) != _LABEL_TAKEN:
            raise
        raise Invalid.at("/units", "taken", "A unit was given one of these labels meanwhile.") from error
    return len(units)


def _refuse_repeats(units: Sequence[NewUnit]) -> None:
    faults = []
    seen: set[str] = set()
    for index, unit in enumerate(units):
        if unit.label in seen:
            faults.append(FieldError(f"/units/{index}/label", "duplicate", f"{unit.label} repeats in this call."))
        if unit.starts_at and unit.ends_at and unit.starts_at >= unit.ends_at:
            faults.append(FieldError(f"/units/{index}/ends_at", "not_after_start", "Must be after starts_at."))
        seen.add(unit.label)
    if faults:
        raise Invalid(faults)


def _refuse_other_currencies(event: Event, units: Sequence[NewUnit]) -> None:
    faults = [
        FieldError(f"/units/{index}/price/currency", "currency_mismatch", f"The event sells in {event.currency}.")
        for index, unit in enumerate(units)
        if unit.price_currency not in (None, event.currency)
    ]
    if faults:
        raise Invalid(faults)


def _refuse_taken(event: Event, units: Sequence[NewUnit]) -> None:
    labels = [unit.label for unit in units]
    taken = set(event.units.filter(label__in=labels).values_list("label", flat=True))
    if taken:
        raise Invalid(
            [
                FieldError(f"/units/{index}/label", "taken", f"The event has a unit {label} already.")
                for index, label in enumerate(labels)
                if label in taken
            ]
        )


def _insert(event: Event, units: Sequence[NewUnit]) -> None:
    keys = spread_keys([(unit.section, unit.row) for unit in units])
    Unit.objects.bulk_create(
        Unit(
            tenant_id=event.tenant_id,
            event_id=event.id,
            label=unit.label,
            section=unit.section,
            row=unit.row,
            number=unit.number,
            price_amount=unit.price_amount,
            starts_at=unit.starts_at,
            ends_at=unit.ends_at,
            spread=key,
        )
        for unit, key in zip(units, keys, strict=True)
    )


def block_units(*, tenant_id: UUID, event_id: UUID, labels: Sequence[str]) -> int:
    """Take these units off sale, all or none; answers how many changed. Raises NotFound, Invalid, UnitsUnavailable."""
    return _switch(tenant_id, event_id, labels, UnitStatus.AVAILABLE, UnitStatus.BLOCKED)


def unblock_units(*, tenant_id: UUID, event_id: UUID, labels: Sequence[str]) -> int:
    """Put these units back on sale, all or none; answers how many changed. Raises as `block_units`."""
    return _switch(tenant_id, event_id, labels, UnitStatus.BLOCKED, UnitStatus.AVAILABLE)


def _switch(tenant_id: UUID, event_id: UUID, labels: Sequence[str], source: UnitStatus, target: UnitStatus) -> int:
    with tenant_transaction(tenant_id):
        if not Event.objects.filter(id=event_id).exists():
            raise NotFound
        expire_lapsed_holds(Q(id__in=Unit.objects.filter(event_id=event_id, label__in=labels).values("hold_id")))
        units = lock_units(Q(event_id=event_id, label__in=labels))
        known = {unit.label for unit in units}
        unknown = [
            FieldError(f"/labels/{index}", "unknown", f"The event has no unit {label}.")
            for index, label in enumerate(labels)
            if label not in known
        ]
        if unknown:
            raise Invalid(unknown)
        refuse_ending(units)
        claimed = [unit for unit in units if unit.hold_id is not None]
        if claimed:
            raise UnitsUnavailable([UnavailableUnit(unit.id, unit.label, unit.status) for unit in claimed])
        return Unit.objects.filter(event_id=event_id, label__in=labels, status=source).update(status=target)
