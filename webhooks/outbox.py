"""The one door to the outbox: what commits with its fact is never lost, what rolls back was never said.

`publish` writes; `last_said` and `last_said_of` read what was said of subjects, for the pages of the tenant's people.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.db import transaction
from django.db.models import Max

from tenants.actor import current_actor
from tenants.scope import current_tenant_id
from webhooks.models import Delivery, Message
from webhooks.wake import wake_relay


class NoTransaction(RuntimeError):
    """A message can only be written in the transaction of its fact."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What happened to whom: `data` is the subject as its GET shows it at that moment, without tokens or secrets.

    `is_first` says that the subject was made just now, so that nothing can have been said of it before. `only_to` is
    the one endpoint that is told, whatever it has asked for.
    """

    type: str
    subject_type: str
    subject_id: UUID
    data: Mapping[str, Any]
    is_first: bool = False
    only_to: UUID | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """A fact as it was told: of whom, what, when (by the database's clock), by whom (empty: HoldFast itself)."""

    subject_id: UUID
    type: str
    occurred_at: datetime
    actor: str
    data: Mapping[str, Any]


def publish(facts: Sequence[Fact]) -> Sequence[UUID]:
    """Write a message for each fact, in their order; the messages' ids. One statement for facts that are the first of
    their subject, two for others, one more where a fact is for one endpoint only.

    The caller holds each subject's row lock (or has just made it), so that its sequence has no gaps and no doubles.
    Where somebody listens, the relay is woken after the commit. Raises NoTransaction outside of a tenant transaction.
    """
    if not facts:
        return []
    if not transaction.get_connection().in_atomic_block:
        raise NoTransaction
    tenant_id = current_tenant_id()
    actor = current_actor()[: Message.ACTOR_LENGTH_MAX]
    last = _last_sequences({fact.subject_id for fact in facts if not fact.is_first})
    messages = []
    for fact in facts:
        sequence = last[fact.subject_id] = last.get(fact.subject_id, 0) + 1
        messages.append(
            Message(
                tenant_id=tenant_id,
                type=fact.type,
                subject_type=fact.subject_type,
                subject_id=fact.subject_id,
                sequence=sequence,
                payload=orjson.dumps(fact.data).decode(),
                actor=actor,
                **({"waits_for_relay": False} if fact.only_to else {}),
            )
        )
    Message.objects.bulk_create(messages)
    _hand_over(facts, messages)
    return [message.id for message in messages]


def _hand_over(facts: Sequence[Fact], messages: Sequence[Message]) -> None:
    """What is for one endpoint is its delivery already; the rest is the relay's, where the database says so."""
    alone = [(fact.only_to, message) for fact, message in zip(facts, messages, strict=True) if fact.only_to]
    if alone:
        Delivery.objects.bulk_create(
            Delivery(tenant_id=message.tenant_id, endpoint_id=endpoint_id, message=message)
            for endpoint_id, message in alone
        )
    if any(message.waits_for_relay for message in messages):
        transaction.on_commit(wake_relay)


def last_said(subject_id: UUID, *, count_max: int) -> list[Said]:
    """What was said last of this subject, at most `count_max` facts, the newest last. One statement, by an index."""
    return _said(Message.objects.filter(subject_id=subject_id).order_by("-sequence")[:count_max])


def last_said_of(subject_ids: Collection[UUID], types: Collection[str], *, count_max: int) -> list[Said]:
    """What was said last of any of these subjects, facts of these types alone, the newest last. One statement, by an
    index."""
    said = Message.objects.filter(subject_id__in=subject_ids, type__in=types)
    return _said(said.order_by("-occurred_at", "-id")[:count_max])


def _said(newest: Iterable[Message]) -> list[Said]:
    facts = [Said(row.subject_id, row.type, row.occurred_at, row.actor, orjson.loads(row.payload)) for row in newest]
    return facts[::-1]


def _last_sequences(subject_ids: Collection[UUID]) -> dict[UUID, int]:
    if not subject_ids:
        return {}
    rows = Message.objects.filter(subject_id__in=subject_ids).values_list("subject_id").annotate(Max("sequence"))
    return dict(rows)
