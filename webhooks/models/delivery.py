"""A delivery: one message on its way to one endpoint. Made by the relay, or by a replay; ends delivered or dead.

pending → delivered | dead
delivered, dead → pending (told once more, by a retry or a replay)
"""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from tenants.models import TenantModel
from webhooks.models.endpoint import Endpoint
from webhooks.models.message import Message
from webhooks.models.replay import Replay


class DeliveryStatus(models.TextChoices):
    PENDING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"


class Delivery(TenantModel):
    """`look_at` is lease and schedule in one: from then on anyone may take it up, with the next fence. While
    `claimed_at` is set as well, the one who has the fence sends it.

    `attempts_made` counts all attempts ever; the schedule begins anew after `attempts_before` of them, which is 0 until
    it is told once more. `replay` is the last one that did so.
    """

    endpoint = models.ForeignKey(
        Endpoint, models.PROTECT, db_constraint=False, db_index=False, related_name="deliveries"
    )
    message = models.ForeignKey(Message, models.PROTECT, db_constraint=False, related_name="deliveries")
    replay: "models.ForeignKey[Replay | None, Replay | None]" = models.ForeignKey(
        Replay, models.PROTECT, null=True, db_constraint=False, db_index=False, related_name="deliveries"
    )
    status = models.CharField(max_length=9, choices=DeliveryStatus.choices, db_default=DeliveryStatus.PENDING)
    attempts_made = models.PositiveIntegerField(db_default=0)
    attempts_before = models.PositiveIntegerField(db_default=0)
    fence = models.PositiveIntegerField(db_default=0)
    look_at = models.DateTimeField(null=True, db_default=Now())
    claimed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    settled_at = models.DateTimeField(null=True)

    class Meta(TenantModel.Meta):
        verbose_name_plural = "deliveries"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.UniqueConstraint(fields=["endpoint", "message"], name="message_is_delivered_once_to_an_endpoint"),
            models.CheckConstraint(condition=Q(status__in=DeliveryStatus.values), name="delivery_status_is_known"),
            models.CheckConstraint(
                condition=Q(status=DeliveryStatus.PENDING, look_at__isnull=False, settled_at=None)
                | (~Q(status=DeliveryStatus.PENDING) & Q(look_at=None, claimed_at=None, settled_at__isnull=False)),
                name="delivery_is_looked_at_while_pending",
            ),
            models.CheckConstraint(
                condition=Q(attempts_before__lte=models.F("attempts_made")), name="delivery_attempts_before_were_made"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["endpoint", "look_at"], name="delivery_due", condition=Q(look_at__isnull=False)),
            models.Index(fields=["tenant", "look_at"], name="delivery_claimed", condition=Q(claimed_at__isnull=False)),
            models.Index(fields=["replay"], name="delivery_by_replay", condition=Q(replay__isnull=False)),
            models.Index(fields=["settled_at"], name="delivery_settled", condition=Q(settled_at__isnull=False)),
            # dead letters are few among many, and looked for
            models.Index(fields=["tenant", "id"], name="delivery_dead", condition=Q(status=DeliveryStatus.DEAD)),
        ]

    def __str__(self) -> str:
        return f"Delivery {self.id}"
