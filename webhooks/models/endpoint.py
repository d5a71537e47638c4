"""An endpoint: where a tenant wants to be told of facts, and of which. Made and deleted by the tenant's people.

enabled ⇄ disabled, by a person, or by HoldFast where nobody answers there any more.
"""

from dataclasses import asdict, fields
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from tenants.models import TenantModel
from webhooks.retry import Health


class EndpointStatus(models.TextChoices):
    ENABLED = "enabled"
    DISABLED = "disabled"


class DisabledReason(models.TextChoices):
    # a person did it
    ORGANIZER = "organizer"
    # the receiver said that it is gone for good (410)
    GONE = "gone"
    # nothing was delivered for days
    FAILING = "failing"


class Endpoint(TenantModel):
    """`events` are patterns of `webhooks.message_types`. `secrets` are those that sign, encrypted; see
    `webhooks.signing_secrets`.

    Whether it answers: `failures` in a row since its last success, the first of them at `failing_since`. After several
    a breaker opens until `breaker_until`, for longer with each of `breaker_openings` in a row. `notices` counts those
    given of its failing. `is_slow` says that its last answer took long: it is then served by the other queue.

    A deleted endpoint is disabled and shown to nobody; its rows are removed in the background.
    """

    URL_LENGTH_MAX = 2048
    DESCRIPTION_LENGTH_MAX = 200
    EVENTS_MAX = 40

    url = models.CharField(max_length=URL_LENGTH_MAX)
    events = ArrayField(models.CharField(max_length=40))
    description = models.CharField(max_length=DESCRIPTION_LENGTH_MAX, blank=True, default="")
    status = models.CharField(max_length=8, choices=EndpointStatus.choices, default=EndpointStatus.ENABLED)
    disabled_reason = models.CharField(max_length=9, choices=DisabledReason.choices, null=True)
    secrets = models.BinaryField(default=b"", editable=False)
    created_at = models.DateTimeField(db_default=Now())
    deleted_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    last_success_at = models.DateTimeField(null=True)
    breaker_openings = models.PositiveIntegerField(default=0)
    breaker_until = models.DateTimeField(null=True)
    notices = models.PositiveSmallIntegerField(default=0)
    is_slow = models.BooleanField(default=False)

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.CheckConstraint(condition=Q(status__in=EndpointStatus.values), name="endpoint_status_is_known"),
            models.CheckConstraint(
                condition=Q(status=EndpointStatus.ENABLED, disabled_reason=None)
                | Q(status=EndpointStatus.DISABLED, disabled_reason__in=DisabledReason.values),
                name="endpoint_has_a_reason_iff_disabled",
            ),
            models.CheckConstraint(
                condition=Q(deleted_at=None) | Q(status=EndpointStatus.DISABLED), name="endpoint_deleted_is_disabled"
            ),
            models.CheckConstraint(
                condition=Q(failures=0, failing_since=None) | Q(failures__gt=0, failing_since__isnull=False),
                name="endpoint_fails_since_its_first_failure",
            ),
            models.CheckConstraint(
                condition=Q(breaker_until=None) | Q(breaker_openings__gt=0, failures__gt=0),
                name="endpoint_breaker_opens_after_failures",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            # asked with every message that is written: whether anybody listens
            models.Index(fields=["tenant"], name="endpoint_enabled", condition=Q(status=EndpointStatus.ENABLED)),
            models.Index(fields=["deleted_at"], name="endpoint_deleted", condition=Q(deleted_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.url

    @property
    def health(self) -> Health:
        """How it has answered lately."""
        return Health(
            failures=self.failures,
            failing_since=self.failing_since,
            last_success_at=self.last_success_at,
            breaker_openings=self.breaker_openings,
            breaker_until=self.breaker_until,
            notices=self.notices,
        )

    @health.setter
    def health(self, health: Health) -> None:
        for name, value in asdict(health).items():
            setattr(self, name, value)


# the fields of `Endpoint.health`
HEALTH = tuple(field.name for field in fields(Health))
# may be asked now: its breaker is closed, or has been open for long enough to try once
AT_WORK = Q(Q(breaker_until=None) | Q(breaker_until__lte=Now()), status=EndpointStatus.ENABLED)
