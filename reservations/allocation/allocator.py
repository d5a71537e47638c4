"""The allocator: grants holds, many requests of one tenant in one short transaction; a lone request is a list of one.

What proves that no unit is sold twice is the guarded update (`… WHERE status = 'available'`, and its count of rows),
not the locks before it: they only make it rare that the guard has to refuse.
"""

import random
import time
from collections.abc import Sequence
from uuid import UUID

from django.db import DatabaseError

from holdfast.kernel.db.errors import CONTENTION, RETRYABLE, sqlstate
from holdfast.kernel.errors import Contention, IdempotencyInFlight, Refusal
from reservations.allocation.attempt import GuardFailed, attempt
from reservations.allocation.requests import Contended, HoldRequest, Outcome, Refused
from tenants.scope import NameTaken, is_held, tenant_transaction

# a transaction that lost a deadlock or waited too long for a lock
TRANSACTION_RETRIES_MAX = 3
# an any-N that found units locked by others which may yet be left
CONTENTION_RETRIES_MAX = 5
BACKOFF_MS = 20
# no new try begins after this; with the lock timeout of a try, it bounds how long a buyer waits
RETRY_WINDOW_SECONDS = 3.0


def allocate(*, tenant_id: UUID, requests: Sequence[HoldRequest]) -> list[Outcome]:
    """Answer each request: Granted, Refused or Replayed, in the order of the requests.

    Requests that others' locks leave undecided are tried again, at most CONTENTION_RETRIES_MAX times and with full
    jitter; then they are refused as contention. Raises DatabaseError where the database fails otherwise.
    """
    deadline = time.monotonic() + RETRY_WINDOW_SECONDS
    outcomes: list[Outcome] = [Contended()] * len(requests)
    undecided = list(range(len(requests)))
    for tries in range(CONTENTION_RETRIES_MAX + 1):
        _back_off(tries)
        answers = _each_answered(tenant_id, [requests[index] for index in undecided], deadline)
        for index, answer in zip(undecided, answers, strict=True):
            outcomes[index] = answer
        undecided = [index for index in undecided if isinstance(outcomes[index], Contended)]
        if not undecided or time.monotonic() > deadline:
            break
    for index in undecided:
        outcomes[index] = Refused(Contention())
    return outcomes


def _each_answered(tenant_id: UUID, requests: Sequence[HoldRequest], deadline: float) -> list[Outcome]:
    """One transaction for all; after its rollback one for each, so that a bad request costs no other its answer."""
    try:
        return _committed(tenant_id, requests, deadline)
    except (DatabaseError, GuardFailed, NameTaken) as error:
        if len(requests) > 1:
            return [answer for request in requests for answer in _each_answered(tenant_id, [request], deadline)]
        if isinstance(error, GuardFailed):
            return [Contended()]
        if isinstance(error, NameTaken):
            return [Refused(_name_refusal(tenant_id, requests[0]))]
        if sqlstate(error) in CONTENTION:
            return [Refused(Contention())]
        raise


def _name_refusal(tenant_id: UUID, request: HoldRequest) -> Refusal:
    """What a request is told that waited for its names in vain: only its key says that the same request still runs."""
    if request.claim is not None:
        with tenant_transaction(tenant_id):
            if is_held(request.claim.lock_name):
                return IdempotencyInFlight()
    return Contention()


def _committed(tenant_id: UUID, requests: Sequence[HoldRequest], deadline: float) -> list[Outcome]:
    """The outcomes of one committed transaction. Raises GuardFailed, NameTaken, DatabaseError; then nothing changed."""
    names = [name for request in requests for name in request.lock_names]
    for tries in range(TRANSACTION_RETRIES_MAX + 1):
        _back_off(tries)
        try:
            with tenant_transaction(tenant_id, names=names):
                return attempt(tenant_id, requests)
        except DatabaseError as error:
            last = tries == TRANSACTION_RETRIES_MAX or time.monotonic() > deadline
            if last or sqlstate(error) not in RETRYABLE:
                raise
    raise AssertionError("the last try returns or raises")


def _back_off(tries: int) -> None:
    """Full jitter, growing with each try; none before the first."""
    if tries:
        time.sleep(random.uniform(0, BACKOFF_MS * tries / 1000))  # noqa: S311 - spreads load; guards nothing
