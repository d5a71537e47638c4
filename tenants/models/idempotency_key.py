"""An idempotency key: the first answer to a request, kept so that a retry gets it again.

Written in the transaction of the effect it answers for; reaped after 72 hours.
"""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from tenants.models.api_key import ApiKey
from tenants.models.base import TenantModel


class IdempotencyKey(TenantModel):
    """One key of one principal (an API key) of one tenant, and the answer it stands for."""

    principal = models.ForeignKey(ApiKey, models.PROTECT, db_constraint=False, related_name="+")
    key = models.CharField(max_length=255)
    fingerprint = models.BinaryField(max_length=32)
    status_code = models.PositiveSmallIntegerField()
    body = models.TextField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.UniqueConstraint(fields=["principal", "key"], name="idempotency_key_is_one_per_principal"),
        ]

    def __str__(self) -> str:
        return self.key
