"""Trying deliveries once more, some at a time; whole stretches of the past are replayed."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest

from holdfast.kernel.errors import Conflict, Refusal
from tenants.scope import current_tenant_id
from webhooks.models import Delivery
from webhooks.operations.deliveries import retry_delivery

RETRIED_MAX = 100


def retry_each(page: Any, request: HttpRequest, deliveries: Sequence[Delivery]) -> None:
    """Each by itself: one that is refused keeps no other from being tried. `page` is the admin of deliveries.

    Raises Conflict for too many.
    """
    if len(deliveries) > RETRIED_MAX:
        raise Conflict(f"Retry at most {RETRIED_MAX} at a time; an endpoint's Replay takes up to 10,000.")
    refused: Counter[str] = Counter()
    retried = 0
    for delivery in sorted(deliveries, key=_in_lock_order):
        try:
            retry_delivery(tenant_id=current_tenant_id(), delivery_id=delivery.id)
        except Refusal as refusal:
            refused[f"{delivery.endpoint}: {refusal.detail}"] += 1
            continue
        page.log_change(request, delivery, "Retried.")
        retried += 1
    if retried:
        messages.success(request, "It is tried now." if retried == 1 else f"{retried} deliveries are tried now.")
    for line, count in refused.items():
        messages.error(request, f"Not retried, {count}. {line}" if count > 1 else f"Not retried. {line}")


def _in_lock_order(delivery: Delivery) -> tuple[Any, ...]:
    return delivery.endpoint_id, delivery.id
