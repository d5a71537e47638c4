"""Events: delete. Only what never sold can go; the rest is closed and stays to be looked up."""

from uuid import UUID

from django.db.models import Count

from holdfast.kernel.errors import Conflict, NotFound
from reservations.locks import lock_event
from reservations.models import Event, EventStatus, Hold, Unit, UnitStatus
from tenants.scope import tenant_transaction


def delete_event(*, tenant_id: UUID, event_id: UUID) -> int:
    """Delete a draft and its units; answers how many units went with it.

    Raises NotFound; Conflict, naming what blocks, for an event with a unit that is held or sold, with a hold, or that
    was published. The event is locked, so it can't be published meanwhile, and a draft grants no holds.
    """
    with tenant_transaction(tenant_id):
        event = lock_event(event_id)
        if event is None:
            raise NotFound
        _refuse_what_is_in_use(event)
        units, _ = Unit.objects.filter(event=event).delete()
        event.delete()
    return units


def _refuse_what_is_in_use(event: Event) -> None:
    claimed = Unit.objects.filter(event=event, status__in=[UnitStatus.SOLD, UnitStatus.HELD])
    counts = dict(claimed.values_list("status").annotate(Count("id")))
    in_use = [f"{counts[status]:,} {status}" for status in (UnitStatus.SOLD, UnitStatus.HELD) if status in counts]
    if holds := Hold.objects.filter(event=event).count():
        in_use.append(f"{holds:,} {'hold' if holds == 1 else 'holds'} on record")
    if in_use:
        raise Conflict(f"{event.name} can't be deleted: {', '.join(in_use)}. Close it instead.")
    if event.status != EventStatus.DRAFT:
        status = EventStatus(event.status).label.lower()
        raise Conflict(f"{event.name} can't be deleted: it is {status}, and only a draft can be. Close it instead.")
