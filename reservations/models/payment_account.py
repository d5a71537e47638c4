"""A payment account: through which provider a tenant's money comes. Made by an owner; of each tenant one is enabled."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from tenants.models import TenantModel


class Provider(models.TextChoices):
    MOCK = "mock"
    STRIPE = "stripe"


class PaymentAccountStatus(models.TextChoices):
    ENABLED = "enabled"
    DISABLED = "disabled"


class PaymentAccount(TenantModel):
    """`credentials` are what the provider asks for, as encrypted JSON; see `reservations.credentials`."""

    provider = models.CharField(max_length=20, choices=Provider.choices)
    status = models.CharField(
        max_length=8, choices=PaymentAccountStatus.choices, default=PaymentAccountStatus.ENABLED, editable=False
    )
    credentials = models.BinaryField(default=b"")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.CheckConstraint(condition=Q(provider__in=Provider.values), name="payment_account_provider_is_known"),
            models.CheckConstraint(
                condition=Q(status__in=PaymentAccountStatus.values), name="payment_account_status_is_known"
            ),
            models.UniqueConstraint(
                fields=["tenant"],
                condition=Q(status=PaymentAccountStatus.ENABLED),
                name="payment_account_enabled_is_one_per_tenant",
            ),
        ]

    def __str__(self) -> str:
        return self.get_provider_display()
