"""Orders that are not paid yet: whether their hold is being paid, and what becomes of them when it ends."""

from collections.abc import Sequence
from uuid import UUID

from holdfast.kernel.clock import Now
from reservations.errors import CheckoutInProgress
from reservations.messages import order_fact
from reservations.models import FailureReason, Order, OrderStatus, Payment, PaymentStatus
from reservations.models.payment import PAYING
from reservations.queries.orders import get_order
from webhooks.outbox import publish

# paid in this very transaction, which then ends the lapsed hold itself before it takes the same units again
_GOES_ON = (*PAYING, PaymentStatus.SUCCEEDED)


def refuse_paying(hold_id: UUID) -> None:
    """Raises CheckoutInProgress while a payment for the hold is under way or under review; the hold is locked."""
    paying = Payment.objects.filter(order__hold_id=hold_id, order__status=OrderStatus.PENDING, status__in=PAYING)
    if found := paying.values_list("order_id", flat=True).first():
        raise CheckoutInProgress(found)


def fail_unpaid_orders(hold_ids: Sequence[UUID]) -> dict[UUID, UUID]:
    """End the orders whose last payment was declined, now that their holds end; those that are being paid go on.

    Answers which order belongs to which hold, for all of them that have one. The holds are locked.
    """
    orders = {order.hold_id: order for order in Order.objects.filter(hold_id__in=hold_ids)}
    pending = {order.id: order for order in orders.values() if order.status == OrderStatus.PENDING}
    if pending:
        going_on = Payment.objects.filter(order_id__in=pending, status__in=_GOES_ON).values_list("order_id", flat=True)
        for order_id in going_on:
            pending.pop(order_id, None)
        for order in pending.values():
            fail_unpaid_order(order)
    return {hold_id: order.id for hold_id, order in orders.items()}


def fail_unpaid_order(order: Order) -> None:
    """End an order whose last payment did not take place, for the reason why it did not; its hold is locked."""
    codes = Payment.objects.filter(order=order).order_by("-id").values_list("decline_code", flat=True)
    unavailable = codes.first() == FailureReason.PROVIDER_UNAVAILABLE
    fail_order(order, FailureReason.PROVIDER_UNAVAILABLE if unavailable else FailureReason.DECLINED)


def fail_order(order: Order, reason: FailureReason) -> None:
    """End an order that was not paid, or whose money can't be kept, if it is still pending; its hold is locked."""
    failed = Order.objects.filter(id=order.id, status=OrderStatus.PENDING).update(
        status=OrderStatus.FAILED, reason=reason, ended_at=Now()
    )
    if failed:
        publish([order_fact("order.failed", get_order(order.id))])
