"""A difference: what HoldFast and a provider say differently of one charge. Found by reconciliation, shown to the
organizer, resolved by the first reconciliation that does not find it again."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from reservations.models.order import Order
from reservations.models.payment_account import PaymentAccount
from tenants.models import TenantModel


class DifferenceKind(models.TextChoices):
    CHARGE_MISSING = "charge_missing", "An order is paid here and not there"
    ORDER_MISSING = "order_missing", "Money was taken there for nothing here"
    AMOUNT = "amount", "Another amount or currency"
    REFUND = "refund", "Another amount was given back"


class Difference(TenantModel):
    """`here` and `there` are what each side says, as text for people, amounts with their currency."""

    account = models.ForeignKey(PaymentAccount, models.PROTECT, db_constraint=False, db_index=False, related_name="+")
    kind = models.CharField(max_length=14, choices=DifferenceKind.choices)
    reference = models.CharField(max_length=255)
    order: "models.ForeignKey[Order | None, Order | None]" = models.ForeignKey(
        Order, models.PROTECT, null=True, db_constraint=False, related_name="differences"
    )
    here = models.CharField(max_length=100)
    there = models.CharField(max_length=100)
    found_at = models.DateTimeField(db_default=Now())
    resolved_at = models.DateTimeField(null=True)

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.CheckConstraint(condition=Q(kind__in=DifferenceKind.values), name="difference_kind_is_known"),
            models.UniqueConstraint(
                fields=["account", "reference", "kind"],
                condition=Q(resolved_at=None),
                name="difference_is_open_once",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["account", "id"], name="difference_by_account"),
        ]

    def __str__(self) -> str:
        return self.get_kind_display()
