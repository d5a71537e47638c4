"""What a stuck order is stuck at: what, since when, and what HoldFast does next by itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from reservations.models import Payment, PaymentStatus, Refund
from tenants.admin.wall_time import shown_to_the_second

WHAT = {
    PaymentStatus.CREATED: "the charge is still to be sent",
    PaymentStatus.SUBMITTING: "the charge was sent, and nobody heard the answer",
    PaymentStatus.NEEDS_ACTION: "the buyer has something to do at the provider",
    PaymentStatus.UNKNOWN: "the provider has not said what became of the charge",
    PaymentStatus.NEEDS_REVIEW: "the payment is under review",
}
GOING_BACK = "money is on its way back"
WAITS_FOR_A_PERSON = "Nothing: it waits for an owner or a manager to take the money or give it back."


@dataclass(frozen=True, slots=True)
class Stuck:
    """One thing that is under way. Times are instants."""

    what: str
    since: datetime
    next_step: str


def stuck_at(order: Any) -> Stuck | None:
    """The oldest of what is under way, of an order that was read by `with_what_is_stuck`."""
    return min(_all(order), key=lambda stuck: stuck.since, default=None)


def _all(order: Any) -> Iterator[Stuck]:
    zone = ZoneInfo(order.event.timezone)
    for payment in order.unsettled_payments:
        yield _payment(payment, order.now, zone)
    for refund in order.pending_refunds:
        yield _refund(refund, order.now, zone)


def _payment(payment: Payment, now: datetime, zone: ZoneInfo) -> Stuck:
    what = WHAT[PaymentStatus(payment.status)]
    if payment.status == PaymentStatus.NEEDS_REVIEW:
        return Stuck(what, payment.settled_at or payment.created_at, WAITS_FOR_A_PERSON)
    return Stuck(what, payment.created_at, f"Asks {payment.account} what became of it, {_when(payment, now, zone)}.")


def _refund(refund: Refund, now: datetime, zone: ZoneInfo) -> Stuck:
    provider = refund.payment.account if refund.payment else "nobody"
    next_step = f"Asks {provider} for it once more, under the same key, {_when(refund, now, zone)}."
    return Stuck(GOING_BACK, refund.created_at, next_step)


def _when(row: Payment | Refund, now: datetime, zone: ZoneInfo) -> str:
    """One that is due waits for a worker alone."""
    if row.look_at is None or row.look_at <= now:
        return "as soon as a worker of payments is free"
    return shown_to_the_second(row.look_at, zone)
