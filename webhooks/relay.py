"""From the outbox to the endpoints: each message becomes a delivery for every enabled endpoint that wants its type.

Messages commit in another order than they were written, so the relay follows no cursor: it takes those that wait,
skipping what another relay has locked. Their deliveries are made in the transaction that says they wait no more, so
nothing is lost or made twice, whoever dies when.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

import structlog

from tenants.scope import tenant_transaction
from webhooks.fan_out import make_deliveries
from webhooks.locks import lock_messages_to_relay
from webhooks.message_types import types_of
from webhooks.models import Endpoint, EndpointStatus, Message
from webhooks.wake import wake_relay

logger = structlog.get_logger(__name__)
BATCH_MAX = 200
# no new batch begins after this: another job goes on, behind those that wait
WORK_SECONDS_MAX = 5.0


@dataclass(frozen=True, slots=True)
class Told:
    """An endpoint that has new deliveries."""

    tenant_id: UUID
    endpoint_id: UUID
    is_slow: bool


def relay_all() -> Iterator[Told]:
    """Relay what waits, of all tenants in turn, a batch at a time; says after each who has something to be told. A
    tenant for whom it fails is left out, and keeps no other from it."""
    deadline = time.monotonic() + WORK_SECONDS_MAX
    failed: set[UUID] = set()
    while waiting := _tenants_with_messages():
        relayed = 0
        for tenant_id in (each for each in waiting if each not in failed):
            try:
                count, told = relay(tenant_id)
            except Exception:
                logger.exception("relay_failed", tenant=str(tenant_id))
                failed.add(tenant_id)
                continue
            relayed += count
            yield from told
        if not relayed:  # what is left fails, or is locked by another relay
            return
        if time.monotonic() > deadline:
            wake_relay()
            return


def relay(tenant_id: UUID) -> tuple[int, list[Told]]:
    """Relay a batch of this tenant: how many messages, and to whom. One transaction of few statements."""
    with tenant_transaction(tenant_id):
        messages = lock_messages_to_relay(BATCH_MAX)
        if not messages:
            return 0, []
        told = []
        deliveries: list[tuple[UUID, UUID]] = []
        for endpoint in Endpoint.objects.filter(status=EndpointStatus.ENABLED):
            wanted = {name for pattern in endpoint.events for name in types_of(pattern)}
            mine = [(endpoint.id, message_id) for message_id, message_type in messages if message_type in wanted]
            deliveries += mine
            if mine:
                told.append(Told(tenant_id, endpoint.id, endpoint.is_slow))
        if deliveries:
            make_deliveries(tenant_id, deliveries)
        Message.objects.filter(id__in=[message_id for message_id, _ in messages]).update(waits_for_relay=False)
    return len(messages), told


def _tenants_with_messages() -> list[UUID]:
    waiting = Message.everywhere.filter(waits_for_relay=True)
    return list(waiting.order_by("tenant_id").values_list("tenant_id", flat=True).distinct())
