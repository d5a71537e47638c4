"""A message: a fact in the outbox. Written by `webhooks.outbox.publish` with the fact itself; never changed."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from tenants.models import TenantModel


class CurrentTransaction(models.Func):
    """The number of the running transaction, in the order in which transactions begin to write."""

    template = "(pg_current_xact_id()::text::bigint)"
    output_field = models.BigIntegerField()


class SomebodyListens(models.Func):
    """Whether the tenant of the running transaction has an enabled endpoint, and that no other begins to listen before
    that transaction ends."""

    template = "webhooks_somebody_listens()"
    output_field = models.BooleanField()


class Message(TenantModel):
    """`sequence` counts 1, 2, 3 for each subject. `payload` is JSON text, frozen as it was written.

    `actor` says for people who did it, empty for HoldFast itself: the admin shows it, and no message carries it.

    `transaction` orders the feed: ids are made before the commit, so a reader who follows ids would miss a message that
    commits late. A reader who follows (transaction, id) and stops before the oldest transaction that still runs misses
    none; see `webhooks.queries.feed`.

    `waits_for_relay` until `webhooks.relay` has made its deliveries. The statement that writes the message asks whether
    anybody listens: where nobody does, nothing waits and nothing is left to do. Nobody begins to listen between that
    and the commit.
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
    waits_for_relay = models.BooleanField(db_default=SomebodyListens())

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
            # the type is there for replays, which count what they choose among all
            models.Index(fields=["tenant", "occurred_at", "id"], include=["type"], name="message_by_time"),
            models.Index(fields=["tenant", "id"], name="message_to_relay", condition=models.Q(waits_for_relay=True)),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.sequence}"
