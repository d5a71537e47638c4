"""Metrics of holds, of money, and of the promises made of them, read when they are asked for."""

from collections.abc import Iterator

from django.db.models import Count, F, Max, Q
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from holdfast.kernel.clock import Now
from reservations.invariants.watch import last_look
from reservations.models import Difference, Hold, HoldStatus, Payment, PaymentStatus, ProviderCallback, Refund
from reservations.models.payment import OPEN

_OPEN = Q(look_at__isnull=False)


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
    yield GaugeMetricFamily(
        "holdfast_invariants_looked_at_timestamp_seconds", "Unix time of the last look.", look["at"]
    )


def payment_metrics() -> Iterator[Metric]:
    """Money that is under way, and what waits for a person. Each count is read by an index of its own.

    Raises DatabaseError.
    """
    counts = dict(Payment.everywhere.filter(_OPEN).values_list("status").annotate(Count("id")))
    by_status = GaugeMetricFamily("holdfast_open_payments", "Payments that are under way.", labels=["status"])
    for status in OPEN:
        by_status.add_metric([status], counts.get(status, 0))
    yield by_status
    yield GaugeMetricFamily(
        "holdfast_payments_lag_seconds",
        "How late the oldest look at a payment, refund or callback is.",
        max(_lag_seconds(model) for model in (Payment, Refund, ProviderCallback)),
    )
    reviewed = Payment.everywhere.filter(status=PaymentStatus.NEEDS_REVIEW).count()
    yield GaugeMetricFamily("holdfast_payments_under_review", "Payments that wait for a person.", reviewed)
    pending = Refund.everywhere.filter(_OPEN).count()
    yield GaugeMetricFamily("holdfast_pending_refunds", "Refunds whose money is under way.", pending)
    unprocessed = ProviderCallback.everywhere.filter(_OPEN).count()
    yield GaugeMetricFamily(
        "holdfast_unprocessed_callbacks", "Callbacks that are still to be looked into.", unprocessed
    )
    differing = Difference.everywhere.filter(resolved_at=None).count()
    yield GaugeMetricFamily("holdfast_open_differences", "What reconciliation found, and is not gone.", differing)


def _lag_seconds(model: type[Payment | Refund | ProviderCallback]) -> float:
    """How long ago the oldest row that is due should have been looked at."""
    lag = model.everywhere.filter(look_at__lte=Now()).aggregate(lag=Max(Now() - F("look_at")))["lag"]
    return float(lag.total_seconds()) if lag else 0.0
