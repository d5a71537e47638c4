"""What workers do. Each job only speeds up what the sweep finds without it, so each may run late, twice or never.

Jobs claim and hand over to `webhooks.couriers`; none of them waits for a receiver.
"""

from uuid import UUID

import structlog

from holdfast.kernel.jobs import woken
from webhooks import retention
from webhooks.couriers import couriers
from webhooks.relay import relay_all
from webhooks.replay import work_replays
from webhooks.wake import DELIVER, RELAY, REPLAY, wake_deliverers

logger = structlog.get_logger(__name__)


def relay() -> None:
    """Make deliveries of the messages that wait, and begin to send them. An endpoint for which that fails is left to
    the sweep, and keeps no other from it."""
    woken(RELAY)
    failed: set[UUID] = set()
    for told in relay_all():
        if told.is_slow:
            wake_deliverers(told.tenant_id, told.endpoint_id, is_slow=True)
        elif told.endpoint_id not in failed:
            try:
                couriers(is_slow=False).take_up(told.tenant_id, told.endpoint_id)
            except Exception:
                logger.exception("claim_failed", tenant=str(told.tenant_id), endpoint=str(told.endpoint_id))
                failed.add(told.endpoint_id)


def deliver(tenant_id: str, endpoint_id: str, is_slow: bool) -> None:  # noqa: FBT001 - an argument of a job
    """Begin to send what is due to this endpoint."""
    woken(DELIVER, tenant_id, endpoint_id, is_slow)
    couriers(is_slow=is_slow).take_up(UUID(tenant_id), UUID(endpoint_id))


def replay() -> None:
    """Carry on with replays."""
    woken(REPLAY)
    try:
        work_replays()
    finally:
        couriers(is_slow=False).take_up_all()


def sweep() -> None:
    """Find what lost jobs left: messages to relay, replays to carry on with, deliveries that are due."""
    try:
        relay()
    finally:
        replay()


def sweep_slow() -> None:
    """Deliveries that are due to slow endpoints."""
    couriers(is_slow=True).take_up_all()


def prune() -> int:
    """Forget deliveries that ended long ago; answers how many."""
    return retention.prune()
