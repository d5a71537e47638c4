"""Tickets as they are shown, their tokens, and how many of an event's are in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from holdfast.kernel.clock import rfc3339
from holdfast.kernel.derived_keys import derived_keys
from holdfast.kernel.errors import NotFound
from reservations.models import Order, Ticket, TicketStatus
from reservations.ticket_tokens import Claims, make_token

TOKEN_PURPOSE = "tickets"  # noqa: S105 - a name


def tickets_of_order(order_id: UUID) -> QuerySet[Ticket]:
    """Raises NotFound where there is no such order."""
    if not Order.objects.filter(id=order_id).exists():
        raise NotFound
    return Ticket.objects.filter(order_id=order_id)


def get_ticket(ticket_id: UUID) -> Ticket:
    """Raises NotFound."""
    ticket = Ticket.objects.filter(id=ticket_id).first()
    if ticket is None:
        raise NotFound
    return ticket


def token_maker() -> Callable[[Ticket], str]:
    """A function that makes a ticket's token; the keys are derived once for all that it makes."""
    keys = derived_keys(TOKEN_PURPOSE)

    def make(ticket: Ticket) -> str:
        claims = Claims(ticket.id, ticket.event_id, ticket.serial)
        return make_token(claims, tenant_id=ticket.tenant_id, keys=keys)

    return make


def token_maker_of(tenant_id: UUID) -> Callable[[Mapping[str, Any]], str]:
    """The same for the JSON of a ticket of this tenant."""
    keys = derived_keys(TOKEN_PURPOSE)

    def make(ticket: Mapping[str, Any]) -> str:
        claims = Claims(UUID(ticket["id"]), UUID(ticket["event"]), ticket["serial"])
        return make_token(claims, tenant_id=tenant_id, keys=keys)

    return make


def ticket_json(ticket: Ticket, token: str | None = None) -> dict[str, Any]:
    """A ticket as its list shows it; without a token, which lets whoever has it in, `token` is null. Reads no row."""
    return {
        "id": str(ticket.id),
        "order": str(ticket.order_id),
        "event": str(ticket.event_id),
        "unit": str(ticket.unit_id),
        "pool": None,
        "label": ticket.label,
        "status": str(ticket.status),
        "serial": ticket.serial,
        "redeemed_at": rfc3339(ticket.redeemed_at),
        "gate": ticket.gate or None,
        "token": token,
        "qr_svg_url": f"/v1/tickets/{ticket.id}/qr.svg",
    }


@dataclass(frozen=True, slots=True)
class Attendance:
    """How many tickets of an event are good for entry, and how many of them are in."""

    admitted: int
    total: int


def attendance(event_id: UUID) -> Attendance:
    """Void tickets count for nothing, used before or not. One statement, by an index."""
    admitted, total = (
        Ticket.objects.filter(event_id=event_id)
        .exclude(status=TicketStatus.VOID)
        .aggregate(admitted=Count("id", filter=Q(status=TicketStatus.REDEEMED)), total=Count("id"))
        .values()
    )
    return Attendance(admitted, total)
