"""Holds as they are shown: one past its end reads expired, whether or not a worker has run."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from holdfast.kernel.clock import Now, rfc3339
from holdfast.kernel.errors import NotFound
from holdfast.kernel.money import money
from reservations.models import Event, Hold, HoldStatus, Unit

LAPSED = Q(status=HoldStatus.ACTIVE, expires_at__lte=Now())


def having_status(status: str) -> Q:
    """Which holds read as having this status."""
    match status:
        case HoldStatus.ACTIVE:
            return Q(status=HoldStatus.ACTIVE, expires_at__gt=Now())
        case HoldStatus.EXPIRED:
            return Q(status=HoldStatus.EXPIRED) | LAPSED
    return Q(status=status)


def holds_now() -> QuerySet[Any]:
    """All holds with their events, each with `now`, the database's time as it was read, and `order_now`, the id of its
    order."""
    return Hold.objects.select_related("event").annotate(
        now=Now(), order_now=Coalesce(F("order__id"), F("retaken_for__id"))
    )


def get_hold(hold_id: UUID) -> Any:
    """The hold, as `holds_now` reads it. Raises NotFound."""
    hold = holds_now().filter(id=hold_id).first()
    if hold is None:
        raise NotFound
    return hold


def item_json(unit: Unit, event: Event) -> dict[str, Any]:
    """A unit as a hold keeps it: label and price are frozen at that moment."""
    return {
        "unit": str(unit.id),
        "label": unit.label,
        "section": unit.section or None,
        "price": money(unit.price_amount, event.currency),
    }


def _ended_at(hold: Hold, status: HoldStatus) -> datetime | None:
    """When it ended; a hold that has lapsed did so at its end, whenever that is written down."""
    return hold.expires_at if status == HoldStatus.EXPIRED else hold.ended_at


def hold_json(hold: Hold, event: Event, now: datetime, order_id: UUID | None = None) -> dict[str, Any]:
    """A hold as its GET shows it at `now` (the database's time); `order_id` is its order's, where it has one."""
    lapsed = hold.status == HoldStatus.ACTIVE and hold.expires_at <= now
    status = HoldStatus.EXPIRED if lapsed else HoldStatus(hold.status)
    seconds_left = int((hold.expires_at - now).total_seconds()) if status == HoldStatus.ACTIVE else 0
    return {
        "id": str(hold.id),
        "event": str(hold.event_id),
        "status": status.value,
        "customer": hold.customer,
        "quantity": hold.quantity,
        "items": hold.items,
        "total": money(hold.total_amount, event.currency),
        "created_at": rfc3339(hold.created_at),
        "expires_at": rfc3339(hold.expires_at),
        "seconds_left": seconds_left,
        "extensions_left": max(0, event.hold_extensions_max - hold.extensions_used),
        "ended_at": rfc3339(_ended_at(hold, status)),
        "release_reason": hold.release_reason or None,
        "order": str(order_id) if order_id else None,
        "metadata": hold.metadata,
    }
