"""What workers do. Each job only speeds up what would be found without it, so each may run late, twice or never."""

from collections.abc import Sequence
from uuid import UUID

import structlog
from django.db.models import Q

from reservations import expiry
from reservations.invariants.watch import watch
from tenants.actor import acting_as
from tenants.scope import tenant_transaction

logger = structlog.get_logger(__name__)


def expire_holds(tenant_id: str, hold_ids: Sequence[str]) -> int:
    """Expire those of these holds whose time has passed. One that was extended, released or expired is left alone."""
    with tenant_transaction(UUID(tenant_id)):
        return expiry.expire_lapsed_holds(Q(id__in=hold_ids))


def sweep() -> int:
    """Expire every lapsed hold."""
    expired = expiry.sweep()
    if expired:
        logger.info("swept", holds=expired)
    return expired


def watch_invariants() -> None:
    """Check the promises over all rows; pause what broke one."""
    with acting_as("watch over the invariants"):
        watch()
