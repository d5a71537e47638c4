"""Expiry: ending the holds whose time has passed."""

from collections.abc import Collection
from uuid import UUID

from django.db.models import Q

from holdfast.kernel.clock import Now
from reservations.locks import lock_lapsed_holds, lock_units
from reservations.models import Hold, HoldStatus, Unit, UnitStatus


def expire_lapsed_holds(in_the_way: Q, event_ids: Collection[UUID]) -> int:
    """Expire the lapsed holds of these events that stand in the way, and free their units; answers how many.

    Part of a larger transaction: call it before that locks any unit, since holds come before units in the lock order.
    A hold that another transaction has locked is left to it.
    """
    lapsed = [hold.id for hold in lock_lapsed_holds(in_the_way, event_ids)]
    if not lapsed:
        return 0
    units = [unit.id for unit in lock_units(Q(hold_id__in=lapsed))]
    Hold.objects.filter(id__in=lapsed, status=HoldStatus.ACTIVE).update(status=HoldStatus.EXPIRED, ended_at=Now())
    Unit.objects.filter(id__in=units, hold_id__in=lapsed).update(status=UnitStatus.AVAILABLE, hold=None)
    return len(lapsed)
