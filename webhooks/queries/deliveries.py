"""Deliveries and their attempts, as the endpoint's people see them."""

from typing import Any
from uuid import UUID

from django.db.models import Prefetch, QuerySet

from holdfast.kernel.clock import rfc3339
from holdfast.kernel.errors import NotFound
from webhooks.models import Attempt, Delivery, DeliveryStatus, EndpointStatus


def deliveries() -> QuerySet[Delivery]:
    """All of the tenant, with endpoint and message (without its text), but for those of deleted endpoints."""
    found = Delivery.objects.filter(endpoint__deleted_at=None).select_related("endpoint", "message")
    return found.defer("endpoint__secrets", "message__payload")


def get_delivery(delivery_id: UUID) -> Delivery:
    """The delivery with its attempts, the first one first. Raises NotFound."""
    attempts = Prefetch("attempts", Attempt.objects.order_by("at", "id"))
    delivery = deliveries().prefetch_related(attempts).filter(id=delivery_id).first()
    if delivery is None:
        raise NotFound
    return delivery


def count_dead() -> int:
    """How many dead letters the tenant has."""
    return deliveries().filter(status=DeliveryStatus.DEAD).count()


def last_attempts(delivery_id: UUID, count_max: int) -> list[Attempt]:
    """The last so many, the newest first."""
    return list(Attempt.objects.filter(delivery_id=delivery_id).order_by("-at", "-id")[:count_max])


def delivery_json(delivery: Delivery) -> dict[str, Any]:
    """One of a list. While it is being sent, `next_attempt_at` is when it is sent again if nobody says what came of it;
    while its endpoint is disabled there is no next attempt."""
    is_scheduled = delivery.endpoint.status == EndpointStatus.ENABLED
    return {
        "id": str(delivery.id),
        "endpoint": str(delivery.endpoint_id),
        "message": str(delivery.message_id),
        "type": delivery.message.type,
        "status": delivery.status,
        "attempts_made": delivery.attempts_made,
        "next_attempt_at": rfc3339(delivery.look_at) if is_scheduled else None,
        "created_at": rfc3339(delivery.created_at),
    }


def one_delivery_json(delivery: Delivery) -> dict[str, Any]:
    """One alone, as `get_delivery` reads it."""
    return {**delivery_json(delivery), "attempts": [attempt_json(attempt) for attempt in delivery.attempts.all()]}


def attempt_json(attempt: Attempt) -> dict[str, Any]:
    return {
        "at": rfc3339(attempt.at),
        "duration_ms": attempt.duration_ms,
        "outcome": attempt.outcome,
        "status_code": attempt.status_code,
        "response": attempt.response,
    }
