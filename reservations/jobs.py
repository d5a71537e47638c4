"""What workers do. Each job only speeds up what would be found without it, so each may run late, twice or never."""

from collections.abc import Sequence
from uuid import UUID

import structlog
from django.db.models import Q

from reservations import expiry
from reservations.checkout import reconcile, recovery
from reservations.invariants.watch import watch
from tenants.actor import acting_as
from tenants.idempotency import reap_answers
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


def work_payments() -> int:
    """Carry on with payments, refunds and callbacks that are due."""
    with acting_as("payments"):
        return recovery.work_due()


def reconcile_payments() -> int:
    """Compare the last days with every provider; answers how many differences are open."""
    return reconcile.reconcile_all()


def reap_idempotency_keys() -> int:
    """Forget answers that nobody may ask for any more."""
    return reap_answers()
