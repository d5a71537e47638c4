"""Replays, and how far they have come."""

from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from holdfast.kernel.clock import rfc3339
from holdfast.kernel.errors import NotFound
from webhooks.models import DeliveryStatus, Replay


def get_replay(replay_id: UUID) -> Any:
    """The replay, with counts of what it has told once more. Raises NotFound."""
    replay = _counted(Replay.objects.filter(endpoint__deleted_at=None, id=replay_id)).first()
    if replay is None:
        raise NotFound
    return replay


def last_replays(endpoint_id: UUID, count_max: int) -> list[Any]:
    """The last so many of an endpoint, the newest first, as `get_replay` reads them. One statement."""
    newest = Replay.objects.filter(endpoint_id=endpoint_id).order_by("-id").values("id")[:count_max]
    return list(_counted(Replay.objects.filter(id__in=newest)).order_by("-id"))


def _counted(replays: QuerySet[Replay]) -> QuerySet[Any]:
    counts = {status.value: Count("deliveries", filter=Q(deliveries__status=status)) for status in DeliveryStatus}
    return replays.annotate(**counts)


def replay_json(replay: Any) -> dict[str, Any]:
    """The replay as `get_replay` reads it. `queued` of the `matched` messages are on their way, or have arrived: of
    these some are pending, delivered or dead by now, but for those that a later replay told again."""
    return {
        "id": str(replay.id),
        "endpoint": str(replay.endpoint_id),
        "since": rfc3339(replay.since),
        "until": rfc3339(replay.until),
        "types": replay.types,
        "status": replay.status,
        "state": replay.state,
        "matched": replay.matched,
        "queued": replay.queued,
        **{status.value: getattr(replay, status.value) for status in DeliveryStatus},
        "created_at": rfc3339(replay.created_at),
        "ended_at": rfc3339(replay.ended_at),
    }
