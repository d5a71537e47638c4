"""Deliveries and their attempts, as the endpoint's people see them."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, QuerySet

from holdfast.kernel.clock import Now, rfc3339
from holdfast.kernel.errors import NotFound
from webhooks.models import Attempt, Delivery, DeliveryStatus, EndpointStatus


def deliveries() -> QuerySet[Any]:
    """All of the tenant, with endpoint and message (without its text) and `now`, the moment of the reading; but for
    those of deleted endpoints."""
    found = Delivery.objects.filter(endpoint__deleted_at=None).select_related("endpoint", "message")
    return found.defer("endpoint__secrets", "message__payload").annotate(now=Now())


def get_delivery(delivery_id: UUID) -> Any:
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


def next_attempt_at(delivery: Any) -> datetime | None:
    """When it is sent: no earlier than its endpoint's rest ends. None for one that has ended, that is being sent, or
    whose endpoint is disabled."""
    if delivery.look_at is None or delivery.endpoint.status == EndpointStatus.DISABLED or is_being_sent(delivery):
        return None
    due: datetime = max(delivery.look_at, delivery.endpoint.breaker_until or delivery.look_at)
    return due


def is_being_sent(delivery: Any) -> bool:
    """Somebody has claimed it, and the lease has not run out."""
    return delivery.claimed_at is not None and delivery.look_at > delivery.now


def delivery_json(delivery: Any) -> dict[str, Any]:
    """One of a list, as `deliveries` reads it."""
    return {
        "id": str(delivery.id),
        "endpoint": str(delivery.endpoint_id),
        "message": str(delivery.message_id),
        "type": delivery.message.type,
        "status": delivery.status,
        "attempts_made": delivery.attempts_made,
        "next_attempt_at": rfc3339(next_attempt_at(delivery)),
        "created_at": rfc3339(delivery.created_at),
    }


def one_delivery_json(delivery: Any) -> dict[str, Any]:
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
