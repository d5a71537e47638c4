"""An attempt: one request that tried to deliver, and what came of it. Written when that is known; never changed."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from tenants.models import TenantModel
from webhooks.egress.outcome import Outcome
from webhooks.models.delivery import Delivery

# HoldFast ended before it heard: the receiver may have had it
LOST = "lost"
OUTCOMES = (*(str(outcome) for outcome in Outcome), LOST)


class Attempt(TenantModel):
    """`at` is when it began. `response` is the beginning of the answer's body; bytes that are no text are escaped."""

    delivery = models.ForeignKey(Delivery, models.PROTECT, db_constraint=False, related_name="attempts")
    at = models.DateTimeField()
    duration_ms = models.PositiveIntegerField(null=True)
    outcome = models.CharField(max_length=20, choices=[(outcome, outcome) for outcome in OUTCOMES])
    status_code = models.PositiveSmallIntegerField(null=True)
    response = models.TextField(blank=True, default="")

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.CheckConstraint(condition=Q(outcome__in=OUTCOMES), name="attempt_outcome_is_known"),
            models.CheckConstraint(
                condition=Q(outcome=LOST, duration_ms=None) | (~Q(outcome=LOST) & Q(duration_ms__isnull=False)),
                name="attempt_took_time_unless_lost",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["at"], name="attempt_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} at {self.at}"
