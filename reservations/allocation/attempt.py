"""One try of the allocator, inside its transaction: gather, decide, write; each statement serves the whole batch."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Case, UUIDField, Value, When

from holdfast.kernel.clock import Now
from holdfast.kernel.errors import Contention, IdempotencyKeyReused, Invalid, Refusal
from reservations.allocation.decide import Table, refuse_by_rules
from reservations.allocation.gather import Batch, gather, lock_table
from reservations.allocation.requests import Contended, Demand, Granted, HoldRequest, Outcome, Refused, Replayed
from reservations.errors import SoldOut, UnitsUnavailable
from reservations.expiry import refuse_ending, wake_at_the_end
from reservations.messages import hold_fact
from reservations.models import Hold, Unit, UnitStatus
from reservations.queries.holds import LAPSED, hold_json, item_json
from tenants.idempotency import Claim, KeptAnswer, store_answers
from webhooks.outbox import publish


class GuardFailed(RuntimeError):
    """Fewer rows were flipped than decided: the locks were no proof. Roll back."""


def attempt(tenant_id: UUID, requests: Sequence[HoldRequest]) -> list[Outcome]:
    """Decide and write; the caller commits. Raises GuardFailed, DatabaseError."""
    batch = gather(tenant_id, requests)
    _refuse_by_rules(batch)
    _decide(batch, lock_table(batch))
    _write(batch)
    _settle_short(batch)
    _store(batch)
    return [_outcome(batch, index) for index in range(len(requests))]


def _refuse_by_rules(batch: Batch) -> None:
    for index, request in batch.open():
        try:
            refuse_by_rules(request, batch.rules.get(request.event_id))
        except Refusal as refusal:
            batch.outcomes[index] = Refused(refusal)


def _decide(batch: Batch, table: Table[Any, Demand]) -> None:
    for index, request in batch.open():
        limit = batch.rules[request.event_id].units_per_customer_max
        try:
            table.refuse_over_allowance(request.allowance, limit, request.size)
            units = table.take_any(request.demand, request.quantity) if request.takes_any else table.take_named(request)
        except UnitsUnavailable as refusal:
            batch.outcomes[index] = _unavailable(refusal, table)
        except Refusal as refusal:
            batch.outcomes[index] = Refused(refusal)
        else:
            if units is None:
                batch.short[index] = request.demand
                batch.outcomes[index] = Contended()
                continue
            table.use_allowance(request.allowance, request.size)
            batch.grants[index] = _new_hold(batch, request, units), units


def _unavailable(refusal: UnitsUnavailable, table: Table[Any, Demand]) -> Outcome:
    """A unit whose hold has lapsed reads held here only while another transaction is ending that hold: try again."""
    try:
        refuse_ending([table.by_id[unit.unit] for unit in refusal.units])
    except Contention:
        return Contended()
    return Refused(refusal)


def _new_hold(batch: Batch, request: HoldRequest, units: Sequence[Unit]) -> Hold:
    event = batch.rules[request.event_id]
    ttl_seconds = request.ttl_seconds or event.hold_ttl_seconds
    return Hold(
        tenant_id=batch.tenant_id,
        event=event,
        customer=request.customer,
        customer_key=request.allowance.customer_key,
        quantity=len(units),
        items=[item_json(unit, event) for unit in units],
        total_amount=sum(unit.price_amount for unit in units),
        metadata=dict(request.metadata),
        created_at=Now(),
        expires_at=Now() + timedelta(seconds=ttl_seconds),
    )


def _write(batch: Batch) -> None:
    """Insert the holds, then flip their units under the guard. Raises GuardFailed."""
    if not batch.grants:
        return
    grants = list(batch.grants.values())
    Hold.objects.bulk_create(hold for hold, _ in grants)
    ids = [unit.id for _, units in grants for unit in units]
    owner = Case(
        *(When(id__in=[unit.id for unit in units], then=Value(hold.id)) for hold, units in grants),
        output_field=UUIDField(),
    )
    flipped = _flip(ids, owner)
    if flipped != len(ids):
        raise GuardFailed(f"{flipped} of {len(ids)} units were available")
    publish([hold_fact("hold.created", hold, hold.created_at, is_first=True) for hold, _ in grants])
    wake_at_the_end([hold for hold, _ in grants])


def _flip(ids: Collection[UUID], owner: Case) -> int:
    """The guard: only available units become held. Answers how many did."""
    return Unit.objects.filter(id__in=ids, status=UnitStatus.AVAILABLE).update(status=UnitStatus.HELD, hold=owner)


def _settle_short(batch: Batch) -> None:
    """Any-N that got too few: sold out where a plain count agrees, undecided where it says that more may be free."""
    for index, demand in batch.short.items():
        quantity = batch.requests[index].quantity
        units = Unit.objects.filter(demand.where)
        lapsed = Hold.objects.filter(LAPSED, event_id=demand.event_id)
        left = units.filter(status=UnitStatus.AVAILABLE).count()
        left += units.filter(status=UnitStatus.HELD, hold_id__in=lapsed.values("id")).count()
        if left >= quantity:
            continue
        refusal: Refusal = SoldOut(left, quantity)
        if demand.section is not None and not units.exists():
            refusal = Invalid.at("/section", "unknown", "The event has no such section.")
        batch.outcomes[index] = Refused(refusal)


def _store(batch: Batch) -> None:
    """Keep the answers that stand, for requests that came with an idempotency key."""
    answers: dict[Claim, tuple[int, dict[str, Any]]] = {}
    for index, (hold, _) in batch.grants.items():
        batch.outcomes[index] = Granted(hold, hold_json(hold, hold.event, hold.created_at))
    for index, request in enumerate(batch.requests):
        outcome = batch.outcomes.get(index)
        if request.claim is None:
            continue
        if isinstance(outcome, Granted):
            answers[request.claim] = 201, outcome.body
        elif isinstance(outcome, Refused) and outcome.refusal.stored:
            answers[request.claim] = outcome.refusal.status, outcome.refusal.document()
    store_answers(answers)


def _outcome(batch: Batch, index: int) -> Outcome:
    """The request's own outcome, or that of the one it repeats."""
    if index not in batch.repeats:
        return batch.outcomes[index]
    first, claim = batch.repeats[index], batch.requests[index].claim
    original = batch.requests[first].claim
    if claim is None or original is None or claim.fingerprint != original.fingerprint:
        return Refused(IdempotencyKeyReused())
    match batch.outcomes[first]:
        case Granted() as granted:
            return Replayed(KeptAnswer(201, granted.body))
        case Refused(refusal) if refusal.stored:
            return Replayed(KeptAnswer(refusal.status, refusal.document()))
    return Contended()
