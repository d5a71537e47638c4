"""An API key: how a program acts for a tenant. Made by an owner or an admin key; ends by revocation or expiry."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from tenants.models.base import TenantModel


class Scope(models.TextChoices):
    """What a key may do; each but READ and ADMIN reads and writes its own."""

    READ = "read"
    EVENTS = "events"
    HOLDS = "holds"
    ORDERS = "orders"
    TICKETS = "tickets"
    WEBHOOKS = "webhooks"
    ADMIN = "admin"


class ApiKey(TenantModel):
    """A key's public half. Of the secret only the SHA-256 is kept; rotation replaces it and keeps the id."""

    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16, editable=False)
    secret_sha256 = models.BinaryField(max_length=32, editable=False)
    scopes: "ArrayField[list[str], list[str]]" = ArrayField(models.CharField(max_length=10, choices=Scope.choices))
    expires_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)

    class Meta(TenantModel.Meta):
        verbose_name = "API key"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.UniqueConstraint(fields=["prefix"], name="api_key_prefix_is_unique"),
            models.CheckConstraint(
                condition=models.Q(scopes__contained_by=Scope.values, scopes__len__gte=1),
                name="api_key_scopes_are_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} (hf_{self.prefix}_…)"
