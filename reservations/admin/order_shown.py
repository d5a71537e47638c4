"""What the page of an order shows of it in tables: items, payments, refunds, tickets; amounts and times for people."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.urls import reverse

from holdfast.kernel.money import EXPONENTS, formatted
from reservations.models import Payment, PaymentStatus, Refund, RefundStatus, Ticket
from reservations.models.order import LIVE_ORDER
from tenants.admin.wall_time import shown_to_the_second

ORDER_STATES = {
    "pending": "warning",
    "confirmed": "success",
    "failed": "danger",
    "cancelled": "danger",
    "partially refunded": "info",
    "refunded": "info",
}
# colours of unfold's labels; what is not here is under way
SETTLED = {"succeeded": "success", "declined": "danger", "failed": "danger", "refunded": "info"}
NEEDS_REVIEW = {"needs review": "danger"}


def in_words(status: str) -> str:
    """A state as people read it."""
    return status.replace("_", " ")


def amount_shown(amount: int, currency: str) -> str:
    """`25.00 EUR`; a provider may have named a currency that is none."""
    return formatted(amount, currency) if currency in EXPONENTS else f"{amount} {currency}"


def captured_shown(payment: Payment) -> str:
    """What the provider says it took; empty where it took nothing."""
    if payment.captured_amount is None:
        return ""
    return amount_shown(payment.captured_amount, payment.captured_currency or payment.currency)


def asked_shown(payment: Payment) -> str:
    """What the buyer was to pay."""
    return amount_shown(payment.amount, payment.currency)


def tickets_left(order: Any) -> list[Ticket]:
    """The tickets of a paid order that were not refunded; read by `get_order`."""
    if order.status not in LIVE_ORDER:
        return []
    return [ticket for ticket in order.tickets.all() if ticket.refund_id is None]


def money_left_shown(order: Any) -> str:
    """What can still go back at most; empty where nothing was paid."""
    kept = next((one for one in order.payments.all() if one.status == PaymentStatus.SUCCEEDED), None)
    if kept is None or kept.captured_amount is None:
        return ""
    return amount_shown(kept.kept_amount, kept.captured_currency or kept.currency)


def items_shown(order: Any) -> list[dict[str, str]]:
    """The units as they were promised, each with what became of it."""
    refunded = {ticket.unit_id for ticket in order.tickets.all() if ticket.refund_id}
    return [
        {
            "label": str(item["label"]),
            "section": item.get("section") or "",
            "price": amount_shown(item["price"]["amount"], item["price"]["currency"]),
            "refunded": "refunded" if UUID(item["unit"]) in refunded else "",
        }
        for item in order.hold.items
    ]


def payments_shown(order: Any) -> list[dict[str, str]]:
    """What was taken is told where it differs from what was asked, or money went back."""
    rows = []
    for payment in order.payments.all():
        taken, asked = captured_shown(payment), asked_shown(payment)
        rows.append(
            {
                "provider": str(payment.account),
                "reference": payment.provider_reference or "",
                "key": payment.provider_key,
                "amount": asked,
                "taken": taken if taken != asked else "",
                "status": in_words(payment.status),
                "colour": (SETTLED | NEEDS_REVIEW).get(in_words(payment.status), "warning"),
                "decline_code": payment.decline_code or "",
                "made": _time(order, payment.created_at),
            }
        )
    return rows


def refunds_shown(order: Any) -> list[dict[str, str]]:
    """Those that were asked for name what goes back; one that HoldFast began itself is of all that was taken."""
    labels = {str(ticket.unit_id): ticket.label for ticket in order.tickets.all()}
    return [
        {
            "amount": amount_shown(refund.amount, refund.currency),
            "status": refund.status,
            "colour": SETTLED.get(refund.status, "warning"),
            "items": ", ".join(labels_of(refund, labels)),
            "reason": "could not be kept" if refund.is_compensation else refund.reason,
            "units": _units_after(refund),
            "made": _time(order, refund.created_at),
            "settled": _time(order, refund.settled_at),
        }
        for refund in order.refunds.all()
    ]


def labels_of(refund: Refund, labels: dict[str, str]) -> Sequence[str]:
    """The labels of a refund's units, by the ids of the order's."""
    return [labels.get(item["unit"], "") for item in refund.items]


def _units_after(refund: Refund) -> str:
    if refund.is_compensation or not refund.items or refund.status == RefundStatus.FAILED:
        return ""
    if refund.status == RefundStatus.PENDING:
        return "will be back on sale" if refund.restock else "will be kept off sale"
    return "back on sale" if refund.restock else "kept off sale"


def tickets_shown(order: Any) -> list[dict[str, str]]:
    """Each with the address of its page."""
    return [
        {
            "label": ticket.label,
            "link": reverse("admin:reservations_ticket_change", args=[ticket.id]),
            "status": ticket.status,
            "colour": {"valid": "success", "redeemed": "info"}.get(ticket.status, "danger"),
            "let_in": _time(order, ticket.redeemed_at),
            "gate": ticket.gate,
        }
        for ticket in order.tickets.all()
    ]


def _time(order: Any, moment: Any) -> str:
    return shown_to_the_second(moment, ZoneInfo(order.event.timezone))
