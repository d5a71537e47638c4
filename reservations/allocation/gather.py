"""What a batch needs to know before it decides: rules, earlier answers, and rows, locked in the lock order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import F, Q, Sum

from holdfast.kernel.clock import Now
from holdfast.kernel.errors import Refusal
from reservations.allocation.decide import Table
from reservations.allocation.requests import Allowance, Demand, HoldRequest, Outcome, Refused, Replayed
from reservations.expiry import expire_lapsed_holds
from reservations.locks import lock_free_units, lock_units
from reservations.models import Event, Hold, HoldStatus, Unit
from reservations.queries.holds import LAPSED
from reservations.spread import random_start
from tenants.idempotency import Claim, StoredAnswer, stored_answers


@dataclass(slots=True)
class Batch:
    """The requests of one try, what is known of their events, and what has been decided so far."""

    tenant_id: UUID
    requests: Sequence[HoldRequest]
    rules: Mapping[UUID, Any]
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    # index of a request that repeats the idempotency key of an earlier one of this batch → that one's index
    repeats: dict[int, int] = field(default_factory=dict)
    grants: dict[int, tuple[Hold, list[Unit]]] = field(default_factory=dict)
    short: dict[int, Demand] = field(default_factory=dict)

    def open(self) -> list[tuple[int, HoldRequest]]:
        """Requests that are still to be decided, in the order of arrival."""
        return [
            (index, request)
            for index, request in enumerate(self.requests)
            if index not in self.outcomes and index not in self.repeats
        ]


def gather(tenant_id: UUID, requests: Sequence[HoldRequest]) -> Batch:
    """A batch with the rules of its events and the answers its requests had before; their names are locked."""
    events = Event.objects.filter(id__in={request.event_id for request in requests}).annotate(now=Now())
    batch = Batch(tenant_id, requests, {event.id: event for event in events})
    _replay(batch)
    return batch


def _limited(batch: Batch, request: HoldRequest) -> bool:
    rules = batch.rules.get(request.event_id)
    return rules is not None and rules.units_per_customer_max is not None


def _replay(batch: Batch) -> None:
    """Answer what was answered before; note which requests repeat another one of this batch."""
    stored = stored_answers(request.claim for request in batch.requests if request.claim)
    first: dict[tuple[UUID, str], int] = {}
    for index, request in enumerate(batch.requests):
        if request.claim is None:
            continue
        if request.claim.name in stored:
            batch.outcomes[index] = _replayed(stored[request.claim.name], request.claim)
        elif request.claim.name in first:
            batch.repeats[index] = first[request.claim.name]
        else:
            first[request.claim.name] = index


def _replayed(answer: StoredAnswer, claim: Claim) -> Outcome:
    try:
        return Replayed(answer.replay_for(claim))
    except Refusal as refusal:
        return Refused(refusal)


def lock_table(batch: Batch) -> Table[Any, Demand]:
    """Lock what the open requests may get, in the lock order, and lay it out."""
    requests = [request for _, request in batch.open()]
    named = Q()
    demand: dict[Demand, int] = {}
    for request in requests:
        if request.unit_ids:
            named |= Q(id__in=request.unit_ids)
        elif request.labels:
            named |= Q(event_id=request.event_id, label__in=request.labels)
        else:
            demand[request.demand] = demand.get(request.demand, 0) + request.quantity
    table: Table[Any, Demand] = Table(in_use=_in_use(batch, requests))
    if requests:
        expire_lapsed_holds(_in_the_way(named, demand) & Q(event_id__in={request.event_id for request in requests}))
    if named:
        table.lay_named(lock_units(named))
    locked = set(table.by_id)
    for wanted, count in demand.items():
        table.free[wanted] = lock_free_units(wanted.where, start=random_start(), count=count, exclude=locked)
        locked.update(unit.id for unit in table.free[wanted])
    return table


def _in_the_way(named: Q, demand: Mapping[Demand, int]) -> Q:
    """Which lapsed holds a batch must end first: those that have a named unit; for any-N, as many as are asked."""
    found = Q(id__in=Unit.objects.filter(named).values("hold_id")) if named else Q()
    for wanted, count in demand.items():
        lapsed = Hold.objects.filter(LAPSED, event_id=wanted.event_id)
        if wanted.section is not None:
            there = Unit.objects.filter(wanted.where, hold__isnull=False)
            lapsed = lapsed.filter(id__in=there.values("hold_id"))
        found |= Q(id__in=lapsed.order_by("expires_at").values("id")[:count])
    return found


def _in_use(batch: Batch, requests: Sequence[HoldRequest]) -> dict[object, int]:
    """What each customer of a limited event has in active holds and purchases; their names are locked."""
    allowances = {request.allowance for request in requests if _limited(batch, request)}
    if not allowances:
        return {}
    counted = Q(status=HoldStatus.CONVERTED) | Q(status=HoldStatus.ACTIVE, expires_at__gt=Now())
    rows = (
        Hold.objects.filter(
            counted,
            event_id__in={allowance.event_id for allowance in allowances},
            customer_key__in={allowance.customer_key for allowance in allowances},
        )
        .values_list("event_id", "customer_key")
        .annotate(in_use=Sum(F("quantity") - F("returned")))
    )
    return {Allowance(event_id, bytes(key)): total for event_id, key, total in rows}
