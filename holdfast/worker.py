"""The worker: one queue a process, no fork a job, no connection kept past its use, and a heartbeat that others read."""

import time
from typing import Any

from django.conf import settings
from django.db import close_old_connections
from redis import Redis
from rq import SimpleWorker
from rq.job import Job
from rq.queue import Queue
from rq.serializers import JSONSerializer

from holdfast.kernel.jobs import heartbeat_key

# how long a worker may be silent before it counts as gone
SEEN_WITHIN_SECONDS = 60
# a worker that waits for jobs wakes and tells that it lives this often, less RQ's margin of 15 s
WORKER_TTL_SECONDS = 30


class Worker(SimpleWorker):
    """Runs jobs in its own process. Jobs open a `tenant_transaction` themselves: a worker has no tenant."""

    def perform_job(self, job: Job, queue: Queue) -> bool:
        # one that PostgreSQL has closed meanwhile would fail the job
        close_old_connections()
        try:
            return super().perform_job(job, queue)
        finally:
            close_old_connections()

    def heartbeat(self, timeout: int | None = None, pipeline: Any = None) -> None:
        super().heartbeat(timeout, pipeline)
        for queue in self.queues:
            self.connection.set(heartbeat_key(queue.name), time.time(), ex=SEEN_WITHIN_SECONDS)


def make_worker(queue_name: str) -> Worker:
    """A worker of this one queue: several on one would take jobs in a way that can lose them."""
    connection = Redis.from_url(settings.REDIS_URL)
    queue = Queue(queue_name, connection=connection, serializer=JSONSerializer)
    return Worker([queue], connection=connection, serializer=JSONSerializer, worker_ttl=WORKER_TTL_SECONDS)
