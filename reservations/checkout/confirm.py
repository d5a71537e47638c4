"""The guarded confirm: a hold becomes an order with its units and tickets, or nothing changes. Part of a transaction
that has the hold locked."""

from typing import Any

from django.db.models import F, Q, Sum

from holdfast.kernel.clock import Now
from reservations.expiry import expire_lapsed_holds
from reservations.locks import lock_allowance, lock_units
from reservations.messages import hold_fact, order_fact, ticket_fact
from reservations.models import Hold, HoldStatus, Order, OrderStatus, Ticket, Unit, UnitStatus
from reservations.operations.holds import IN_TIME
from reservations.queries.holds import get_hold
from reservations.queries.orders import get_order
from webhooks.outbox import publish


class UnitsMissing(RuntimeError):
    """A hold did not have all of its units: a promise was broken before. Roll back."""


def confirm(order: Order) -> Any:
    """Confirm a pending order and issue its tickets; answers it as `get_order` reads it. None, and nothing changed,
    where the hold has ended and the same units can't be had again. Raises UnitsMissing."""
    keeper = _convert(order) or _retake(order)
    if keeper is None:
        return None
    units = lock_units(Q(hold_id=keeper))
    sold = Unit.objects.filter(id__in=[unit.id for unit in units], status=UnitStatus.HELD).update(
        status=UnitStatus.SOLD, order=order
    )
    if sold != order.hold.quantity:
        raise UnitsMissing(f"{sold} of {order.hold.quantity} units of hold {keeper} are held")
    Order.objects.filter(id=order.id, status=OrderStatus.PENDING).update(
        status=OrderStatus.CONFIRMED,
        confirmed_at=Now(),
        retaken_hold=None if keeper == order.hold_id else keeper,
    )
    tickets = Ticket.objects.bulk_create(_ticket(order, unit) for unit in units)
    hold, confirmed = get_hold(keeper), get_order(order.id)
    publish(
        [
            hold_fact("hold.converted", hold, hold.now, order.id, is_first=keeper != order.hold_id),
            order_fact("order.confirmed", confirmed),
            *(ticket_fact("ticket.issued", ticket, is_first=True) for ticket in tickets),
        ]
    )
    return confirmed


def _convert(order: Order) -> Any:
    """The hold, converted; None where its time has passed."""
    lock_allowance(order.event, bytes(order.customer_key))
    converted = Hold.objects.filter(IN_TIME, id=order.hold_id).update(status=HoldStatus.CONVERTED, ended_at=Now())
    return order.hold_id if converted else None


def _retake(order: Order) -> Any:
    """The money came after the hold's end: a new hold of the same units at the same prices, converted at once; None
    where they are not all free, or the customer has used the allowance otherwise meanwhile."""
    hold = order.hold
    wanted = [item["unit"] for item in hold.items]
    in_the_way = Unit.objects.filter(id__in=wanted).values("hold_id")
    if _over_allowance(order):
        return None
    expire_lapsed_holds(Q(id=hold.id) | Q(id__in=in_the_way))
    units = lock_units(Q(id__in=wanted))
    if len(units) != hold.quantity or any(unit.status != UnitStatus.AVAILABLE for unit in units):
        return None
    again = Hold.objects.create(
        tenant_id=hold.tenant_id,
        event_id=hold.event_id,
        status=HoldStatus.CONVERTED,
        customer=hold.customer,
        customer_key=hold.customer_key,
        quantity=hold.quantity,
        items=hold.items,
        total_amount=hold.total_amount,
        metadata=hold.metadata,
        ended_at=Now(),
    )
    Unit.objects.filter(id__in=wanted, status=UnitStatus.AVAILABLE).update(status=UnitStatus.HELD, hold=again)
    return again.id


def _over_allowance(order: Order) -> bool:
    limit = order.event.units_per_customer_max
    if limit is None:
        return False
    counted = Q(status=HoldStatus.CONVERTED) | IN_TIME
    mine = Hold.objects.filter(counted, event_id=order.event_id, customer_key=order.customer_key)
    in_use = mine.aggregate(total=Sum(F("quantity") - F("returned")))["total"] or 0
    return bool(in_use + order.hold.quantity > limit)


def _ticket(order: Order, unit: Unit) -> Ticket:
    """Of the price that was promised, whatever the unit's is now."""
    promised = next(item for item in order.hold.items if item["unit"] == str(unit.id))
    return Ticket(
        tenant_id=order.tenant_id,
        order=order,
        event_id=order.event_id,
        unit=unit,
        label=promised["label"],
        section=unit.section,
        price_amount=promised["price"]["amount"],
    )
