"""Endpoints, as their people see them."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from holdfast.kernel.clock import rfc3339
from holdfast.kernel.errors import NotFound
from webhooks.models import Delivery, DeliveryStatus, Endpoint, EndpointStatus
from webhooks.retry import DISABLED_AFTER


def endpoints() -> QuerySet[Endpoint]:
    """All of the tenant, but for deleted ones."""
    return Endpoint.objects.filter(deleted_at=None)


def get_endpoint(endpoint_id: UUID) -> Endpoint:
    """The endpoint. Raises NotFound."""
    endpoint = endpoints().filter(id=endpoint_id).first()
    if endpoint is None:
        raise NotFound
    return endpoint


@dataclass(frozen=True, slots=True)
class Backlog:
    """How many deliveries of an endpoint are still to be made, and how many never will be by themselves."""

    pending: int = 0
    dead: int = 0


def backlogs(endpoint_ids: Collection[UUID]) -> dict[UUID, Backlog]:
    """Of each endpoint, in two statements; each reads an index that has nothing else in it."""
    pending = _counts(Q(look_at__isnull=False), endpoint_ids)
    dead = _counts(Q(status=DeliveryStatus.DEAD), endpoint_ids)
    return {one: Backlog(pending.get(one, 0), dead.get(one, 0)) for one in endpoint_ids}


def _counts(which: Q, endpoint_ids: Collection[UUID]) -> dict[UUID, int]:
    found = Delivery.objects.filter(which, endpoint_id__in=endpoint_ids).values("endpoint_id")
    return {row["endpoint_id"]: row["count"] for row in found.annotate(count=Count("id"))}


def endpoint_json(endpoint: Endpoint) -> dict[str, Any]:
    """The endpoint without its secrets. `disabled_at_latest` is when it will be disabled if it goes on failing."""
    goes_on_since = endpoint.failing_since if endpoint.status == EndpointStatus.ENABLED else None
    return {
        "id": str(endpoint.id),
        "url": endpoint.url,
        "events": endpoint.events,
        "description": endpoint.description,
        "status": endpoint.status,
        "disabled_reason": endpoint.disabled_reason,
        "created_at": rfc3339(endpoint.created_at),
        "last_success_at": rfc3339(endpoint.last_success_at),
        "failing_since": rfc3339(endpoint.failing_since),
        "disabled_at_latest": rfc3339(goes_on_since + DISABLED_AFTER) if goes_on_since else None,
        "resting_until": rfc3339(endpoint.breaker_until),
    }
