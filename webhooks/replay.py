"""Carrying on with replays: a hundred messages, a pause, the next hundred.

The cursor moves in the transaction that hands the messages over, so a crash repeats nothing and skips nothing. The
messages of a replay were there when it began; those that committed later are told by the relay, since nobody begins to
listen while they are being written.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

import structlog
from django.db import DatabaseError
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from holdfast.kernel.clock import Now
from tenants.scope import tenant_transaction
from webhooks.fan_out import make_deliveries
from webhooks.locks import lock_due_replay, lock_endpoint
from webhooks.models import (
    Delivery,
    DeliveryStatus,
    EndpointStatus,
    Message,
    Replay,
    ReplayedStatus,
    ReplayState,
)

logger = structlog.get_logger(__name__)
BATCH_MAX = 100
PAUSE_SECONDS = 2
# what happens now must not wait behind the whole past: no more of a replay is on its way at once
PENDING_MAX = 200
DUE_MAX = 100
# what is left after this is for the next round, so that deliveries come to their turn
WORK_SECONDS_MAX = 5.0
# one that failed is tried again after so long
PUT_OFF_SECONDS = 60


def work_replays() -> list[tuple[UUID, UUID]]:
    """Carry on with replays that are due; tenant and id of the endpoints that have something due by it. One that fails
    is put off, and keeps no other from it."""
    deadline = time.monotonic() + WORK_SECONDS_MAX
    found = []
    for tenant_id, replay_id in _due():
        try:
            endpoint_id = carry_on(tenant_id, replay_id)
        except Exception:
            logger.exception("replay_failed", tenant=str(tenant_id), replay=str(replay_id))
            _put_off(tenant_id, replay_id)
        else:
            found += [(tenant_id, endpoint_id)] if endpoint_id else []
        if time.monotonic() > deadline:
            break
    return found


def _due() -> list[tuple[UUID, UUID]]:
    """Tenant and id of those whose turn it is: one of each endpoint, the oldest, and tenants by turns. One that was put
    off lets those behind it go first."""
    before = Replay.everywhere.filter(
        endpoint_id=OuterRef("endpoint_id"),
        id__lt=OuterRef("id"),
        look_at__lte=Now() + timedelta(seconds=PAUSE_SECONDS),
    )
    turn = Window(RowNumber(), partition_by="tenant_id", order_by="look_at")
    due = Replay.everywhere.filter(~Exists(before), look_at__lte=Now()).annotate(turn=turn)
    return list(due.order_by("turn", "look_at").values_list("tenant_id", "id")[:DUE_MAX])


def _put_off(tenant_id: UUID, replay_id: UUID) -> None:
    with suppress(DatabaseError), tenant_transaction(tenant_id):  # where this fails, too, it stays due
        running = Replay.objects.filter(id=replay_id, look_at__isnull=False)
        running.update(look_at=Now() + timedelta(seconds=PUT_OFF_SECONDS))


def carry_on(tenant_id: UUID, replay_id: UUID) -> UUID | None:
    """Hand over the next messages of a replay that is due; its endpoint if there were any. One transaction."""
    with tenant_transaction(tenant_id):
        replay = lock_due_replay(replay_id)
        if replay is None:
            return None
        endpoint = lock_endpoint(replay.endpoint_id)
        if endpoint is None or endpoint.status == EndpointStatus.DISABLED:
            _end(replay, ReplayState.STOPPED)
            return None
        if Delivery.objects.filter(replay=replay, status=DeliveryStatus.PENDING)[:PENDING_MAX].count() >= PENDING_MAX:
            _pause(replay)
            return None
        messages = list(_next(replay))
        _hand_over(replay, [message.id for message in messages])
        replay.queued += len(messages)
        if len(messages) < BATCH_MAX:
            _end(replay, ReplayState.DONE)
        else:
            replay.cursor_at, replay.cursor_id = messages[-1].occurred_at, messages[-1].id
            _pause(replay)
        return endpoint.id if messages else None


def matching(replay: Replay) -> "QuerySet[Message]":
    """The messages that it is about."""
    found = Message.objects.filter(
        type__in=replay.types, occurred_at__gte=replay.since, occurred_at__lt=replay.until
    ).exclude(type="ping")
    if replay.status == ReplayedStatus.DEAD:
        dead = Delivery.objects.filter(endpoint_id=replay.endpoint_id, status=DeliveryStatus.DEAD)
        found = found.filter(id__in=dead.values("message_id"))
    return found


def tell_again(deliveries: "QuerySet[Delivery]", replay: Replay | None = None) -> int:
    """Those of these that have ended are pending again, and due; how many. Their endpoint is locked."""
    fields = {} if replay is None else {"replay": replay}
    return deliveries.exclude(status=DeliveryStatus.PENDING).update(
        status=DeliveryStatus.PENDING,
        look_at=Now(),
        settled_at=None,
        attempts_before=F("attempts_made"),
        **fields,
    )


def _next(replay: Replay) -> "QuerySet[Message]":
    rest = matching(replay).order_by("occurred_at", "id").only("id", "occurred_at")
    if replay.cursor_at is not None:
        # the first is implied, and where the index is entered
        rest = rest.filter(
            Q(occurred_at__gt=replay.cursor_at) | Q(id__gt=replay.cursor_id), occurred_at__gte=replay.cursor_at
        )
    return rest[:BATCH_MAX]


def _hand_over(replay: Replay, message_ids: Sequence[UUID]) -> None:
    """What has ended is told again; what is on its way stays so; what was never told is told now."""
    tell_again(Delivery.objects.filter(endpoint_id=replay.endpoint_id, message_id__in=message_ids), replay)
    if message_ids:
        make_deliveries(replay.tenant_id, [(replay.endpoint_id, message_id) for message_id in message_ids], replay)


def _pause(replay: Replay) -> None:
    replay.look_at = Now() + timedelta(seconds=PAUSE_SECONDS)
    replay.save(update_fields=["look_at", "queued", "cursor_at", "cursor_id"])


def _end(replay: Replay, state: ReplayState) -> None:
    replay.state, replay.look_at, replay.ended_at = state, None, Now()
    replay.save(update_fields=["state", "look_at", "ended_at", "queued"])
