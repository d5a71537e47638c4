"""How many units are left, by section: advisory, kept for about a second."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any
from uuid import UUID

import orjson
from cachetools import TTLCache
from django.db.models import Count

from holdfast.kernel.clock import database_now, rfc3339
from reservations.models import Event, Unit, UnitStatus
from reservations.queries.events import get_event
from reservations.queries.units import having_status

MAX_AGE_SECONDS = 1
CACHE_ENTRIES_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Availability:
    """The body as GET shows it, and the entity tag of its status and figures."""

    body: Mapping[str, Any]
    etag: str


_recent: TTLCache[tuple[UUID, UUID], Availability] = TTLCache(CACHE_ENTRIES_MAX, MAX_AGE_SECONDS)
_lock = Lock()


def availability(tenant_id: UUID, event_id: UUID) -> Availability | None:
    """The availability that this process read within the last second, or None."""
    with _lock:
        return _recent.get((tenant_id, event_id))


def read_availability(tenant_id: UUID, event_id: UUID) -> Availability:
    """The availability as it is now; kept for `availability`. Raises NotFound."""
    event = get_event(event_id)
    figures = {"status": event.status, "sections": sections(event), "pools": []}
    digest = hashlib.sha256(orjson.dumps(figures)).hexdigest()[:32]
    now = database_now()
    body = {"event": str(event.id), **figures, "as_of": rfc3339(now), "max_age_seconds": MAX_AGE_SECONDS}
    found = Availability(body, f'"{digest}"')
    with _lock:
        _recent[tenant_id, event_id] = found
    return found


def sections(event: Event) -> list[dict[str, Any]]:
    """Total and count by status for each section; units without one are the section null."""
    counts = {str(status): Count("id", filter=having_status(status)) for status in UnitStatus}
    rows = Unit.objects.filter(event=event).values("section").annotate(total=Count("id"), **counts).order_by("section")
    return [{**row, "section": row["section"] or None} for row in rows]
