"""Metrics of what is told to other systems, read when they are asked for."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Count, Exists, OuterRef, Q, Subquery
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from holdfast.kernel.clock import Now, database_now
from webhooks.models import AT_WORK, Attempt, Delivery, Endpoint, EndpointStatus, Message
from webhooks.models.attempt import OUTCOMES
from webhooks.wake import queue_of

_ENABLED = Q(status=EndpointStatus.ENABLED)
_RESTING = Q(_ENABLED, breaker_until__gt=Now())
LATELY = timedelta(minutes=5)


def webhook_metrics() -> Iterator[Metric]:
    """What waits, how late it is, and what came of the last attempts. Raises DatabaseError."""
    waiting = Message.everywhere.filter(waits_for_relay=True).count()
    yield GaugeMetricFamily("holdfast_messages_to_relay", "Messages that still wait for the relay.", waiting)
    yield from _by_queue()
    yield _attempts()
    counts = Endpoint.everywhere.aggregate(
        failing=Count("id", filter=Q(_ENABLED, failures__gt=0)), resting=Count("id", filter=_RESTING)
    )
    yield GaugeMetricFamily("holdfast_failing_endpoints", "Endpoints whose last attempt failed.", counts["failing"])
    yield GaugeMetricFamily("holdfast_resting_endpoints", "Endpoints whose breaker is open.", counts["resting"])


def _by_queue() -> Iterator[Metric]:
    backlog = GaugeMetricFamily(
        "holdfast_webhook_backlog", "Deliveries that are pending at enabled endpoints.", labels=["queue"]
    )
    lag = GaugeMetricFamily(
        "holdfast_webhook_lag_seconds", "How late the oldest due delivery is that nothing holds back.", labels=["queue"]
    )
    for is_slow in (False, True):
        mine = Endpoint.everywhere.filter(_ENABLED, is_slow=is_slow)
        pending = Delivery.everywhere.filter(look_at__isnull=False, endpoint__in=mine)
        backlog.add_metric([queue_of(is_slow=is_slow)], pending.count())
        lag.add_metric([queue_of(is_slow=is_slow)], _lag_seconds(is_slow=is_slow))
    yield from (backlog, lag)


def _lag_seconds(*, is_slow: bool) -> float:
    """Read endpoint by endpoint, by the index that their deliverers use: a backlog behind a breaker is not read."""
    due = Delivery.everywhere.filter(endpoint=OuterRef("pk"), look_at__lte=Now())
    at_work = Endpoint.everywhere.filter(AT_WORK, Exists(due), is_slow=is_slow)
    oldest = at_work.annotate(oldest=Subquery(due.order_by("look_at").values("look_at")[:1]))
    first = oldest.order_by("oldest").values_list("oldest", flat=True).first()
    return max(0.0, (database_now("maintenance") - first).total_seconds()) if first else 0.0


def _attempts() -> Metric:
    lately = Attempt.everywhere.filter(at__gt=Now() - LATELY)
    counts = dict(lately.values_list("outcome").annotate(Count("id")))
    attempts = GaugeMetricFamily(
        "holdfast_webhook_attempts", "Attempts that began in the last five minutes.", labels=["outcome"]
    )
    for outcome in OUTCOMES:
        attempts.add_metric([outcome], counts.get(outcome, 0))
    return attempts
