"""Orders: cancel. Paying and refunding work in several steps; see `reservations.checkout`."""

from typing import Any
from uuid import UUID

from django.db.models import Q

from holdfast.kernel.clock import Now
from holdfast.kernel.errors import NotFound
from reservations.errors import InvalidTransition
from reservations.expiry import expire_lapsed_holds
from reservations.locks import lock_order
from reservations.messages import order_fact
from reservations.models import Order, OrderStatus, Payment
from reservations.models.payment import PAYING
from reservations.operations.holds import release_locked_hold
from reservations.queries.orders import get_order
from tenants.scope import tenant_transaction
from webhooks.outbox import publish


def cancel_order(*, tenant_id: UUID, order_id: UUID) -> Any:
    """Cancel a pending order that no charge is under way for, and release its hold.

    Answers the order as `get_order` reads it. Raises NotFound, InvalidTransition.
    """
    with tenant_transaction(tenant_id):
        cancelled = _cancel(order_id)
    # once the end of its hold is committed
    if cancelled is None:
        raise InvalidTransition("The hold has ended, and the order with it.")
    return cancelled


def _cancel(order_id: UUID) -> Any:
    """The cancelled order; None where its hold has ended, and so the order, too."""
    order = lock_order(order_id)
    if order is None:
        raise NotFound
    if order.status != OrderStatus.PENDING:
        raise InvalidTransition(f"The order is {order.status}.")
    if Payment.objects.filter(order=order, status__in=PAYING).exists():
        raise InvalidTransition("A payment is under way or under review.")
    if release_locked_hold(order.hold_id, "order cancelled") is None:
        expire_lapsed_holds(Q(id=order.hold_id))
        return None
    Order.objects.filter(id=order_id, status=OrderStatus.PENDING).update(status=OrderStatus.CANCELLED, ended_at=Now())
    cancelled = get_order(order_id)
    publish([order_fact("order.cancelled", cancelled)])
    return cancelled
