"""A hold: a timed claim on units, all of them or none. Created by the allocator; ends once and for good.

    active → converted | released | expired

A hold past `expires_at` is expired for every reader and writer, whether or not its row says so yet.
"""

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from reservations.models.event import Event
from tenants.models import TenantModel


class HoldStatus(models.TextChoices):
    ACTIVE = "active"
    CONVERTED = "converted"
    RELEASED = "released"
    EXPIRED = "expired"


class Hold(TenantModel):
    """`items` are the units as they were promised, labels and prices frozen; they outlive the claim. `customer_key` is
    the digest of the customer's text as limits and filters compare it; see `reservations.customers`. `returned` counts
    what a refund has given back of a converted hold: the customer's limit counts the rest."""

    CUSTOMER_LENGTH_MAX = 200
    RELEASE_REASON_LENGTH_MAX = 200

    event = models.ForeignKey(Event, models.PROTECT, db_constraint=False, db_index=False, related_name="holds")
    status = models.CharField(max_length=9, choices=HoldStatus.choices, default=HoldStatus.ACTIVE)
    customer = models.CharField(max_length=CUSTOMER_LENGTH_MAX)
    # a digest, since NFKC may make 200 characters longer than an index entry can be
    customer_key = models.BinaryField(max_length=32)
    quantity = models.PositiveIntegerField()
    returned = models.PositiveIntegerField(default=0)
    items = models.JSONField()
    total_amount = models.BigIntegerField()
    metadata = models.JSONField(default=dict, blank=True)
    extensions_used = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())
    # a hold that was given no end has none of its time left
    expires_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)
    release_reason = models.CharField(max_length=RELEASE_REASON_LENGTH_MAX, blank=True, default="")

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.CheckConstraint(condition=Q(status__in=HoldStatus.values), name="hold_status_is_known"),
            models.CheckConstraint(
                condition=Q(status=HoldStatus.ACTIVE, ended_at=None)
                | (~Q(status=HoldStatus.ACTIVE) & Q(ended_at__isnull=False)),
                name="hold_ended_iff_not_active",
            ),
            models.CheckConstraint(condition=Q(quantity__gte=1), name="hold_quantity_is_positive"),
            models.CheckConstraint(
                condition=Q(returned=0) | Q(status=HoldStatus.CONVERTED, returned__lte=F("quantity")),
                name="hold_returns_what_it_had",
            ),
            models.CheckConstraint(condition=Q(total_amount__gte=0), name="hold_total_is_not_negative"),
            models.CheckConstraint(condition=Q(expires_at__gte=F("created_at")), name="hold_ends_after_it_begins"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["event", "id"], name="hold_by_event"),
            models.Index(fields=["event", "expires_at"], name="hold_active_by_end", condition=Q(status="active")),
            models.Index(
                fields=["tenant", "expires_at"], name="hold_active_of_tenant_by_end", condition=Q(status="active")
            ),
            models.Index(fields=["event", "customer_key"], name="hold_by_customer"),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} for {self.customer}"
