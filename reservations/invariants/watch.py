"""The watch over the promises: what is broken is counted for the metrics, and its event is paused."""

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

import structlog
from django.conf import settings
from redis import Redis, RedisError

from holdfast.kernel.errors import NotFound
from reservations.errors import InvalidTransition
from reservations.invariants.checker import Breach, breaches
from reservations.operations.events import pause_event_for_invariant

logger = structlog.get_logger(__name__)
LAST_LOOK_KEY = "holdfast:invariants"


def watch() -> Mapping[str, int]:
    """Look once; answers how many rows break each invariant. Two that look at once see the same and do it once."""
    found = breaches()
    counts = {name: len(rows) for name, rows in found.items()}
    _tell(counts)
    _pause_events_of(breach for rows in found.values() for breach in rows)
    return counts


def last_look() -> Mapping[str, Any] | None:
    """What the last look found: `{"at": Unix time in seconds, "breaches": {invariant: rows}}`; None if it is not known.

    Raises RedisError.
    """
    text = _redis().get(LAST_LOOK_KEY)
    return json.loads(text) if text else None


def _tell(counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        if count:
            logger.error("invariant_broken", invariant=name, rows=count)
    try:
        _redis().set(LAST_LOOK_KEY, json.dumps({"at": time.time(), "breaches": counts}))
    except (RedisError, OSError):
        logger.warning("invariants_not_told")


def _redis() -> Redis:
    return Redis.from_url(settings.REDIS_URL, socket_timeout=settings.REDIS_TIMEOUT_SECONDS)


def _pause_events_of(found: Iterable[Breach]) -> None:
    """Stop the sale of each event that broke a promise, until an organizer resumes it."""
    for tenant_id, event_id in {(breach.tenant_id, breach.event_id) for breach in found}:
        try:
            pause_event_for_invariant(tenant_id=tenant_id, event_id=event_id)
        except (InvalidTransition, NotFound):
            continue  # it sells nothing anyway
        logger.error("event_paused", paused=str(event_id), tenant=str(tenant_id), reason="invariant")
