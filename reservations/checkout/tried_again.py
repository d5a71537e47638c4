"""Settling is tried again where others' locks were in the way: the provider has done its part, which nothing undoes."""

import random
import time
from collections.abc import Callable
from uuid import UUID

import structlog
from django.db import DatabaseError

from holdfast.kernel.db.errors import CONTENTION, RETRYABLE, sqlstate
from tenants.scope import tenant_transaction

logger = structlog.get_logger(__name__)
# with the lock timeout of each, far less than the lease
TRIES_MAX = 4
BACKOFF_MS = 50


def tried_again[T](tenant_id: UUID, settle: Callable[[], T], otherwise: Callable[[], T]) -> T:
    """The result of `settle` in a transaction of its own, tried at most TRIES_MAX times; where locks keep it from
    ending, that of `otherwise`, and recovery settles it when the lease has run out. Raises other DatabaseErrors."""
    for tries in range(1, TRIES_MAX + 1):
        try:
            with tenant_transaction(tenant_id):
                return settle()
        except DatabaseError as error:
            state = sqlstate(error)
            if state not in CONTENTION:
                raise
            if state not in RETRYABLE:
                break
        time.sleep(random.uniform(0, BACKOFF_MS * tries / 1000))  # noqa: S311 - spreads load; guards nothing
    logger.warning("left_to_recovery", tenant=str(tenant_id), sqlstate=state)
    with tenant_transaction(tenant_id):
        return otherwise()
