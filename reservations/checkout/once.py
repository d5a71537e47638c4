"""One mechanism for the calls that work in several steps: their first step claims the idempotency key, with what the
later steps work on; who comes again with the key gets the answer, or the work of one who died at it."""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from holdfast.kernel.errors import IdempotencyInFlight, Refusal
from reservations.checkout.answers import PENDING, Answer
from reservations.checkout.lease import Begun
from reservations.models import Payment, Refund
from tenants.idempotency import Claim, StoredAnswer, begin_answer, end_answer, store_answers, stored_answers
from tenants.scope import NameTaken, tenant_transaction


def claimed_once[Work: (Payment, Refund)](
    *,
    tenant_id: UUID,
    claim: Claim | None,
    first: Callable[[], Answer | Begun[Work]],
    resume: Callable[[UUID], Begun[Work] | None],
    tell_again: Callable[[UUID], Answer],
) -> Answer | Begun[Work]:
    """Run `first` in one transaction with the claim of the key; answer a key that was claimed before.

    `resume` takes over what an unfinished call works on, None while somebody is at it; `tell_again` says what has
    become of what was answered as pending. A refusal that may be kept is kept and answered. Raises other refusals,
    IdempotencyKeyReused, IdempotencyInFlight.
    """
    try:
        with tenant_transaction(tenant_id, names=[claim.lock_name] if claim else []):
            stored = stored_answers([claim]).get(claim.name) if claim else None
            if claim is None or stored is None:
                return _first(claim, first)
            stored.refuse_another(claim)
            return _again(stored, claim, resume, tell_again)
    except NameTaken as error:
        raise IdempotencyInFlight from error


def _first[Work: (Payment, Refund)](
    claim: Claim | None, first: Callable[[], Answer | Begun[Work]]
) -> Answer | Begun[Work]:
    try:
        outcome = first()
    except Refusal as refusal:
        if claim is None or not refusal.stored:
            raise
        outcome = Answer.refused(refusal)
    if claim is not None:
        _keep(claim, outcome)
    return outcome


def _keep[Work: (Payment, Refund)](claim: Claim, outcome: Answer | Begun[Work]) -> None:
    if isinstance(outcome, Begun):
        begin_answer(claim, outcome.work.id)
    elif outcome.resource_id is not None:
        begin_answer(claim, outcome.resource_id)
        end_answer(outcome.resource_id, outcome.status, outcome.body)
    else:
        store_answers({claim: (outcome.status, dict(outcome.body))})


def _again[Work: (Payment, Refund)](
    stored: StoredAnswer,
    claim: Claim,
    resume: Callable[[UUID], Begun[Work] | None],
    tell_again: Callable[[UUID], Answer],
) -> Answer | Begun[Work]:
    if stored.resource_id is not None and stored.status == PENDING:
        return replace(tell_again(stored.resource_id), replayed=True)
    if stored.resource_id is not None and stored.status is None:
        begun = resume(stored.resource_id)
        if begun is not None:
            return begun
    kept = stored.replay_for(claim)
    return Answer(kept.status, kept.body, replayed=True)
