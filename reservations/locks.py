"""The lock order of reservations, and every row lock it takes.

1. names (advisory), as the transaction opens: idempotency keys and customers; see `tenants.scope`
2. events, by id
3. holds, by id
4. units, by id
5. free units of an event, skipping what others have locked: these never wait, so they may come last

An extension takes its customer's name with the hold locked: whoever has a name waits for units, but never for a hold.

Whoever takes two of these takes them in this order; within one, in the order said. FOR NO KEY UPDATE, since no key of a
locked row ever changes, and inserts that point to it need not wait.
"""

from collections.abc import Collection
from uuid import UUID

from django.db.models import Q, QuerySet

from holdfast.kernel.clock import Now
from reservations.models import Event, Hold, HoldStatus, Unit, UnitStatus


def lock_event(event_id: UUID) -> Event | None:
    """The event, locked; None where there is none."""
    return Event.objects.select_for_update(no_key=True).filter(id=event_id).first()


def lock_hold(hold_id: UUID) -> Hold | None:
    """The hold with its event, the hold locked; None where there is none."""
    return _locked(Hold.objects.select_related("event").filter(id=hold_id)).first()


def lock_lapsed_holds(wanted: Q, *, count_max: int | None = None) -> list[Hold]:
    """The active holds among these that are past their end, with their events; the oldest `count_max` of them.

    Those that another transaction has locked are left to it, so this never waits, and their order does not matter.
    """
    # the events come in a query of their own: a join would read and sort a whole backlog to take the oldest of it
    lapsed = Hold.objects.filter(wanted, status=HoldStatus.ACTIVE, expires_at__lte=Now()).prefetch_related("event")
    return list(_locked(lapsed.order_by("expires_at"), skip_locked=True)[:count_max])


def _locked(holds: QuerySet[Hold], *, skip_locked: bool = False) -> QuerySet[Hold]:
    return holds.select_for_update(of=("self",), no_key=True, skip_locked=skip_locked)


def lock_units(wanted: Q) -> list[Unit]:
    """The units, locked by id, as they are once the lock is held. Waits for whoever has them."""
    return list(Unit.objects.filter(wanted).order_by("id").select_for_update(no_key=True))


def lock_free_units(where: Q, *, start: int, count: int, exclude: Collection[UUID]) -> list[Unit]:
    """At most `count` available units that nobody else has locked, in the order of `spread` from `start` on, then from
    the beginning. Never waits."""
    free = Unit.objects.filter(where, status=UnitStatus.AVAILABLE).exclude(id__in=exclude).order_by("spread")
    found = _take(free.filter(spread__gte=start), count)
    if len(found) < count:
        found += _take(free.filter(spread__lt=start), count - len(found))
    return found


def _take(free: QuerySet[Unit], count: int) -> list[Unit]:
    return list(free.select_for_update(skip_locked=True, no_key=True)[:count])
