"""What a person decides of a payment that HoldFast could not: the money is taken as it is, or goes back."""

from uuid import UUID

from holdfast.kernel.errors import NotFound
from reservations.checkout.settle import give_back, keep_or_give_back
from reservations.errors import InvalidTransition
from reservations.locks import lock_payment
from reservations.models import FailureReason, OrderStatus, Payment, PaymentStatus
from reservations.models.payment import PAYING
from reservations.operations.holds import release_locked_hold
from reservations.unpaid import fail_order
from tenants.scope import tenant_transaction


def resume_payment(*, tenant_id: UUID, payment_id: UUID) -> Payment:
    """Take what the provider took for the whole price: the order is confirmed, or the money goes back where its units
    are gone. Raises NotFound, InvalidTransition (also for money of another currency)."""
    with tenant_transaction(tenant_id):
        payment = _under_review(payment_id)
        if payment.captured_currency != payment.currency:
            raise InvalidTransition(f"It was taken in {payment.captured_currency}: it can only go back.")
        if not payment.kept_amount:
            raise InvalidTransition("It went back at the provider: nothing of it is left to be taken.")
        keep_or_give_back(payment)
        return Payment.objects.get(id=payment_id)


def refund_payment(*, tenant_id: UUID, payment_id: UUID) -> Payment:
    """Give back all that was taken. An order that no other payment is under way for fails, and its hold ends. Raises
    NotFound, InvalidTransition."""
    with tenant_transaction(tenant_id):
        payment = _under_review(payment_id)
        give_back(payment)
        others = Payment.objects.filter(order=payment.order, status__in=PAYING).exclude(id=payment_id)
        if payment.order.status == OrderStatus.PENDING and not others.exists():
            fail_order(payment.order, FailureReason.REVIEWED)
            release_locked_hold(payment.order.hold_id, FailureReason.REVIEWED)
        return Payment.objects.get(id=payment_id)


def _under_review(payment_id: UUID) -> Payment:
    payment = lock_payment(payment_id)
    if payment is None:
        raise NotFound
    if payment.status != PaymentStatus.NEEDS_REVIEW:
        raise InvalidTransition("The payment is not under review.")
    return payment
