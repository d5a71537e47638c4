"""Events as they are shown."""

from typing import Any
from uuid import UUID

from holdfast.kernel.clock import rfc3339
from holdfast.kernel.errors import NotFound
from reservations.models import Event


def get_event(event_id: UUID) -> Event:
    """The event. Raises NotFound."""
    event = Event.objects.filter(id=event_id).first()
    if event is None:
        raise NotFound
    return event


def event_json(event: Event) -> dict[str, Any]:
    """An event as its GET shows it."""
    return {
        "id": str(event.id),
        "slug": event.slug,
        "name": event.name,
        "kind": event.kind,
        "status": event.status,
        "paused_reason": event.paused_reason,
        "currency": event.currency,
        "timezone": event.timezone,
        "starts_at": rfc3339(event.starts_at),
        "ends_at": rfc3339(event.ends_at),
        "sales_open_at": rfc3339(event.sales_open_at),
        "sales_close_at": rfc3339(event.sales_close_at),
        "hold_ttl_seconds": event.hold_ttl_seconds,
        "hold_extensions_max": event.hold_extensions_max,
        "units_per_hold_max": event.units_per_hold_max,
        "units_per_customer_max": event.units_per_customer_max,
        "created_at": rfc3339(event.created_at),
    }
