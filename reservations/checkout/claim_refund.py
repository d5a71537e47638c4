"""The first step of a refund: its tickets are claimed and void, and its part of the captured money is taken."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import F, Q

from holdfast.kernel.errors import FieldError, Invalid, NotFound
from reservations.checkout.lease import lease
from reservations.errors import NothingToRefund
from reservations.locks import lock_order, lock_tickets
from reservations.messages import ticket_fact
from reservations.models import Order, Payment, PaymentStatus, Refund, RefundStatus, Ticket, TicketStatus
from webhooks.outbox import publish

# a payment that may still give money back
_GIVING = (PaymentStatus.SUCCEEDED, PaymentStatus.REFUNDING)


@dataclass(frozen=True, slots=True)
class RefundWish:
    """What is to go back: the units named, or all that is left (None). Without `restock` they stay off sale."""

    order_id: UUID
    unit_ids: Sequence[UUID] | None = None
    reason: str = ""
    restock: bool = True


def claim_refund(wish: RefundWish) -> Refund:
    """A new refund, pending, with a lease for the caller; part of a tenant transaction.

    Raises NotFound, Invalid, NothingToRefund; then nothing changed.
    """
    order = lock_order(wish.order_id)
    if order is None:
        raise NotFound
    if order.confirmed_at is None:
        raise NothingToRefund("The order is not confirmed: nothing of it can be refunded.")
    tickets = _chosen(order, wish)
    if not tickets:
        raise NothingToRefund
    given_back = Refund.objects.filter(order=order, is_compensation=True).exclude(status=RefundStatus.FAILED)
    payments = Payment.objects.select_related("account").filter(order=order, status__in=_GIVING)
    payment = payments.exclude(id__in=given_back.values("payment_id")).first()
    amount = _amount(order, payment, tickets) if payment else 0
    refund = Refund.objects.create(
        tenant_id=order.tenant_id,
        order=order,
        payment=payment if amount else None,
        amount=amount,
        currency=(payment and payment.captured_currency) or order.event.currency,
        items=[{"unit": str(ticket.unit_id)} for ticket in tickets],
        reason=wish.reason,
        restock=wish.restock,
        look_at=lease(),
    )
    if payment and amount:
        _take(payment, amount)
    _void(tickets, refund)
    return refund


def _chosen(order: Order, wish: RefundWish) -> list[Ticket]:
    """The tickets that go back, locked. Raises Invalid for each unit that is not in the order, or went back already."""
    tickets = lock_tickets(Q(order=order))
    if wish.unit_ids is None:
        return [ticket for ticket in tickets if ticket.refund_id is None]
    by_unit = {ticket.unit_id: ticket for ticket in tickets}
    faults = []
    for index, unit_id in enumerate(wish.unit_ids):
        ticket = by_unit.get(unit_id)
        if ticket is None:
            faults.append(FieldError(f"/items/{index}/unit", "unknown", "The order has no such unit."))
        elif ticket.refund_id is not None:
            faults.append(FieldError(f"/items/{index}/unit", "refunded", f"{ticket.label} was refunded already."))
    if faults:
        raise Invalid(faults)
    return [by_unit[unit_id] for unit_id in wish.unit_ids]


def _amount(order: Order, payment: Payment, tickets: Sequence[Ticket]) -> int:
    """What these tickets cost; with the last of them all that is left, where a person took another amount for the
    whole."""
    left = payment.kept_amount
    others = Ticket.objects.filter(order=order, refund=None).exclude(id__in=[ticket.id for ticket in tickets])
    return min(left, sum(ticket.price_amount for ticket in tickets)) if others.exists() else left


def _take(payment: Payment, amount: int) -> None:
    """The check constraint is the judge of how much may go back in all."""
    is_all = amount == payment.kept_amount
    Payment.objects.filter(id=payment.id).update(
        refunded_amount=F("refunded_amount") + amount,
        status=PaymentStatus.REFUNDING if is_all else payment.status,
    )


def _void(tickets: Sequence[Ticket], refund: Refund) -> None:
    Ticket.objects.filter(id__in=[ticket.id for ticket in tickets]).update(status=TicketStatus.VOID, refund=refund)
    for ticket in tickets:
        ticket.status = TicketStatus.VOID
    publish([ticket_fact("ticket.voided", ticket) for ticket in tickets])
