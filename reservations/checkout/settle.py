"""T3: what the provider said of a charge becomes the state of payment, order, hold and units, in one transaction.

Every branch ends in a state from which nothing is owed: an order, a refund that is on its way, a case for a person, or
a payment that somebody looks at again.
"""

from typing import Any
from uuid import UUID

from django.db.models import F, Q
from django.db.models.functions import Coalesce

from holdfast.kernel.clock import Now
from reservations.checkout.answers import Answer, answer_of, found_answer
from reservations.checkout.confirm import confirm
from reservations.checkout.lease import Begun, next_look, seconds_until_next_look
from reservations.checkout.provider import Charge, ChargeOutcome
from reservations.checkout.tried_again import tried_again
from reservations.checkout.wake import wake_payments
from reservations.locks import lock_payment
from reservations.messages import payment_fact
from reservations.models import (
    FailureReason,
    Hold,
    Order,
    OrderStatus,
    Payment,
    PaymentStatus,
    ProviderCallback,
    Refund,
    RefundStatus,
)
from reservations.models.moves import sources
from reservations.models.payment import OPEN, PAYMENT_MOVES
from reservations.operations.holds import IN_TIME
from reservations.queries.orders import get_order
from reservations.unpaid import fail_order, fail_unpaid_order
from tenants.idempotency import end_answer
from webhooks.outbox import publish


class ImpossibleMove(RuntimeError):
    """A state was to change in a way that no diagram has. Roll back."""


def settle(*, tenant_id: UUID, begun: Begun[Payment], charge: Charge) -> Answer:
    """Carry out what the provider said, and answer what has become of the payment.

    One who was overtaken (another fence, or settled already) changes nothing and answers what he finds; so does one
    whom others' locks keep from it, and recovery carries on.
    """
    return tried_again(tenant_id, lambda: _settle(begun, charge), lambda: found_answer(begun.work.id))


def _settle(begun: Begun[Payment], charge: Charge) -> Answer:
    payment = _mine(begun)
    if payment is None:
        return found_answer(begun.work.id)
    confirmed = _carry_out(payment, charge)
    answer = answer_of(payment, confirmed or get_order(payment.order_id))
    end_answer(payment.id, answer.status, answer.body)
    return answer


def _mine(begun: Begun[Payment]) -> Payment | None:
    payment = lock_payment(begun.work.id)
    is_mine = payment is not None and payment.fence == begun.fence and payment.status in OPEN
    return payment if is_mine else None


def _carry_out(payment: Payment, charge: Charge) -> Any:
    """The order as it was confirmed, where it was."""
    note(payment, charge)
    match charge.outcome:
        case ChargeOutcome.SUCCEEDED:
            return _took_money(payment)
        case ChargeOutcome.DECLINED:
            _end(payment, PaymentStatus.DECLINED)
            _fail_if_the_hold_ended(payment.order)
        case ChargeOutcome.ABSENT:
            # nothing was charged, and the hold is the buyer's: another try may find the provider there
            payment.decline_code = FailureReason.PROVIDER_UNAVAILABLE
            _end(payment, PaymentStatus.DECLINED)
            _fail_if_the_hold_ended(payment.order)
        case ChargeOutcome.NEEDS_ACTION:
            _look_again(payment, PaymentStatus.NEEDS_ACTION)
        case ChargeOutcome.UNKNOWN:
            _look_again(payment, PaymentStatus.UNKNOWN)
    return None


# what a provider says of a charge, as a payment keeps it
_SAID = ("provider_reference", "decline_code", "captured_amount", "captured_currency", "refunded_there_amount")


def note(payment: Payment, charge: Charge) -> None:
    """Take down what the provider said; the payment's next move writes it with the status."""
    payment.provider_reference = charge.reference or payment.provider_reference
    payment.decline_code = charge.decline_code or payment.decline_code
    if charge.outcome == ChargeOutcome.SUCCEEDED:
        payment.captured_amount, payment.captured_currency = charge.amount, charge.currency
        # none of it is ours: a refund of ours needs what was captured
        payment.refunded_there_amount = charge.refunded


def _took_money(payment: Payment) -> Any:
    fits = (payment.captured_amount, payment.captured_currency) == (payment.amount, payment.currency)
    if not fits or payment.refunded_there_amount:
        review(payment)
        return None
    return keep_or_give_back(payment)


def keep_or_give_back(payment: Payment) -> Any:
    """The guarded confirm: the order with its units, as `get_order` reads it, or else the money back. The payment's
    hold is locked."""
    order = payment.order
    if order.status == OrderStatus.PENDING:
        _end(payment, PaymentStatus.SUCCEEDED)
        if confirmed := confirm(order):
            return confirmed
    give_back(payment)
    if order.status == OrderStatus.PENDING:
        fail_order(order, FailureReason.EXPIRED_WHILE_PAYING)
    return None


def give_back(payment: Payment) -> Refund:
    """Begin to return all that was captured, but for what went back at the provider already, by the one compensation of
    the payment; a worker carries on with it. Where nothing is left of it, that is all."""
    if payment.captured_currency is None:
        raise AssertionError("what goes back was captured")
    amount = payment.kept_amount
    _end(payment, PaymentStatus.REFUNDING, refunded_amount=amount)
    ending: dict[str, Any] = {"look_at": Now()}
    if amount:
        wake_payments()
    else:
        ending = {"status": RefundStatus.SUCCEEDED, "settled_at": Now()}
        _move(payment, PaymentStatus.REFUNDED)
    return Refund.objects.create(
        tenant_id=payment.tenant_id,
        order_id=payment.order_id,
        payment=payment,
        is_compensation=True,
        amount=amount,
        currency=payment.captured_currency,
        restock=False,
        **ending,
    )


def review(payment: Payment) -> None:
    """Leave it to a person: what the provider says does not fit."""
    _end(payment, PaymentStatus.NEEDS_REVIEW)
    publish([payment_fact("payment.needs_review", payment)])


def _move(payment: Payment, status: PaymentStatus, **fields: Any) -> None:
    """Change its status, by a move that there is, and write what was said. Raises ImpossibleMove."""
    said = {name: getattr(payment, name) for name in _SAID}
    movable = Payment.objects.filter(id=payment.id, status__in=sources(PAYMENT_MOVES, status))
    if not movable.update(status=status, **said, **fields):
        raise ImpossibleMove(f"payment {payment.id} is {payment.status} and can't become {status}")
    payment.status = status


def _end(payment: Payment, status: PaymentStatus, **fields: Any) -> None:
    """The provider has said what became of it: nobody needs to look again, and how it was paid is forgotten."""
    settled_at = Coalesce(F("settled_at"), Now())
    _move(payment, status, look_at=None, settled_at=settled_at, method="", **fields)
    told = Q(reference__in=[payment.provider_key, payment.provider_reference or ""])
    ProviderCallback.objects.filter(told, account_id=payment.account_id, processed_at=None).update(
        processed_at=Now(), look_at=None
    )


def _look_again(payment: Payment, status: PaymentStatus) -> None:
    _move(payment, status, look_at=next_look(payment.looks), looks=F("looks") + 1)
    wake_payments(seconds_until_next_look(payment.looks))


def _fail_if_the_hold_ended(order: Order) -> None:
    """A hold that ended while it was being paid left its order to us."""
    if order.status == OrderStatus.PENDING and not Hold.objects.filter(IN_TIME, id=order.hold_id).exists():
        fail_unpaid_order(order)
