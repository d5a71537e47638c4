"""What reservations tell other systems: each fact with its subject as its GET shows it at that moment."""

from datetime import datetime
from typing import Any
from uuid import UUID

from reservations.models import Event, Hold, Payment, Ticket
from reservations.queries.events import event_json
from reservations.queries.holds import hold_json
from reservations.queries.orders import order_json, payment_json
from reservations.queries.tickets import ticket_json
from webhooks.outbox import Fact


def hold_fact(
    message_type: str, hold: Hold, now: datetime, order_id: UUID | None = None, *, is_first: bool = False
) -> Fact:
    """A `hold.*` message; the hold's event must be at hand."""
    return Fact(message_type, "hold", hold.id, hold_json(hold, hold.event, now, order_id), is_first)


def event_fact(message_type: str, event: Event) -> Fact:
    """An `event.*` message."""
    return Fact(message_type, "event", event.id, event_json(event))


def order_fact(message_type: str, order: Any) -> Fact:
    """An `order.*` message, of the order as `get_order` has read it."""
    return Fact(message_type, "order", order.id, order_json(order))


def payment_fact(message_type: str, payment: Payment) -> Fact:
    """A `payment.*` message; its account and order must be at hand."""
    data = {**payment_json(payment), "order": str(payment.order_id), "event": str(payment.order.event_id)}
    return Fact(message_type, "payment", payment.id, data)


def ticket_fact(message_type: str, ticket: Ticket, *, is_first: bool = False) -> Fact:
    """A `ticket.*` message. Whoever follows messages learns no token: they are read with the order's tickets."""
    data = {name: value for name, value in ticket_json(ticket).items() if name != "token"}
    return Fact(message_type, "ticket", ticket.id, data, is_first)
