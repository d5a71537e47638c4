"""Units: change one, delete some. What is held or sold keeps its name, place, price and times, and stays."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection
from django.db.models import Q

from holdfast.kernel.db.errors import constraint_name
from holdfast.kernel.errors import Conflict, Invalid, NotFound
from reservations.errors import UnavailableUnit, UnitsUnavailable
from reservations.expiry import expire_lapsed_holds, refuse_ending
from reservations.locks import lock_event, lock_units
from reservations.models import Unit
from tenants.scope import tenant_transaction

_LABEL_TAKEN = "unit_label_is_unique_in_its_event"
NAMED_MAX = 5
# a hold of the past still says which units it was for
_NAMED_BY_HOLDS = """
    SELECT DISTINCT (item ->> 'unit')::uuid
    FROM reservations_hold AS hold, jsonb_array_elements(hold.items) AS item
    WHERE hold.tenant_id = %s AND hold.event_id = ANY(%s) AND item ->> 'unit' = ANY(%s)
"""


def change_unit(*, tenant_id: UUID, unit_id: UUID, price_currency: str | None = None, **fields: Any) -> Unit:
    """Change a unit that is available or blocked; `price_currency` is the one that a new price was read in.

    Raises NotFound; Invalid for a label that another unit has, for times out of order, and for a price in another
    currency than the event's; UnitsUnavailable when the unit is held or sold by the time it is locked.
    """
    with _label_judged_by_the_database(), tenant_transaction(tenant_id):
        if "price_amount" in fields:
            _keep_currency(unit_id, price_currency)
        locked = _lock([unit_id])
        if not locked:
            raise NotFound
        _refuse_claimed(locked)
        (unit,) = locked
        for name, value in fields.items():
            setattr(unit, name, value)
        if unit.starts_at and unit.ends_at and unit.starts_at >= unit.ends_at:
            raise Invalid.at("/ends_at", "not_after_start", "Must be after starts_at.")
        if fields:
            unit.save(update_fields=list(fields))
    return unit


def delete_units(*, tenant_id: UUID, unit_ids: Collection[UUID]) -> int:
    """Delete these units, all or none; answers how many there were.

    Raises UnitsUnavailable for units that are held or sold; Conflict for those that a hold of the past names. Each
    names them.
    """
    with tenant_transaction(tenant_id):
        locked = _lock(unit_ids)
        _refuse_claimed(locked)
        _refuse_named_by_holds(tenant_id, locked)
        Unit.objects.filter(id__in=[unit.id for unit in locked], hold=None).delete()
    return len(locked)


def _lock(unit_ids: Collection[UUID]) -> list[Unit]:
    """The units, locked; those whose hold had lapsed are available again."""
    wanted = Unit.objects.filter(id__in=unit_ids)
    expire_lapsed_holds(Q(id__in=wanted.values("hold_id")))
    return lock_units(Q(id__in=unit_ids))


def _keep_currency(unit_id: UUID, price_currency: str | None) -> None:
    """Lock the event, so that its currency stays what the price is in. Raises NotFound, Invalid."""
    event_id = Unit.objects.filter(id=unit_id).values_list("event_id", flat=True).first()
    event = lock_event(event_id) if event_id else None
    if event is None:
        raise NotFound
    if price_currency not in (None, event.currency):
        detail = f"The event sells in {event.currency} now, not in {price_currency}: look at the price again."
        raise Invalid.at("/price_amount", "currency_mismatch", detail)


def _refuse_claimed(units: Collection[Unit]) -> None:
    claimed = [UnavailableUnit(unit.id, unit.label, unit.status) for unit in units if unit.hold_id is not None]
    if claimed:
        refuse_ending(units)
        raise UnitsUnavailable(claimed)


def _refuse_named_by_holds(tenant_id: UUID, units: Collection[Unit]) -> None:
    """While the units are locked no hold can come to name them."""
    events, ids = list({unit.event_id for unit in units}), [str(unit.id) for unit in units]
    with connection.cursor() as cursor:
        cursor.execute(_NAMED_BY_HOLDS, [tenant_id, events, ids])
        named = {unit_id for (unit_id,) in cursor.fetchall()}
    labels = [unit.label for unit in units if unit.id in named]
    if labels:
        more = f" and {len(labels) - NAMED_MAX} more" if len(labels) > NAMED_MAX else ""
        raise Conflict(f"Past holds name {', '.join(labels[:NAMED_MAX])}{more}: block instead of deleting.")


@contextmanager
def _label_judged_by_the_database() -> Iterator[None]:
    try:
        yield
    except IntegrityError as error:
        if constraint_name(error) != _LABEL_TAKEN:
            raise
        raise Invalid.at("/label", "taken", "Another unit of the event has this label.") from error
