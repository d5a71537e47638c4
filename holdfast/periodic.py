"""What happens again and again: which job, on which queue, how often; and the loop that asks for it.

Two loops at once do no harm: the jobs share their work by skipping what is locked. A loop that dies is restarted by the
supervisor; what was due meanwhile is found by the next round.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog
from django.conf import settings
from redis import Redis, RedisError
from rq import Queue
from rq.scheduler import RQScheduler
from rq.serializers import JSONSerializer

from holdfast.kernel.jobs import KEPT, WAITING_MAX
from holdfast.kernel.redis_client import redis_client

logger = structlog.get_logger(__name__)
TICK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Periodic:
    """A job to be asked for every so often."""

    every_seconds: float
    queue: str
    function: str


PERIODIC: Sequence[Periodic] = (
    Periodic(15, "holds", "reservations.jobs.sweep"),
    Periodic(60, "watch", "reservations.jobs.watch_invariants"),
    Periodic(60, "payments", "reservations.jobs.work_payments"),
    Periodic(3, "webhooks", "webhooks.jobs.sweep"),
    Periodic(3, "webhooks-slow", "webhooks.jobs.sweep_slow"),
    Periodic(3600, "watch", "webhooks.jobs.prune"),
    Periodic(3600, "watch", "reservations.jobs.reap_idempotency_keys"),
    Periodic(24 * 3600, "payments", "reservations.jobs.reconcile_payments"),
)


class Runner:
    """One loop: moves jobs that are due to their queues, and asks for the periodic ones."""

    def __init__(self, connection: Redis, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._queues = {
            name: Queue(name, connection=connection, serializer=JSONSerializer) for name in settings.RQ_QUEUES
        }
        self._scheduler = RQScheduler(
            list(self._queues.values()),
            connection,
            interval=int(TICK_SECONDS),
            logging_level=logging.WARNING,  # it tells of each lock it takes
            serializer=JSONSerializer,
        )
        self._due = dict.fromkeys(PERIODIC, self._clock())

    def tick(self) -> None:
        """One round. Raises RedisError."""
        self._scheduler.acquire_locks()  # type: ignore[no-untyped-call]  # or refresh them: of two loops one moves a queue's jobs
        self._scheduler.enqueue_scheduled_jobs()  # type: ignore[no-untyped-call]
        for periodic, due in self._due.items():
            if self._clock() >= due:
                self._ask_for(periodic)
                self._due[periodic] = self._clock() + periodic.every_seconds

    def stop(self) -> None:
        """Let another loop take over at once."""
        self._scheduler.release_locks()  # type: ignore[no-untyped-call]

    def _ask_for(self, periodic: Periodic) -> None:
        queue = self._queues[periodic.queue]
        if queue.count < WAITING_MAX:
            queue.enqueue(periodic.function, **KEPT)


def run_until(stopped: Callable[[float], bool]) -> None:
    """Tick until `stopped(seconds)`, which waits for so long, says so. A Redis that is away is told of once."""
    runner = Runner(redis_client())
    away = False
    while not stopped(TICK_SECONDS):
        try:
            runner.tick()
        except (RedisError, OSError) as error:
            if not away:
                logger.warning("redis_is_away", error=type(error).__name__)
            away = True
        else:
            if away:
                logger.warning("redis_is_back")
            away = False
    try:
        runner.stop()
    except (RedisError, OSError):
        logger.warning("redis_is_away")
