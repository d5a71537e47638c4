"""A membership: what a person may do for a tenant. Made and ended by an owner, or by platform staff."""

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from tenants.models.base import TenantModel


class Role(models.TextChoices):
    """From all to little; `tenants.permissions` says what each may do."""

    OWNER = "owner"
    MANAGER = "manager"
    SUPPORT = "support"
    SCANNER = "scanner"
    VIEWER = "viewer"


class Membership(TenantModel):
    """One person, one tenant, one role."""

    user: "models.ForeignKey[Any, Any]" = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=10, choices=Role.choices)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "user"], name="membership_is_one_per_person"),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="membership_role_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"
