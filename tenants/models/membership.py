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


# an invitation counts for nothing until it is accepted
JOINED = models.Q(join_code_sha256=None)


class Membership(TenantModel):
    """One person, one tenant, one role; while it has a join code, an invitation to that and nothing more."""

    user: "models.ForeignKey[Any, Any]" = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=10, choices=Role.choices)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    join_code_sha256 = models.BinaryField(max_length=32, null=True, editable=False)
    join_code_expires_at = models.DateTimeField(null=True, editable=False)

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "user"], name="membership_is_one_per_person"),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="membership_role_is_known"),
            models.CheckConstraint(
                condition=models.Q(join_code_sha256=None, join_code_expires_at=None)
                | models.Q(join_code_sha256__isnull=False, join_code_expires_at__isnull=False),
                name="membership_join_code_has_an_end",
            ),
        ]

    @property
    def is_invited(self) -> bool:
        """Whether the person has yet to enter their join code."""
        return self.join_code_sha256 is not None

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"
