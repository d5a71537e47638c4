"""A payment: one attempt to charge for an order. Created with the order, or after a decline; ends when the provider has
said what became of it.

created → submitting → succeeded | declined | needs_action | unknown
needs_action | unknown → succeeded | declined
submitting | needs_action | unknown → needs_review → succeeded | refunding
succeeded → refunding → refunded | succeeded (the provider refused the refund)
declined → refunding (money came after all)
refunding → needs_review (the provider refused to take back what could not be kept)
"""

from collections.abc import Mapping
from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from reservations.models.order import Order
from reservations.models.payment_account import PaymentAccount
from tenants.models import TenantModel


class PaymentStatus(models.TextChoices):
    CREATED = "created"
    SUBMITTING = "submitting"
    NEEDS_ACTION = "needs_action"
    UNKNOWN = "unknown"
    SUCCEEDED = "succeeded"
    DECLINED = "declined"
    REFUNDING = "refunding"
    REFUNDED = "refunded"
    NEEDS_REVIEW = "needs_review"


_ENDS = frozenset(
    {PaymentStatus.SUCCEEDED, PaymentStatus.DECLINED, PaymentStatus.REFUNDING, PaymentStatus.NEEDS_REVIEW}
)
# drawn in ARCHITECTURE.md
PAYMENT_MOVES: Mapping[PaymentStatus, frozenset[PaymentStatus]] = {
    PaymentStatus.CREATED: frozenset({PaymentStatus.SUBMITTING, PaymentStatus.DECLINED}),
    PaymentStatus.SUBMITTING: _ENDS | {PaymentStatus.NEEDS_ACTION, PaymentStatus.UNKNOWN},
    # looked at again, with nothing new
    PaymentStatus.NEEDS_ACTION: _ENDS | {PaymentStatus.NEEDS_ACTION, PaymentStatus.UNKNOWN},
    PaymentStatus.UNKNOWN: _ENDS | {PaymentStatus.NEEDS_ACTION, PaymentStatus.UNKNOWN},
    PaymentStatus.SUCCEEDED: frozenset({PaymentStatus.REFUNDING}),
    PaymentStatus.DECLINED: frozenset({PaymentStatus.REFUNDING}),
    PaymentStatus.REFUNDING: frozenset({PaymentStatus.REFUNDED, PaymentStatus.SUCCEEDED, PaymentStatus.NEEDS_REVIEW}),
    PaymentStatus.REFUNDED: frozenset(),
    PaymentStatus.NEEDS_REVIEW: frozenset({PaymentStatus.SUCCEEDED, PaymentStatus.REFUNDING}),
}
# the provider has not said yet what became of it: somebody must look again
OPEN = (PaymentStatus.CREATED, PaymentStatus.SUBMITTING, PaymentStatus.NEEDS_ACTION, PaymentStatus.UNKNOWN)
# the hold is being paid
PAYING = (*OPEN, PaymentStatus.NEEDS_REVIEW)


class Payment(TenantModel):
    """`look_at` is both lease and schedule: until then the one who has `fence` works on it or waits; from then on
    anyone may take it over with the next fence. `method` is the provider's token of a card or the like, kept while it
    may have to be sent again. `captured_*` is what the provider says it took, `refunded_amount` what goes or went back
    of it by our refunds, `refunded_there_amount` what somebody gave back at the provider, as far as we know.
    """

    METHOD_LENGTH_MAX = 255

    order = models.ForeignKey(Order, models.PROTECT, db_constraint=False, db_index=True, related_name="payments")
    account = models.ForeignKey(PaymentAccount, models.PROTECT, db_constraint=False, related_name="+")
    status = models.CharField(max_length=12, choices=PaymentStatus.choices, default=PaymentStatus.CREATED)
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    method = models.CharField(max_length=METHOD_LENGTH_MAX, blank=True, default="")
    provider_reference = models.CharField(max_length=255, null=True)
    decline_code = models.CharField(max_length=100, null=True)
    captured_amount = models.BigIntegerField(null=True)
    captured_currency = models.CharField(max_length=3, null=True)
    refunded_amount = models.BigIntegerField(default=0)
    refunded_there_amount = models.BigIntegerField(default=0)
    fence = models.PositiveIntegerField(default=1)
    look_at = models.DateTimeField(null=True)
    looks = models.PositiveIntegerField(default=0)
    sends = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())
    sent_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.CheckConstraint(condition=Q(status__in=PaymentStatus.values), name="payment_status_is_known"),
            models.CheckConstraint(condition=Q(amount__gt=0), name="payment_amount_is_positive"),
            models.CheckConstraint(
                condition=Q(refunded_amount=0, refunded_there_amount=0)
                | Q(
                    refunded_amount__gte=0,
                    refunded_there_amount__gte=0,
                    captured_amount__isnull=False,
                    captured_amount__gte=F("refunded_amount") + F("refunded_there_amount"),
                ),
                name="payment_is_never_refunded_beyond_what_was_captured",
            ),
            models.CheckConstraint(
                condition=Q(status__in=OPEN, look_at__isnull=False) | (~Q(status__in=OPEN) & Q(look_at=None)),
                name="payment_is_looked_at_while_open",
            ),
            models.UniqueConstraint(fields=["order"], condition=Q(status__in=OPEN), name="order_is_paid_one_at_a_time"),
            models.UniqueConstraint(
                fields=["order"], condition=Q(status=PaymentStatus.SUCCEEDED), name="order_is_paid_once"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["look_at"], name="payment_due", condition=Q(look_at__isnull=False)),
            models.Index(fields=["account", "provider_reference"], name="payment_by_reference"),
            # few at any time, and counted on every page of the admin
            models.Index(
                fields=["tenant", "settled_at"],
                name="payment_under_review",
                condition=Q(status=PaymentStatus.NEEDS_REVIEW),
            ),
        ]

    def __str__(self) -> str:
        return f"Payment {self.id}"

    @property
    def provider_key(self) -> str:
        """What the provider knows this payment by: the same however often it is sent."""
        return f"hf-{self.id}"

    @property
    def kept_amount(self) -> int:
        """What was taken and has not gone back, and is not on its way back either."""
        return (self.captured_amount or 0) - self.refunded_amount - self.refunded_there_amount
