"""`/metrics` for Prometheus: open in development, behind a token in production."""

import hmac
from collections.abc import Callable, Iterable, Iterator

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from redis import RedisError

from holdfast.kernel.problems import generic_document, problem_response
from holdfast.kernel.redis_client import redis_client
from holdfast.observability.metrics import queue_metrics
from reservations.metrics import hold_metrics, invariant_metrics, payment_metrics
from webhooks.metrics import webhook_metrics

logger = structlog.get_logger(__name__)


class HoldFastCollector(Collector):
    """Asks each source; one that does not answer is told as down, and hides no other."""

    def collect(self) -> Iterator[Metric]:
        sources: dict[str, Callable[[], Iterable[Metric]]] = {
            "queues": lambda: queue_metrics(redis_client()),
            "holds": hold_metrics,
            "payments": payment_metrics,
            "webhooks": webhook_metrics,
            "invariants": invariant_metrics,
        }
        up = GaugeMetricFamily("holdfast_source_up", "Whether this source of metrics answered.", labels=["source"])
        for name, source in sources.items():
            try:
                yield from list(source())
            except (DatabaseError, RedisError, OSError) as error:
                logger.warning("metrics_missing", source=name, error=type(error).__name__)
                up.add_metric([name], 0)
            else:
                up.add_metric([name], 1)
        yield up


_registry = CollectorRegistry()
_registry.register(HoldFastCollector())


def metrics(request: HttpRequest) -> HttpResponse:
    if not _may_read(request):
        response = problem_response(request, generic_document(401))
        response["WWW-Authenticate"] = 'Bearer realm="metrics"'
        return response
    return HttpResponse(generate_latest(_registry), content_type=CONTENT_TYPE_LATEST)


def _may_read(request: HttpRequest) -> bool:
    token = settings.ENVIRONMENT.metrics_token
    if not token:
        return bool(settings.ENVIRONMENT.development)
    given = request.META.get("HTTP_AUTHORIZATION", "").encode("utf-8", "surrogatepass")
    return hmac.compare_digest(given, f"Bearer {token}".encode())
