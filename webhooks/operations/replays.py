"""Replays: begin, and count beforehand."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from django.db import transaction

from holdfast.kernel.clock import database_now
from holdfast.kernel.errors import FieldError, Invalid, NotFound
from holdfast.kernel.jobs import wake_once
from tenants.scope import tenant_transaction
from webhooks.errors import EndpointDisabled
from webhooks.locks import lock_endpoint
from webhooks.message_types import PATTERNS, types_of
from webhooks.models import EndpointStatus, Replay, ReplayedStatus
from webhooks.replay import matching
from webhooks.wake import QUEUE, REPLAY


@dataclass(frozen=True, slots=True)
class Selection:
    """What occurred from `since` on and before `until`, or up to now: of these types (patterns, too), or of those that
    the endpoint asks for. With the status `dead` only what it was told in vain."""

    since: datetime
    until: datetime | None = None
    types: Sequence[str] | None = None
    status: str = ReplayedStatus.ALL


def begin_replay(*, tenant_id: UUID, endpoint_id: UUID, selection: Selection) -> Replay:
    """Tell the endpoint once more; a worker carries on with it, one of an endpoint at a time. The messages keep
    their ids.

    `matched` of the replay is how many there are. Raises NotFound, EndpointDisabled and Invalid, also for more than
    10,000 messages.
    """
    _check(selection)
    with tenant_transaction(tenant_id):
        replay = _chosen(tenant_id, endpoint_id, selection)
        replay.save()
        transaction.on_commit(partial(wake_once, QUEUE, REPLAY))
        return replay


def count_chosen(*, tenant_id: UUID, endpoint_id: UUID, selection: Selection) -> int:
    """How many messages the replay would have if it began now. Raises as `begin_replay` does."""
    _check(selection)
    with tenant_transaction(tenant_id):
        return _chosen(tenant_id, endpoint_id, selection).matched


def _chosen(tenant_id: UUID, endpoint_id: UUID, selection: Selection) -> Replay:
    """The replay, not saved yet; its endpoint is locked."""
    endpoint = lock_endpoint(endpoint_id)
    if endpoint is None:
        raise NotFound
    if endpoint.status == EndpointStatus.DISABLED:
        raise EndpointDisabled
    now = database_now()
    replay = Replay(
        tenant_id=tenant_id,
        endpoint=endpoint,
        since=selection.since,
        until=min(selection.until or now, now),
        types=sorted({name for pattern in selection.types or endpoint.events for name in types_of(pattern)}),
        status=selection.status,
    )
    replay.matched = matching(replay)[: Replay.MATCHED_MAX + 1].count()
    if replay.matched > Replay.MATCHED_MAX:
        raise Invalid.at("/since", "too_many", f"More than {Replay.MATCHED_MAX} messages: choose a shorter time.")
    return replay


def _check(selection: Selection) -> None:
    faults = []
    if selection.until is not None and selection.until <= selection.since:
        faults.append(FieldError("/until", "out_of_range", "Must be after since."))
    if selection.types is not None and not selection.types:
        faults.append(FieldError("/types", "empty", "Must name a type, or be left out."))
    faults += [
        FieldError(f"/types/{place}", "unknown", "Must be a type of messages, or a pattern such as hold.*")
        for place, pattern in enumerate(selection.types or ())
        if pattern not in PATTERNS
    ]
    if selection.status not in ReplayedStatus.values:
        faults.append(FieldError("/status", "unknown", f"Must be one of {', '.join(ReplayedStatus.values)}."))
    if faults:
        raise Invalid(faults)
