"""Wake-ups: jobs in Redis that make something happen sooner than it would anyway.

The truth is in PostgreSQL, and something there is always found again without a job. So a wake-up is asked for after the
commit, waits for nothing, and is given up where Redis does not answer.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache, partial
from threading import Lock
from typing import Any

import structlog
from django.db import transaction
from django_rq import get_queue
from redis import RedisError
from rq import Queue

from holdfast.kernel.redis_client import redis_client

logger = structlog.get_logger(__name__)
# how long RQ keeps what became of a job, in seconds: no results, and failures for platform staff to see
KEPT = {"result_ttl": 0, "failure_ttl": 7 * 24 * 3600}
# after Redis failed to answer, nobody asks it for so long
GIVEN_UP_SECONDS = 5.0
# enough jobs wait already: a queue that nobody works on must not grow
WAITING_MAX = 20
# a wake-up that was lost keeps others from being asked for no longer than this
WAITING_MAX_SECONDS = 10

_lock = Lock()
_given_up_until = 0.0


def heartbeat_key(queue_name: str) -> str:
    """Where in Redis the workers of a queue tell when they were last alive (Unix time, seconds)."""
    return f"holdfast:worker:{queue_name}"


def wake_at(moment: datetime, queue_name: str, function: str, *args: Any) -> None:
    """Run `function` (a dotted path) on that queue soon after that moment. Arguments are JSON."""
    # RQ keeps whole seconds and cuts off the rest: without one more, it would run too early and find nothing to do
    late = moment + timedelta(seconds=1)
    _after_commit(lambda: _queue(queue_name).enqueue_at(late, function, *args, **KEPT))


def wake_in(seconds: float, queue_name: str, function: str) -> None:
    """Run `function` (a dotted path) on that queue so many seconds after the commit; 0 is at once."""

    def enqueue() -> None:
        queue = _queue(queue_name)
        if seconds:
            queue.enqueue_in(timedelta(seconds=seconds), function, **KEPT)
        else:
            queue.enqueue(function, **KEPT)

    _after_commit(enqueue)


def wake_once(queue_name: str, function: str, *args: Any) -> None:
    """Run `function` (a dotted path) on that queue soon, unless the same wake-up waits there already, or many others.

    Asked for at once, in a transaction or not. The job says `woken` with the same words as it begins: from then on it
    may be asked for again.
    """

    def enqueue() -> None:
        queue = _queue(queue_name)
        if queue.count >= WAITING_MAX:
            return
        if redis_client().set(_waiting_key(function, args), 1, nx=True, ex=WAITING_MAX_SECONDS):
            queue.enqueue(function, *args, **KEPT)

    _try(enqueue)


def woken(function: str, *args: Any) -> None:
    """The wake-up for this has arrived."""
    with suppress(RedisError, OSError):
        redis_client().delete(_waiting_key(function, args))


def _waiting_key(function: str, args: Sequence[Any]) -> str:
    return ":".join(["holdfast:waiting", function, *map(str, args)])


@cache
def _queue(name: str) -> Queue:
    return get_queue(name, connection=redis_client())


def _after_commit(enqueue: Callable[[], Any]) -> None:
    # RQ's own delayed jobs don't wait for the commit, and would run after a rollback, too
    transaction.on_commit(partial(_try, enqueue))


def _try(enqueue: Callable[[], Any]) -> None:
    global _given_up_until  # noqa: PLW0603 - one state a process, under a lock
    with _lock:
        if time.monotonic() < _given_up_until:
            return
    try:
        enqueue()
    except (RedisError, OSError) as error:
        with _lock:
            _given_up_until = time.monotonic() + GIVEN_UP_SECONDS
        logger.warning("wake_up_given_up", error=type(error).__name__, for_seconds=GIVEN_UP_SECONDS)
