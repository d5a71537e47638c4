"""Expiry: ending the holds whose time has passed."""

from collections.abc import Collection, Sequence
from itertools import groupby
from operator import attrgetter
from uuid import UUID

import structlog
from django.db import DatabaseError
from django.db.models import Q

from holdfast.kernel.clock import Now, database_now
from holdfast.kernel.db.errors import CONTENTION, sqlstate
from holdfast.kernel.errors import Contention
from holdfast.kernel.jobs import wake_at
from reservations.locks import lock_lapsed_holds, lock_units
from reservations.messages import hold_fact
from reservations.models import Hold, HoldStatus, Unit, UnitStatus
from reservations.queries.holds import LAPSED
from reservations.unpaid import fail_unpaid_orders
from tenants.actor import acting_as
from tenants.scope import tenant_transaction
from webhooks.outbox import publish

logger = structlog.get_logger(__name__)
BATCH_HOLDS_MAX = 500


def expire_lapsed_holds(wanted: Q, *, count_max: int | None = None) -> int:
    """Expire the lapsed holds among these, free their units and say so; answers how many.

    Part of a larger transaction: call it before that locks any unit, since holds come before units in the lock order.
    A hold that another transaction has locked is left to it.
    """
    lapsed = lock_lapsed_holds(wanted, count_max=count_max)
    if not lapsed:
        return 0
    ids = [hold.id for hold in lapsed]
    free_units(ids)
    Hold.objects.filter(id__in=ids, status=HoldStatus.ACTIVE).update(status=HoldStatus.EXPIRED, ended_at=Now())
    now = database_now()
    for hold in lapsed:
        hold.status = HoldStatus.EXPIRED
    with acting_as("expiry"):  # it was time, and not the buyer whose call came upon it
        orders = fail_unpaid_orders(ids)
        publish([hold_fact("hold.expired", hold, now, orders.get(hold.id)) for hold in lapsed])
    return len(lapsed)


def free_units(hold_ids: Sequence[UUID]) -> None:
    """Give back what these holds have; the holds are locked."""
    units = [unit.id for unit in lock_units(Q(hold_id__in=hold_ids))]
    Unit.objects.filter(id__in=units, hold_id__in=hold_ids).update(status=UnitStatus.AVAILABLE, hold=None)


def refuse_ending(units: Collection[Unit]) -> None:
    """Raises Contention for locked units whose hold has lapsed: another transaction is ending it at this moment."""
    holds = {unit.hold_id for unit in units if unit.status == UnitStatus.HELD and unit.hold_id}
    if holds and Hold.objects.filter(LAPSED, id__in=holds).exists():
        raise Contention


def wake_at_the_end(holds: Sequence[Hold]) -> None:
    """Have these holds expired at their end, once they are committed: those that end together by one job."""
    for end, group in groupby(sorted(holds, key=attrgetter("expires_at")), key=attrgetter("expires_at")):
        ending = list(group)
        ids = [str(hold.id) for hold in ending]
        wake_at(end, "holds", "reservations.jobs.expire_holds", str(ending[0].tenant_id), ids)


def sweep() -> int:
    """Expire every lapsed hold of every tenant, in transactions of at most BATCH_HOLDS_MAX holds; answers how many.

    What another process expires meanwhile is left to it: two sweeps share the work.
    """
    expired = 0
    for tenant_id in _tenants_with_lapsed_holds():
        try:
            while count := sweep_tenant(tenant_id):
                expired += count
        except DatabaseError as error:
            if sqlstate(error) not in CONTENTION:
                raise
            # somebody keeps one of its units: the next sweep comes soon, and others must not wait for it
            logger.warning("tenant_not_swept", tenant=str(tenant_id))
    return expired


def sweep_tenant(tenant_id: UUID) -> int:
    """Expire the oldest lapsed holds of the tenant, at most BATCH_HOLDS_MAX; answers how many."""
    with tenant_transaction(tenant_id):
        return expire_lapsed_holds(Q(), count_max=BATCH_HOLDS_MAX)


def _tenants_with_lapsed_holds() -> list[UUID]:
    lapsed = Hold.everywhere.filter(status=HoldStatus.ACTIVE, expires_at__lte=Now())
    return list(lapsed.order_by("tenant_id").values_list("tenant_id", flat=True).distinct())
