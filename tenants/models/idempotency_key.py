"""An idempotency key: the first answer to a request, kept so that a retry gets it again.

in progress → answered

Most are written once, answered, in the transaction of the effect they answer for. A call that works in several steps
writes its key in the first of them, in progress, with the id of what it works on; whoever ends that work writes the
answer. Answered ones are reaped after 72 hours.
"""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from tenants.models.api_key import ApiKey
from tenants.models.base import TenantModel


class IdempotencyKey(TenantModel):
    """One key of one principal (an API key) of one tenant, and the answer it stands for: none while it is in progress.
    `resource_id` is what an unfinished call works on; an answer of 202 is told anew from it each time."""

    principal = models.ForeignKey(ApiKey, models.PROTECT, db_constraint=False, related_name="+")
    key = models.CharField(max_length=255)
    fingerprint = models.BinaryField(max_length=32)
    status_code = models.PositiveSmallIntegerField(null=True)
    body = models.TextField(blank=True, default="")
    resource_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.UniqueConstraint(fields=["principal", "key"], name="idempotency_key_is_one_per_principal"),
            models.CheckConstraint(
                condition=models.Q(status_code__isnull=False) | models.Q(resource_id__isnull=False),
                name="idempotency_key_in_progress_has_a_resource",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["resource_id"],
                name="idempotency_key_by_resource",
                condition=models.Q(resource_id__isnull=False),
            ),
            models.Index(fields=["created_at"], name="idempotency_key_by_age"),
        ]

    def __str__(self) -> str:
        return self.key
