"""A callback: a provider's hint that something happened to a charge or refund. Stored once, then looked into.

Nothing in it is believed: what is true comes from asking the provider. So only what finds the charge is kept.
"""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from reservations.models.payment_account import PaymentAccount
from tenants.models import TenantModel


class ProviderCallback(TenantModel):
    """`event_id` is the provider's own; `reference` is our key of the payment or refund, or the provider's id of the
    charge. `processed_at` commits with the effect; until then it is looked into again at `look_at`."""

    account = models.ForeignKey(PaymentAccount, models.PROTECT, db_constraint=False, db_index=False, related_name="+")
    event_id = models.CharField(max_length=255)
    kind = models.CharField(max_length=100)
    reference = models.CharField(max_length=255)
    received_at = models.DateTimeField(db_default=Now())
    processed_at = models.DateTimeField(null=True)
    look_at = models.DateTimeField(null=True, db_default=Now())
    looks = models.PositiveIntegerField(default=0)

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.UniqueConstraint(fields=["account", "event_id"], name="callback_is_stored_once"),
            models.CheckConstraint(
                condition=Q(processed_at=None, look_at__isnull=False) | Q(processed_at__isnull=False, look_at=None),
                name="callback_is_looked_into_until_processed",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["look_at"], name="callback_due", condition=Q(look_at__isnull=False)),
            models.Index(fields=["account", "reference"], name="callback_by_reference"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.event_id}"
