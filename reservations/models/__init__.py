"""What is sold, and who has a claim on it. One model a file: states, fields, constraints."""

from reservations.models.event import Event, EventKind, EventStatus, PausedReason
from reservations.models.hold import Hold, HoldStatus
from reservations.models.unit import Unit, UnitStatus

__all__ = ["Event", "EventKind", "EventStatus", "Hold", "HoldStatus", "PausedReason", "Unit", "UnitStatus"]
