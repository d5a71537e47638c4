"""The last step of a refund: what the provider said of it becomes the state of refund, payment, order and units."""

from uuid import UUID

from django.db.models import Case, F, Q, Sum, Value, When

from holdfast.kernel.clock import Now
from reservations.checkout.answers import Answer
from reservations.checkout.lease import Begun, next_look, seconds_until_next_look
from reservations.checkout.provider import Charge, ChargeOutcome, RefundAnswer, RefundOutcome
from reservations.checkout.settle import ImpossibleMove, review
from reservations.checkout.tried_again import tried_again
from reservations.checkout.wake import wake_payments
from reservations.locks import lock_refund, lock_tickets, lock_units
from reservations.messages import order_fact
from reservations.models import (
    Hold,
    Order,
    OrderStatus,
    Payment,
    PaymentStatus,
    ProviderCallback,
    Refund,
    RefundStatus,
    Ticket,
    TicketStatus,
    Unit,
    UnitStatus,
)
from reservations.models.moves import sources
from reservations.models.order import ORDER_MOVES
from reservations.queries.orders import get_order, order_json
from tenants.idempotency import end_answer
from webhooks.outbox import publish

REFUNDED = 200


def settle_refund(
    *, tenant_id: UUID, begun: Begun[Refund], answer: RefundAnswer, charge: Charge | None = None
) -> Answer:
    """Carry out what the provider said, of a refused refund also what it says of the charge; answers 200 with the order
    as it is now. One who was overtaken changes nothing, nor does one whom others' locks keep from it: recovery carries
    on."""
    return tried_again(tenant_id, lambda: _settle(begun, answer, charge), lambda: _found(begun))


def _settle(begun: Begun[Refund], answer: RefundAnswer, charge: Charge | None) -> Answer:
    refund = lock_refund(begun.work.id)
    if refund is None:
        raise AssertionError("a refund is never deleted")
    is_mine = refund.fence == begun.fence and refund.status == RefundStatus.PENDING
    if is_mine:
        carry_out(refund, answer, charge)
    told = answer_of_refund(refund)
    if is_mine:
        end_answer(refund.id, told.status, told.body)
    return told


def _found(begun: Begun[Refund]) -> Answer:
    return answer_of_refund(Refund.objects.get(id=begun.work.id))


def answer_of_refund(refund: Refund) -> Answer:
    """200 with the order, whatever has become of its refund so far."""
    return Answer(REFUNDED, order_json(get_order(refund.order_id)))


def carry_out(refund: Refund, answer: RefundAnswer, charge: Charge | None = None) -> None:
    """Part of a transaction that has the refund's hold locked."""
    match answer.outcome:
        case RefundOutcome.SUCCEEDED:
            _end(refund, RefundStatus.SUCCEEDED, answer.reference)
            _money_is_back(refund)
            _return_units(refund)
        case RefundOutcome.FAILED:
            _end(refund, RefundStatus.FAILED, answer.reference)
            _take_back(refund, charge)
        case RefundOutcome.UNKNOWN:
            Refund.objects.filter(id=refund.id).update(look_at=next_look(refund.looks), looks=F("looks") + 1)
            wake_payments(seconds_until_next_look(refund.looks))


def _end(refund: Refund, status: RefundStatus, reference: str | None) -> None:
    Refund.objects.filter(id=refund.id).update(
        status=status, look_at=None, settled_at=Now(), provider_reference=reference
    )
    if refund.payment:
        told = ProviderCallback.objects.filter(account_id=refund.payment.account_id, reference=refund.provider_key)
        told.filter(processed_at=None).update(processed_at=Now(), look_at=None)


def _return_units(refund: Refund) -> None:
    """The units of the refund's tickets, back on sale or kept off it; and the order, wholly or partly refunded."""
    order = refund.order
    if refund.is_compensation:
        return
    units = lock_units(Q(id__in=Ticket.objects.filter(refund=refund).values("unit_id")))
    tickets = lock_tickets(Q(refund=refund))
    Ticket.objects.filter(id__in=[ticket.id for ticket in tickets]).update(returned=True)
    status = UnitStatus.AVAILABLE if refund.restock else UnitStatus.BLOCKED
    Unit.objects.filter(id__in=[unit.id for unit in units], order=order).update(status=status, hold=None, order=None)
    Hold.objects.filter(id=order.retaken_hold_id or order.hold_id).update(returned=F("returned") + len(tickets))
    is_all = not Ticket.objects.filter(order=order, returned=False).exists()
    moved = OrderStatus.REFUNDED if is_all else OrderStatus.PARTIALLY_REFUNDED
    if not Order.objects.filter(id=order.id, status__in=sources(ORDER_MOVES, moved)).update(status=moved):
        raise ImpossibleMove(f"order {order.id} is {order.status} and can't become {moved}")
    publish([order_fact(f"order.{moved}", get_order(order.id))])


def _money_is_back(refund: Refund) -> None:
    """A payment is refunded once nothing of it is left, nor on its way."""
    if refund.payment_id is None:
        return
    on_its_way = Refund.objects.filter(payment_id=refund.payment_id, status=RefundStatus.PENDING)
    if not on_its_way.exists():
        Payment.objects.filter(
            id=refund.payment_id,
            status=PaymentStatus.REFUNDING,
            captured_amount=F("refunded_amount") + F("refunded_there_amount"),
        ).update(status=PaymentStatus.REFUNDED)


def _take_back(refund: Refund, charge: Charge | None) -> None:
    """The provider does not give it back: the tickets are good again; what HoldFast can't keep is left to a person."""
    was_used = Case(When(redeemed_at=None, then=Value(TicketStatus.VALID)), default=Value(TicketStatus.REDEEMED))
    lock_tickets(Q(refund=refund))
    Ticket.objects.filter(refund=refund).update(status=was_used, refund=None)
    payment = refund.payment
    if payment is None:
        return
    mine = Payment.objects.filter(id=payment.id)
    if charge is not None and charge.outcome == ChargeOutcome.SUCCEEDED:
        payment.refunded_there_amount = _refunded_there(payment, refund, charge)
    mine.update(
        refunded_amount=F("refunded_amount") - refund.amount, refunded_there_amount=payment.refunded_there_amount
    )
    if refund.is_compensation:
        review(payment)
    else:
        mine.filter(status=PaymentStatus.REFUNDING).update(status=PaymentStatus.SUCCEEDED)


def _refunded_there(payment: Payment, refund: Refund, charge: Charge) -> int:
    """What somebody gave back at the provider: of all that went back there, what no refund of ours accounts for. While
    another of ours is on its way, that can't be told."""
    others = Refund.objects.filter(payment=payment).exclude(id=refund.id)
    if others.filter(status=RefundStatus.PENDING).exists():
        return payment.refunded_there_amount
    ours = others.filter(status=RefundStatus.SUCCEEDED).aggregate(total=Sum("amount"))["total"] or 0
    return max(0, min(charge.refunded - ours, (payment.captured_amount or 0) - ours))
