"""Recovery: what is due is taken up, by whoever looks first: payments, refunds and callbacks of all tenants.

A web process that dies in the middle of a checkout leaves a payment whose lease runs out; a provider that does not
answer leaves one that is to be looked at again. Either is found here, however often the jobs that hurry it are lost.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import structlog
from django.db import connections

from holdfast.kernel.clock import Now
from reservations.checkout.callbacks import look_into
from reservations.checkout.refunds import carry_on_refund
from reservations.checkout.saga import carry_on_payment
from reservations.models import Payment, ProviderCallback, Refund

logger = structlog.get_logger(__name__)
# calls to providers at once; the rest waits its turn, and nobody else waits for it
AT_ONCE_MAX = 8
# of each kind, so that a batch ends in time where no provider answers
BATCH_MAX = 8
# no new batch begins after this: a job ends in time, and the next one goes on
WORK_SECONDS_MAX = 30.0

_Work = Callable[[UUID, UUID], None]


def work_due() -> int:
    """Carry on with all that is due; answers how much was looked at. Two that work at once share it."""
    deadline = time.monotonic() + WORK_SECONDS_MAX
    done = 0
    with ThreadPoolExecutor(AT_ONCE_MAX, thread_name_prefix="payments") as pool:
        while due := _due():
            list(pool.map(_one, due))
            done += len(due)
            if time.monotonic() > deadline:
                break
    return done


def _due() -> list[tuple[_Work, UUID, UUID]]:
    found: list[tuple[_Work, UUID, UUID]] = []
    for model, work in ((Payment, carry_on_payment), (Refund, carry_on_refund), (ProviderCallback, look_into)):
        rows = model.everywhere.filter(look_at__lte=Now()).order_by("look_at").values_list("tenant_id", "id")
        found += [(work, tenant_id, row_id) for tenant_id, row_id in rows[:BATCH_MAX]]
    return found


def _one(due: tuple[_Work, UUID, UUID]) -> None:
    """One piece of work in a thread of its own; what fails keeps no other from being done, and is due again later."""
    work, tenant_id, row_id = due
    try:
        work(tenant_id, row_id)
    except Exception:
        logger.exception("payment_work_failed", work=work.__name__, tenant=str(tenant_id), id=str(row_id))
    finally:
        connections.close_all()
