"""Forgetting: deliveries and attempts that ended long ago, and all of deleted endpoints. Messages are kept, as the
change feed.

What waits for an endpoint that stays disabled dies in the end, and is then forgotten like the rest.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from uuid import UUID

from django.db.models import Q

from holdfast.kernel.clock import Now
from tenants.models import TenantModel
from tenants.scope import tenant_transaction
from webhooks.locks import lock_rows
from webhooks.models import Attempt, Delivery, DeliveryStatus, Endpoint, EndpointStatus, Replay

DEAD_KEPT = timedelta(days=30)
DELIVERED_KEPT = timedelta(days=7)
# nobody may send it for so long
WAITS_MAX = timedelta(days=30)
REPLAYS_KEPT = timedelta(days=30)
BATCH_MAX = 500

_Work = Callable[[Sequence[UUID]], None]

_DELIVERED = Q(status=DeliveryStatus.DELIVERED, settled_at__lt=Now() - DELIVERED_KEPT)
_DEAD = Q(status=DeliveryStatus.DEAD, settled_at__lt=Now() - DEAD_KEPT)
_OF_A_DELETED_ENDPOINT = Q(endpoint__deleted_at__isnull=False)
_WAITED_TOO_LONG = Q(endpoint__status=EndpointStatus.DISABLED, look_at__lt=Now() - WAITS_MAX)
_PAST_REPLAYS = Q(Q(ended_at__lt=Now() - REPLAYS_KEPT) | _OF_A_DELETED_ENDPOINT, deliveries=None)
_EMPTY_ENDPOINTS = Q(deleted_at__isnull=False, deliveries=None, replays=None)


def prune() -> int:
    """Of every tenant, batch by batch; answers how many deliveries were removed."""
    _in_batches(Delivery, _WAITED_TOO_LONG, _let_die)
    # each by an index of its own
    removed = sum(
        _in_batches(Delivery, which, _remove_deliveries) for which in (_DELIVERED, _DEAD, _OF_A_DELETED_ENDPOINT)
    )
    _in_batches(Replay, _PAST_REPLAYS, _remove_replays)
    _in_batches(Endpoint, _EMPTY_ENDPOINTS, _remove_endpoints)
    return removed


def _in_batches(model: type[TenantModel], which: Q, work: _Work) -> int:
    """Do it for these rows of all tenants; answers for how many."""
    done = 0
    while found := _some(model, which):
        count = sum(_batch(tenant_id, model, which & Q(id__in=ids), work) for tenant_id, ids in found.items())
        if not count:  # others have locked what is left
            break
        done += count
    return done


def _some(model: type[TenantModel], which: Q) -> dict[UUID, list[UUID]]:
    """Ids of some of these rows, by their tenants."""
    found: dict[UUID, list[UUID]] = {}
    for tenant_id, row_id in model.everywhere.filter(which).values_list("tenant_id", "id")[:BATCH_MAX]:
        found.setdefault(tenant_id, []).append(row_id)
    return found


def _batch(tenant_id: UUID, model: type[TenantModel], which: Q, work: _Work) -> int:
    with tenant_transaction(tenant_id):
        ids = lock_rows(model, which)
        work(ids)
        return len(ids)


def _let_die(ids: Sequence[UUID]) -> None:
    Delivery.objects.filter(id__in=ids).update(
        status=DeliveryStatus.DEAD, look_at=None, claimed_at=None, settled_at=Now()
    )


def _remove_deliveries(ids: Sequence[UUID]) -> None:
    Attempt.objects.filter(delivery_id__in=ids).delete()
    Delivery.objects.filter(id__in=ids).delete()


def _remove_replays(ids: Sequence[UUID]) -> None:
    Replay.objects.filter(id__in=ids).delete()


def _remove_endpoints(ids: Sequence[UUID]) -> None:
    Endpoint.objects.filter(id__in=ids).delete()
