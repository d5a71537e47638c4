"""A message: a fact in the outbox. Written by `webhooks.outbox.publish` with the fact itself; never changed."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from tenants.models import TenantModel


class CurrentTransaction(models.Func):
    """The number of the running transaction, in the order in which transactions begin to write."""

    template = "(pg_current_xact_id()::text::bigint)"
    output_field = models.BigIntegerField()


class Message(TenantModel):
    """`sequence` counts 1, 2, 3 for each subject. `payload` is JSON text, frozen as it was written.

    `actor` says for people who did it, empty for HoldFast itself: the admin shows it, and no message carries it.

    `transaction` orders the feed: ids are made before the commit, so a reader who follows ids would miss a message that
    commits late. A reader who follows (transaction, id) and stops before the oldest transaction that still runs misses
    none; see `webhooks.queries.feed`.
    """

    ACTOR_LENGTH_MAX = 200

    type = models.CharField(max_length=40)
    subject_type = models.CharField(max_length=20)
    subject_id = models.UUIDField()
    sequence = models.PositiveIntegerField()
    payload = models.TextField()
    actor = models.CharField(max_length=ACTOR_LENGTH_MAX, blank=True, default="")
    occurred_at = models.DateTimeField(db_default=Now())
    transaction = models.BigIntegerField(db_default=CurrentTransaction())

    class Meta(TenantModel.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            *TenantModel.Meta.constraints,
            models.UniqueConstraint(
                fields=["subject_id", "sequence"], name="message_sequence_is_unique_in_its_subject"
            ),
            models.CheckConstraint(condition=models.Q(sequence__gte=1), name="message_sequence_counts_from_one"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["tenant", "transaction", "id"], name="message_feed"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.sequence}"
