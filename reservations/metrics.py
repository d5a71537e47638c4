"""Metrics of the holds and of the promises made of them, read when they are asked for."""

from collections.abc import Iterator

from django.db.models import Count, F, Max, Q
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from holdfast.kernel.clock import Now
from reservations.invariants.watch import last_look
from reservations.models import Hold, HoldStatus


def hold_metrics() -> Iterator[Metric]:
    """Holds that are alive; those whose time has passed and whose rows don't say so yet, and how late the oldest is.

    Raises DatabaseError.
    """
    lapsed = Q(expires_at__lte=Now())
    found = Hold.everywhere.filter(status=HoldStatus.ACTIVE).aggregate(
        active=Count("id", filter=~lapsed),
        lapsed=Count("id", filter=lapsed),
        lag=Max(Now() - F("expires_at"), filter=lapsed),
    )
    lag_seconds = found["lag"].total_seconds() if found["lag"] else 0.0
    yield GaugeMetricFamily("holdfast_active_holds", "Holds that are alive.", found["active"])
    yield GaugeMetricFamily("holdfast_lapsed_holds", "Lapsed holds that are still to be swept.", found["lapsed"])
    yield GaugeMetricFamily("holdfast_sweep_lag_seconds", "How late the oldest of them is.", lag_seconds)


def invariant_metrics() -> Iterator[Metric]:
    """Rows that break each promise, and when that was last looked at; none before that. Raises RedisError."""
    look = last_look()
    if look is None:
        return
    broken = GaugeMetricFamily("holdfast_invariant_breaches", "Rows that break a promise.", labels=["invariant"])
    for name, count in look["breaches"].items():
        broken.add_metric([name], count)
    yield broken
    yield GaugeMetricFamily("holdfast_invariants_looked_at_seconds", "Unix time of the last look.", look["at"])
