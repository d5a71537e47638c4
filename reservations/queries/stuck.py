"""Orders that somebody should look at: their money has been under way for too long, or waits for a person."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, Q, QuerySet
from django.db.models.expressions import Combinable

from holdfast.kernel.clock import Now
from reservations.models import Order, Payment, PaymentStatus, Refund

# what takes longer than this is not on its ordinary way any more
STUCK_SECONDS = 300

# each by an index of its own: few rows are ever like this, and the sidebar of every page counts them
_OPEN = Q(look_at__isnull=False)
_UNDER_REVIEW = Q(status=PaymentStatus.NEEDS_REVIEW)


def _long_ago() -> Combinable:
    return Now() - timedelta(seconds=STUCK_SECONDS)


def stuck_order_ids() -> QuerySet[Any, tuple[UUID]]:
    """The orders with a payment that is open or a refund that is pending for too long, or with a payment under review,
    which nobody but a person ends."""
    open_payments = Payment.objects.filter(_OPEN, created_at__lt=_long_ago())
    reviewed = Payment.objects.filter(_UNDER_REVIEW)
    refunds = Refund.objects.filter(_OPEN, created_at__lt=_long_ago())
    return open_payments.values_list("order_id").union(
        reviewed.values_list("order_id"), refunds.values_list("order_id")
    )


def count_stuck_orders() -> int:
    """One statement."""
    return stuck_order_ids().count()


def with_what_is_stuck(orders: QuerySet[Order]) -> QuerySet[Any]:
    """The orders, each with `now`, and with what is under way of it: `unsettled_payments`, `pending_refunds`."""
    payments = Payment.objects.filter(_OPEN | _UNDER_REVIEW).select_related("account").order_by("id")
    refunds = Refund.objects.filter(_OPEN).select_related("payment__account").order_by("id")
    return orders.annotate(now=Now()).prefetch_related(
        Prefetch("payments", payments, to_attr="unsettled_payments"),
        Prefetch("refunds", refunds, to_attr="pending_refunds"),
    )
