"""States that no call of the API makes yet, written as the database would have them."""

from uuid import UUID

from django.db import transaction
from django.db.models import Count

from holdfast.kernel.clock import Now
from reservations.models import Hold, HoldStatus, Order, OrderStatus, Ticket, Unit, UnitStatus
from tenants.scope import SETTING, tenant_transaction


def sell(tenant_id: UUID, hold_id: UUID | str) -> None:
    """The hold is paid: converted, its units sold to a confirmed order with its tickets."""
    with tenant_transaction(tenant_id):
        hold = Hold.objects.get(id=hold_id)
        order = Order.objects.create(
            tenant_id=tenant_id,
            hold=hold,
            event_id=hold.event_id,
            status=OrderStatus.CONFIRMED,
            customer=hold.customer,
            customer_key=hold.customer_key,
            total_amount=hold.total_amount,
            confirmed_at=Now(),
        )
        for unit in Unit.objects.filter(hold_id=hold_id):
            Ticket.objects.create(
                tenant_id=tenant_id,
                order=order,
                event_id=hold.event_id,
                unit=unit,
                label=unit.label,
                price_amount=unit.price_amount,
            )
        Unit.objects.filter(hold_id=hold_id).update(status=UnitStatus.SOLD, order=order)
        Hold.objects.filter(id=hold_id).update(status=HoldStatus.CONVERTED, ended_at=Now())


def release(tenant_id: UUID, hold_id: UUID | str) -> None:
    """The hold is given back."""
    with tenant_transaction(tenant_id):
        Hold.objects.filter(id=hold_id).update(status=HoldStatus.RELEASED, ended_at=Now())
        Unit.objects.filter(hold_id=hold_id).update(status=UnitStatus.AVAILABLE, hold=None)


def rows_of(tenant_id: UUID) -> dict[str, object]:
    """How many holds there are and how many units have each status: equal before and after means that nothing was
    held."""
    with tenant_transaction(tenant_id):
        units = Unit.objects.values_list("status").annotate(Count("id")).order_by("status")
        return {"holds": Hold.objects.count(), "units": dict(units)}


class OthersLock:
    """`with OthersLock(tenant_id, unit_id):` somebody else has the unit's row meanwhile, on a connection of its own."""

    def __init__(self, tenant_id: UUID, unit_id: UUID) -> None:
        self.tenant_id, self.unit_id = tenant_id, unit_id
        self.block = transaction.atomic(using="owner")

    def __enter__(self) -> None:
        self.block.__enter__()
        with transaction.get_connection("owner").cursor() as cursor:
            cursor.execute("SELECT set_config(%s, %s, true)", [SETTING, str(self.tenant_id)])
            cursor.execute("SELECT 1 FROM reservations_unit WHERE id = %s FOR UPDATE", [self.unit_id])
            assert cursor.fetchone(), "the row to be locked is not seen"

    def __exit__(self, *error: object) -> None:
        self.block.__exit__(*error)
