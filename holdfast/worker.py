"""The worker: one queue a process, no fork a job, no connection kept past its use, and a heartbeat that others read."""

import time
from contextlib import suppress
from typing import Any

import structlog
from django.conf import settings
from django.db import close_old_connections
from redis import Redis, RedisError
from rq import SimpleWorker
from rq.job import Job
from rq.queue import Queue
from rq.serializers import JSONSerializer

from holdfast.kernel.jobs import heartbeat_key
from holdfast.kernel.redis_client import redis_client
from webhooks.couriers import close_couriers

logger = structlog.get_logger(__name__)
# how long a worker may be silent before it counts as gone
SEEN_WITHIN_SECONDS = 60
# a worker that waits for jobs wakes and tells that it lives this often, less RQ's margin of 15 s
WORKER_TTL_SECONDS = 30
ASKED_AGAIN_SECONDS = 1.0


class Worker(SimpleWorker):
    """Runs jobs in its own process. Jobs open a `tenant_transaction` themselves: a worker has no tenant."""

    def perform_job(self, job: Job, queue: Queue) -> bool:
        # one that PostgreSQL has closed meanwhile would fail the job
        close_old_connections()
        try:
            return super().perform_job(job, queue)
        finally:
            close_old_connections()

    def subscribe(self) -> None:
        """To nothing: there are no commands for a worker, and the thread that hears them complains without Redis."""

    def teardown(self) -> None:
        close_couriers()
        with suppress(RedisError, OSError):  # it forgets who tells nothing
            super().teardown()  # type: ignore[no-untyped-call]

    def heartbeat(self, timeout: int | None = None, pipeline: Any = None) -> None:
        if pipeline is None:
            wait_for_redis()
        super().heartbeat(timeout, pipeline)
        for queue in self.queues:
            self.connection.set(heartbeat_key(queue.name), time.time(), ex=SEEN_WITHIN_SECONDS)


def wait_for_redis() -> None:
    """Return once it answers. That it is away is told once.

    Asks over a connection of its own: the worker's are to be opened with the patience that waiting for a job takes.
    """
    told = False
    while True:
        try:
            redis_client().ping()
        except (RedisError, OSError) as error:
            if not told:
                logger.warning("redis_is_away", error=type(error).__name__)
            told = True
            time.sleep(ASKED_AGAIN_SECONDS)
        else:
            if told:
                logger.warning("redis_is_back")
            return


def make_worker(queue_name: str) -> Worker:
    """A worker of this one queue: several on one would take jobs in a way that can lose them."""
    connection = Redis.from_url(settings.REDIS_URL)
    wait_for_redis()
    queue = Queue(queue_name, connection=connection, serializer=JSONSerializer)
    return Worker([queue], connection=connection, serializer=JSONSerializer, worker_ttl=WORKER_TTL_SECONDS)
