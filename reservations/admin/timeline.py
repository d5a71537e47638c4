"""What happened to an event, a hold or a ticket, as the outbox was told: what, when and by whom."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from reservations.models import PausedReason
from tenants.admin.wall_time import shown_to_the_second
from webhooks.outbox import Said, last_said

LINES_MAX = 50
BY_ITSELF = "HoldFast"
CHECK_FAILED = "a check found that a promise is broken"

WORDS = {
    "hold.created": "Held",
    "hold.extended": "Extended",
    "hold.released": "Released",
    "hold.expired": "Expired",
    "hold.converted": "Became an order",
    "event.published": "Published",
    "event.paused": "Paused",
    "event.resumed": "Resumed",
    "event.closed": "Closed",
    "ticket.issued": "Issued",
    "ticket.redeemed": "Let in",
    "ticket.voided": "Refunded",
    "order.confirmed": "Confirmed",
    "order.failed": "Failed",
    "order.cancelled": "Cancelled",
    "order.partially_refunded": "Some of it is refunded",
    "order.refunded": "All of it is refunded",
    "payment.needs_review": "Under review",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that happened, for people to read."""

    when: str
    what: str
    who: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """The latest lines, the newest last; `is_cut` says that there were earlier ones."""

    lines: list[Line]
    is_cut: bool


def timeline_of(subject_id: UUID, timezone: str) -> Timeline:
    """In the event's zone. One statement, whatever has happened."""
    said = last_said(subject_id, count_max=LINES_MAX + 1)
    zone = ZoneInfo(timezone)
    return Timeline([_line(fact, zone) for fact in said[-LINES_MAX:]], is_cut=len(said) > LINES_MAX)


def _line(fact: Said, zone: ZoneInfo) -> Line:
    word, more = WORDS.get(fact.type, fact.type), _more(fact.type, fact.data, zone)
    when = shown_to_the_second(fact.occurred_at, zone)
    return Line(when, f"{word}: {more}" if more else word, fact.actor or BY_ITSELF)


def _more(message_type: str, data: Mapping[str, Any], zone: ZoneInfo) -> str:
    match message_type:
        case "hold.created" | "hold.extended":
            return f"until {shown_to_the_second(datetime.fromisoformat(data['expires_at']), zone)}"
        case "hold.released":
            return data.get("release_reason") or ""
        case "event.paused" if data.get("paused_reason") == PausedReason.INVARIANT:
            return CHECK_FAILED
        case "ticket.issued" if data.get("serial", 1) > 1:
            return "a new code, and all earlier ones are worthless"
        case "ticket.redeemed":
            return data.get("gate") or ""
    return ""
