"""Units as they are shown: a unit whose hold has lapsed reads available."""

from typing import Any

from django.db.models import Case, CharField, F, Q, QuerySet, Value, When

from holdfast.kernel.clock import Now, rfc3339
from holdfast.kernel.money import money
from reservations.models import Event, Unit, UnitStatus

LAPSED = Q(status=UnitStatus.HELD, hold__expires_at__lte=Now())
AVAILABLE = Q(status=UnitStatus.AVAILABLE) | LAPSED
HELD = Q(status=UnitStatus.HELD, hold__expires_at__gt=Now())


def with_status_now(units: QuerySet[Unit]) -> QuerySet[Unit]:
    """The units, each with `status_now`: its status as every reader must see it."""
    now = Case(When(LAPSED, then=Value(UnitStatus.AVAILABLE)), default=F("status"), output_field=CharField())
    return units.annotate(status_now=now)


def having_status(status: str) -> Q:
    """Which units read as having this status."""
    match status:
        case UnitStatus.AVAILABLE:
            return AVAILABLE
        case UnitStatus.HELD:
            return HELD
    return Q(status=status)


def unit_json(unit: Any, event: Event) -> dict[str, Any]:
    """A unit that was read by `with_status_now`, as lists show it."""
    return {
        "id": str(unit.id),
        "label": unit.label,
        "section": unit.section or None,
        "row": unit.row or None,
        "number": unit.number or None,
        "price": money(unit.price_amount, event.currency),
        "status": unit.status_now,
        "starts_at": rfc3339(unit.starts_at),
        "ends_at": rfc3339(unit.ends_at),
    }
