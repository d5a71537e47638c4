"""Metrics of the queues and their workers, read when they are asked for: no process has figures of its own to lose."""

import time
from collections.abc import Iterator

from django.conf import settings
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from redis import Redis
from rq import Queue
from rq.serializers import JSONSerializer

from holdfast.kernel.jobs import heartbeat_key


def queue_metrics(connection: Redis) -> Iterator[Metric]:
    """Jobs that wait, the age of the oldest, jobs that failed, and the last sign of life, for each queue.

    A queue without a sign of life has no heartbeat age. Raises RedisError.
    """
    waiting = GaugeMetricFamily("holdfast_queue_jobs", "Jobs that wait.", labels=["queue"])
    age = GaugeMetricFamily("holdfast_queue_oldest_job_age_seconds", "Age of the oldest waiting job.", labels=["queue"])
    failed = GaugeMetricFamily("holdfast_queue_failed_jobs", "Jobs that failed and are kept.", labels=["queue"])
    heartbeat = GaugeMetricFamily(
        "holdfast_worker_heartbeat_age_seconds",
        "Time since a worker told that it lives.",
        labels=["queue"],
    )
    for name in settings.RQ_QUEUES:
        queue = Queue(name, connection=connection, serializer=JSONSerializer)
        waiting.add_metric([name], queue.count)
        age.add_metric([name], _oldest_age_seconds(queue))
        failed.add_metric([name], queue.failed_job_registry.count)
        seen = connection.get(heartbeat_key(name))
        if seen is not None:
            heartbeat.add_metric([name], max(0.0, time.time() - float(seen)))
    yield from (waiting, age, failed, heartbeat)


def _oldest_age_seconds(queue: Queue) -> float:
    oldest = next(iter(queue.get_jobs(0, 1)), None)
    if oldest is None or oldest.enqueued_at is None:
        return 0.0
    return max(0.0, time.time() - oldest.enqueued_at.timestamp())
