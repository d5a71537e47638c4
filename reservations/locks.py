"""The lock order of reservations, and every row lock it takes.

1. names (advisory), as the transaction opens: idempotency keys and customers; see `tenants.scope`
2. events, by id
3. holds, by id; the lock of a hold is also that of its order, payments and refunds
4. units, by id
5. tickets, by id
6. free units of an event, skipping what others have locked: these never wait, so they may come last

Whoever keeps a hold alive takes its customer's name with the hold locked: one who has a name waits for units, but never
for a hold.

Whoever takes two of these takes them in this order; within one, in the order said. FOR NO KEY UPDATE, since no key of a
locked row ever changes, and inserts that point to it need not wait.
"""

from collections.abc import Collection
from uuid import UUID

from django.db.models import Q, QuerySet

from holdfast.kernel.clock import Now
from reservations.customers import allowance_lock_name
from reservations.models import Event, Hold, HoldStatus, Order, Payment, Refund, Ticket, Unit, UnitStatus
from tenants.scope import hold_name


def lock_event(event_id: UUID) -> Event | None:
    """The event, locked; None where there is none."""
    return Event.objects.select_for_update(no_key=True).filter(id=event_id).first()


def lock_hold(hold_id: UUID) -> Hold | None:
    """The hold with its event, the hold locked; None where there is none."""
    return _locked(Hold.objects.select_related("event").filter(id=hold_id)).first()


def lock_allowance(event: Event, customer_key: bytes) -> None:
    """The customer's name, where the event limits customers, of a hold that is locked and shall go on living: whoever
    counts what the customer has may have found that it has lapsed, and comes first."""
    if event.units_per_customer_max is not None:
        hold_name(allowance_lock_name(event.id, customer_key))


def lock_order(order_id: UUID) -> Order | None:
    """The order with its hold and event, its hold locked; None where there is none."""
    if not _lock_hold_of(order=order_id):
        return None
    return Order.objects.select_related("hold", "event").get(id=order_id)


def lock_payment(payment_id: UUID) -> Payment | None:
    """The payment with its account, order, hold and event, the hold locked; None where there is none."""
    if not _lock_hold_of(order__payments=payment_id):
        return None
    return Payment.objects.select_related("account", "order__hold", "order__event").get(id=payment_id)


def lock_refund(refund_id: UUID) -> Refund | None:
    """The refund with its payment, account, order, hold and event, the hold locked; None where there is none."""
    if not _lock_hold_of(order__refunds=refund_id):
        return None
    return Refund.objects.select_related("payment__account", "order__hold", "order__event").get(id=refund_id)


def _lock_hold_of(**wanted: UUID) -> bool:
    """Lock the hold to which this belongs; False where there is none. What belongs to a hold does so for ever."""
    return _locked(Hold.objects.filter(**wanted).only("id")).first() is not None


def lock_tickets(wanted: Q) -> list[Ticket]:
    """The tickets, locked by id, as they are once the lock is held. Waits for whoever has them."""
    return list(Ticket.objects.filter(wanted).order_by("id").select_for_update(no_key=True))


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
