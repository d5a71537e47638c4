"""The watch over the promises: what is broken is counted for the metrics; where selling on would break more, the event
is paused."""

import json
import time
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

import structlog
from django.db import DatabaseError
from redis import RedisError

from holdfast.kernel.errors import NotFound
from holdfast.kernel.redis_client import redis_client
from reservations.errors import InvalidTransition
from reservations.invariants.checker import broken_events
from reservations.invariants.statements import INVARIANTS
from reservations.models import Event, EventStatus
from reservations.operations.events import pause_event_for_invariant

logger = structlog.get_logger(__name__)
LAST_LOOK_KEY = "holdfast:invariants"


def watch() -> Mapping[str, int]:
    """Look once; answers how many rows break each invariant. Two that look at once see the same and do it once."""
    found = broken_events()
    counts = {name: sum(events.values()) for name, events in found.items()}
    _tell(counts)
    _pause({event for name, events in found.items() if INVARIANTS[name].stops_the_sale for event in events})
    return counts


def last_look() -> Mapping[str, Any] | None:
    """What the last look found: `{"at": Unix time in seconds, "breaches": {invariant: rows}}`; None if it is not known.

    Raises RedisError.
    """
    text = redis_client().get(LAST_LOOK_KEY)
    return json.loads(text) if text else None


def _tell(counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        if count:
            logger.error("invariant_broken", invariant=name, rows=count)
    try:
        redis_client().set(LAST_LOOK_KEY, json.dumps({"at": time.time(), "breaches": counts}))
    except (RedisError, OSError):
        logger.warning("invariants_not_told")


def _pause(events: Collection[tuple[UUID, UUID]]) -> None:
    """Stop the sale of each event (tenant, event) that broke a promise, until an organizer resumes it. Those that sell
    nothing anyway, a whole backlog of them perhaps, keep none of these waiting."""
    selling = Event.everywhere.filter(id__in={event_id for _, event_id in events}, status=EventStatus.ON_SALE)
    for tenant_id, event_id in selling.values_list("tenant_id", "id"):
        about = {"paused": str(event_id), "tenant": str(tenant_id)}
        try:
            pause_event_for_invariant(tenant_id=tenant_id, event_id=event_id)
        except (InvalidTransition, NotFound):
            continue  # it was stopped meanwhile
        except DatabaseError as error:
            logger.error("event_not_paused", **about, error=type(error).__name__)  # noqa: TRY400 - the next look tries again
        else:
            logger.error("event_paused", **about, reason="invariant")
