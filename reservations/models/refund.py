"""A refund: money on its way back, and the units with it. Asked for by an organizer, or made by HoldFast itself for
money that could not be kept (a compensation: at most one a payment).

pending → succeeded | failed
"""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from reservations.models.order import Order
from reservations.models.payment import Payment
from tenants.models import TenantModel


class RefundStatus(models.TextChoices):
    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class Refund(TenantModel):
    """`payment` is null for a free order: units and no money. `currency` is that of what was captured. `items` names
    what goes back: `[{"unit": id}]`. `look_at`, `fence` and `looks` are as those of a payment."""

    REASON_LENGTH_MAX = 200

    order = models.ForeignKey(Order, models.PROTECT, db_constraint=False, related_name="refunds")
    payment: "models.ForeignKey[Payment | None, Payment | None]" = models.ForeignKey(
        Payment, models.PROTECT, null=True, db_constraint=False, related_name="refunds"
    )
    is_compensation = models.BooleanField(default=False)
    status = models.CharField(max_length=9, choices=RefundStatus.choices, default=RefundStatus.PENDING)
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    items = models.JSONField(default=list, blank=True)
    reason = models.CharField(max_length=REASON_LENGTH_MAX, blank=True, default="")
    restock = models.BooleanField(default=True)
    provider_reference = models.CharField(max_length=255, null=True)
    fence = models.PositiveIntegerField(default=1)
    look_at = models.DateTimeField(null=True)
    looks = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())
    settled_at = models.DateTimeField(null=True)

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.CheckConstraint(condition=Q(status__in=RefundStatus.values), name="refund_status_is_known"),
            models.CheckConstraint(condition=Q(amount__gte=0), name="refund_amount_is_not_negative"),
            models.CheckConstraint(
                condition=Q(status=RefundStatus.PENDING, look_at__isnull=False, settled_at=None)
                | (~Q(status=RefundStatus.PENDING) & Q(look_at=None, settled_at__isnull=False)),
                name="refund_is_looked_at_while_pending",
            ),
            models.CheckConstraint(
                condition=Q(payment__isnull=False) | Q(amount=0, is_compensation=False),
                name="refund_of_money_has_a_payment",
            ),
            models.UniqueConstraint(
                fields=["payment"],
                condition=Q(is_compensation=True) & ~Q(status=RefundStatus.FAILED),
                name="payment_is_compensated_once",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["look_at"], name="refund_due", condition=Q(look_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"Refund {self.id}"

    @property
    def provider_key(self) -> str:
        """What the provider knows this refund by: the same however often it is sent."""
        return f"hf-{self.id}"
