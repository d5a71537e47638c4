"""A replay: messages of the past told once more to one endpoint. Asked for by the tenant's people; ends by itself.

running → done | stopped (its endpoint was disabled or deleted meanwhile)
"""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from tenants.models import TenantModel
from webhooks.models.endpoint import Endpoint


class ReplayState(models.TextChoices):
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"


class ReplayedStatus(models.TextChoices):
    """Which messages: all that the endpoint would be told, or those it was told in vain."""

    ALL = "all"
    DEAD = "dead"


class Replay(TenantModel):
    """Messages of `types` that occurred from `since` on and before `until`, in the order of (occurred_at, id).

    All up to the cursor are on their way again, `queued` in number; `matched` were there when it began. `look_at` is
    when the next ones are due. Those of one endpoint run one after the other.
    """

    MATCHED_MAX = 10_000

    endpoint = models.ForeignKey(Endpoint, models.PROTECT, db_constraint=False, related_name="replays")
    since = models.DateTimeField()
    until = models.DateTimeField()
    types = ArrayField(models.CharField(max_length=40))
    status = models.CharField(max_length=4, choices=ReplayedStatus.choices, default=ReplayedStatus.ALL)
    state = models.CharField(max_length=7, choices=ReplayState.choices, default=ReplayState.RUNNING)
    matched = models.PositiveIntegerField()
    queued = models.PositiveIntegerField(default=0)
    cursor_at = models.DateTimeField(null=True)
    cursor_id = models.UUIDField(null=True)
    look_at = models.DateTimeField(null=True, db_default=Now())
    created_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.CheckConstraint(condition=Q(state__in=ReplayState.values), name="replay_state_is_known"),
            models.CheckConstraint(condition=Q(status__in=ReplayedStatus.values), name="replay_status_is_known"),
            models.CheckConstraint(condition=Q(matched__lte=10_000), name="replay_is_of_ten_thousand_at_most"),
            models.CheckConstraint(
                condition=Q(state=ReplayState.RUNNING, look_at__isnull=False, ended_at=None)
                | (~Q(state=ReplayState.RUNNING) & Q(look_at=None, ended_at__isnull=False)),
                name="replay_is_looked_at_while_running",
            ),
            models.CheckConstraint(
                condition=Q(cursor_at=None, cursor_id=None) | Q(cursor_at__isnull=False, cursor_id__isnull=False),
                name="replay_cursor_is_whole",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["look_at"], name="replay_due", condition=Q(look_at__isnull=False)),
            # whether one waits for another of its endpoint
            models.Index(fields=["endpoint", "id"], name="replay_running", condition=Q(look_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"Replay {self.id}"
