"""An order: a hold that is being paid or was. Created by the first try to pay; a hold has at most one.

pending → confirmed | failed | cancelled
confirmed → partially_refunded | refunded
partially_refunded → refunded
"""

from collections.abc import Mapping
from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from reservations.models.event import Event
from reservations.models.hold import Hold
from tenants.models import TenantModel


class OrderStatus(models.TextChoices):
    PENDING = "pending"
    CONFIRMED = "confirmed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PARTIALLY_REFUNDED = "partially_refunded"
    REFUNDED = "refunded"


# drawn in ARCHITECTURE.md
ORDER_MOVES: Mapping[OrderStatus, frozenset[OrderStatus]] = {
    OrderStatus.PENDING: frozenset({OrderStatus.CONFIRMED, OrderStatus.FAILED, OrderStatus.CANCELLED}),
    OrderStatus.CONFIRMED: frozenset({OrderStatus.PARTIALLY_REFUNDED, OrderStatus.REFUNDED}),
    OrderStatus.PARTIALLY_REFUNDED: frozenset({OrderStatus.PARTIALLY_REFUNDED, OrderStatus.REFUNDED}),
    OrderStatus.FAILED: frozenset(),
    OrderStatus.CANCELLED: frozenset(),
    OrderStatus.REFUNDED: frozenset(),
}
# what was paid and is not wholly given back
LIVE_ORDER = (OrderStatus.CONFIRMED, OrderStatus.PARTIALLY_REFUNDED)


class FailureReason(models.TextChoices):
    """Why an order failed."""

    DECLINED = "declined"
    EXPIRED_WHILE_PAYING = "expired_while_paying"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    REVIEWED = "refunded_after_review"


class Order(TenantModel):
    """What is bought is in `hold.items`, prices frozen when the hold was made; so is the total.

    `retaken_hold` is the hold that took the same units again when the money came after the first hold's end.
    """

    hold = models.OneToOneField(Hold, models.PROTECT, db_constraint=False, related_name="order")
    retaken_hold: "models.OneToOneField[Hold | None, Hold | None]" = models.OneToOneField(
        Hold, models.PROTECT, null=True, db_constraint=False, related_name="retaken_for"
    )
    event = models.ForeignKey(Event, models.PROTECT, db_constraint=False, db_index=False, related_name="orders")
    status = models.CharField(max_length=18, choices=OrderStatus.choices, default=OrderStatus.PENDING)
    reason = models.CharField(max_length=24, choices=FailureReason.choices, null=True)
    customer = models.CharField(max_length=Hold.CUSTOMER_LENGTH_MAX)
    customer_key = models.BinaryField(max_length=32)
    buyer = models.JSONField(null=True)
    total_amount = models.BigIntegerField()
    created_at = models.DateTimeField(db_default=Now())
    confirmed_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.CheckConstraint(condition=Q(status__in=OrderStatus.values), name="order_status_is_known"),
            models.CheckConstraint(condition=Q(total_amount__gte=0), name="order_total_is_not_negative"),
            models.CheckConstraint(
                condition=Q(status=OrderStatus.FAILED, reason__isnull=False)
                | (~Q(status=OrderStatus.FAILED) & Q(reason=None)),
                name="order_has_a_reason_iff_failed",
            ),
            models.CheckConstraint(
                condition=Q(
                    status__in=[OrderStatus.PENDING, OrderStatus.FAILED, OrderStatus.CANCELLED], confirmed_at=None
                )
                | Q(
                    status__in=[OrderStatus.CONFIRMED, OrderStatus.PARTIALLY_REFUNDED, OrderStatus.REFUNDED],
                    confirmed_at__isnull=False,
                ),
                name="order_confirmed_iff_it_says_when",
            ),
            models.CheckConstraint(
                condition=Q(retaken_hold=None) | ~Q(retaken_hold=F("hold")), name="order_retook_another_hold"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["event", "id"], name="order_by_event"),
            models.Index(fields=["event", "customer_key"], name="order_by_customer"),
        ]

    def __str__(self) -> str:
        return f"Order of {self.customer}"
