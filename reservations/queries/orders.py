"""Orders as they are shown: with what was bought, how it was paid, what went back, and what happened when."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, JSONField, Prefetch, Q, QuerySet, TextField, Value
from django.db.models.fields.json import DataContains
from django.db.models.functions import Cast, Lower

from holdfast.kernel.clock import rfc3339
from holdfast.kernel.errors import NotFound
from holdfast.kernel.money import money
from reservations.models import Order, Payment, PaymentStatus, Refund, RefundStatus, Ticket
from reservations.queries.tickets import ticket_json, token_maker_of


def orders_now() -> QuerySet[Any]:
    """All orders, each with all that `order_json` shows: five queries, however many orders."""
    return Order.objects.select_related("hold", "event").prefetch_related(
        Prefetch("payments", Payment.objects.select_related("account").order_by("id")),
        Prefetch("refunds", Refund.objects.order_by("id")),
        Prefetch("tickets", Ticket.objects.order_by("id")),
    )


def get_order(order_id: UUID) -> Any:
    """The order, as `orders_now` reads it. Raises NotFound."""
    order = orders_now().filter(id=order_id).first()
    if order is None:
        raise NotFound
    return order


def having_name(text: str) -> Q:
    """Orders that people know by this: as `known_by` has it, or a unit's whole label in any case, or the provider's
    reference of a charge or refund, or our key of it."""
    ours = Q(id=_id_of_key(text))
    payments = Payment.objects.filter(ours | Q(provider_reference=text))
    refunds = Refund.objects.filter(ours | Q(provider_reference=text))
    label = Value(json.dumps([{"label": text}], ensure_ascii=False))
    return (
        known_by(text)
        | Q(DataContains(_lowered(F("hold__items")), _lowered(label)))
        | Q(id__in=payments.values("order_id"))
        | Q(id__in=refunds.values("order_id"))
    )


def known_by(text: str, order: str = "") -> Q:
    """Part of the customer or of the buyer's name or email, or the whole id of the order or of a hold of it. `order`
    leads from the rows to their order, as `order__`."""
    parts = ("customer__icontains", "buyer__name__icontains", "buyer__email__icontains")
    asked: dict[str, str | UUID] = dict.fromkeys(parts, text)
    if own_id := _id_of_key(text):
        asked |= dict.fromkeys(("id", "hold_id", "retaken_hold_id"), own_id)
    return Q(*((f"{order}{lookup}", value) for lookup, value in asked.items()), _connector=Q.OR)


def _lowered(document: F | Value) -> Cast:
    """JSON with all its texts in lower case."""
    return Cast(Lower(Cast(document, TextField())), JSONField())


def _id_of_key(text: str) -> UUID | None:
    """The id in a key that a provider was given; None for any other text."""
    try:
        return UUID(text.removeprefix("hf-"))
    except ValueError:
        return None


def order_json(order: Any) -> dict[str, Any]:
    """An order as its GET shows it, but for its tickets' tokens, which are null; read by `orders_now`."""
    currency = order.event.currency
    tickets = list(order.tickets.all())
    refunded = {str(ticket.unit_id) for ticket in tickets if ticket.refund_id}
    return {
        "id": str(order.id),
        "hold": str(order.hold_id),
        "event": str(order.event_id),
        "status": order.status,
        "reason": order.reason,
        "customer": order.customer,
        "buyer": order.buyer,
        "total": money(order.total_amount, currency),
        "items": [{**item, "refunded": item["unit"] in refunded} for item in order.hold.items],
        "payments": [payment_json(payment) for payment in order.payments.all()],
        "refunds": [refund_json(refund) for refund in order.refunds.all()],
        "tickets": [ticket_json(ticket) for ticket in tickets],
        "timeline": _timeline(order),
        "created_at": rfc3339(order.created_at),
    }


def with_tokens(order: Mapping[str, Any], tenant_id: UUID) -> dict[str, Any]:
    """The JSON of an order with its tickets' tokens, made anew: nothing that is kept has them."""
    token_of = token_maker_of(tenant_id)
    return {**order, "tickets": [{**ticket, "token": token_of(ticket)} for ticket in order["tickets"]]}


def payment_json(payment: Payment) -> dict[str, Any]:
    """A payment as its order shows it; what the buyer pays with is not."""
    return {
        "id": str(payment.id),
        "status": payment.status,
        "amount": money(payment.amount, payment.currency),
        "captured": _captured(payment),
        "provider": payment.account.provider,
        "provider_reference": payment.provider_reference,
        "decline_code": payment.decline_code,
        "created_at": rfc3339(payment.created_at),
    }


def _captured(payment: Payment) -> dict[str, int | str] | None:
    """What the provider took; None where it took nothing, or has not said so yet."""
    if payment.captured_amount is None or payment.captured_currency is None:
        return None
    return money(payment.captured_amount, payment.captured_currency)


def refund_json(refund: Refund) -> dict[str, Any]:
    """A refund as its order shows it; `items` is what went back, empty for money that could not be kept."""
    return {
        "id": str(refund.id),
        "status": refund.status,
        "amount": money(refund.amount, refund.currency),
        "items": refund.items,
        "reason": refund.reason or None,
        "restock": refund.restock,
        "created_at": rfc3339(refund.created_at),
    }


# what a timeline tells
HAPPENED = (
    *("order_created", "order_confirmed", "order_failed", "order_cancelled"),
    *("payment_created", "payment_succeeded", "payment_declined", "payment_needs_review"),
    *("refund_created", "refund_succeeded", "refund_failed"),
)


def _timeline(order: Any) -> list[dict[str, Any]]:
    """What happened to the order, by time."""
    lines: list[tuple[datetime, str, dict[str, Any]]] = [(order.created_at, "order_created", {})]
    if order.confirmed_at:
        retaken = {"retaken_hold": str(order.retaken_hold_id)} if order.retaken_hold_id else {}
        lines.append((order.confirmed_at, "order_confirmed", retaken))
    if order.ended_at:
        lines.append((order.ended_at, f"order_{order.status}", {"reason": order.reason}))
    lines += _payment_lines(order.payments.all())
    for refund in order.refunds.all():
        about = {"refund": str(refund.id)}
        lines.append((refund.created_at, "refund_created", about))
        if refund.status != RefundStatus.PENDING:
            lines.append((refund.settled_at, f"refund_{refund.status}", about))
    ordered = sorted(lines, key=lambda line: line[0])
    return [{"at": rfc3339(at), "what": what, **more} for at, what, more in ordered]


def _payment_lines(payments: Iterable[Payment]) -> list[tuple[datetime, str, dict[str, Any]]]:
    lines: list[tuple[datetime, str, dict[str, Any]]] = []
    for payment in payments:
        about: dict[str, Any] = {"payment": str(payment.id)}
        lines.append((payment.created_at, "payment_created", about))
        if payment.settled_at and (outcome := _outcome(payment)):
            more = {"decline_code": payment.decline_code} if payment.decline_code else {}
            lines.append((payment.settled_at, outcome, about | more))
    return lines


def _outcome(payment: Payment) -> str | None:
    """What the provider said of the charge, as a timeline calls it: what was taken was taken, and what was declined was
    declined, whatever came later. None while that is not known."""
    if payment.decline_code:
        return "payment_declined"
    match payment.status:
        case PaymentStatus.SUCCEEDED | PaymentStatus.REFUNDING | PaymentStatus.REFUNDED:
            return None if payment.captured_amount is None else "payment_succeeded"
        case PaymentStatus.DECLINED | PaymentStatus.NEEDS_REVIEW:
            return f"payment_{payment.status}"
    return None
