"""The outbox as a change feed: whoever follows its cursors to the end, again and again, misses no message.

Messages are made before their transaction commits, and commits come in another order. So the feed is ordered by the
number of the transaction, and ends before the oldest transaction that still runs: what is shown is final, and nothing
can come before it any more (PostgreSQL manual, 9.28, pg_snapshot_xmin).
"""

from typing import Any
from uuid import UUID

import orjson
from django.db.models import BigIntegerField, Func, QuerySet

from holdfast.kernel.clock import rfc3339
from holdfast.kernel.errors import NotFound
from webhooks.models import Message

ORDER = ("transaction", "id")


class OldestRunning(Func):
    """The number of the oldest transaction that still runs, or of the next one where none does."""

    template = "(pg_snapshot_xmin(pg_current_snapshot())::text::bigint)"
    output_field = BigIntegerField()


def feed() -> QuerySet[Message]:
    """The messages that are final."""
    return Message.objects.filter(transaction__lt=OldestRunning())


def get_message(message_id: UUID) -> Message:
    """The message. Raises NotFound."""
    message = Message.objects.filter(id=message_id).first()
    if message is None:
        raise NotFound
    return message


def message_json(message: Message) -> dict[str, Any]:
    """The message as a delivery carries it; its data stays the text that was frozen."""
    return {
        "id": str(message.id),
        "type": message.type,
        "sequence": message.sequence,
        "occurred_at": rfc3339(message.occurred_at),
        "tenant": str(message.tenant_id),
        "subject": {"type": message.subject_type, "id": str(message.subject_id)},
        "data": orjson.Fragment(message.payload),
    }
