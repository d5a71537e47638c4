"""What reservations tell other systems: each fact with its subject as its GET shows it at that moment."""

from datetime import datetime

from reservations.models import Event, Hold
from reservations.queries.events import event_json
from reservations.queries.holds import hold_json
from webhooks.outbox import Fact


def hold_fact(message_type: str, hold: Hold, now: datetime, *, is_first: bool = False) -> Fact:
    """A `hold.*` message; the hold's event must be at hand."""
    return Fact(message_type, "hold", hold.id, hold_json(hold, hold.event, now), is_first)


def event_fact(message_type: str, event: Event) -> Fact:
    """An `event.*` message."""
    return Fact(message_type, "event", event.id, event_json(event))
