"""Deliveries: tell once more."""

from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Least

from holdfast.kernel.clock import Now
from holdfast.kernel.errors import NotFound
from tenants.scope import tenant_transaction
from webhooks.errors import EndpointDisabled
from webhooks.health import end_rest
from webhooks.locks import lock_endpoint
from webhooks.models import Delivery, DeliveryStatus, EndpointStatus
from webhooks.queries.deliveries import get_delivery
from webhooks.replay import tell_again
from webhooks.wake import wake_deliverers


def retry_delivery(*, tenant_id: UUID, delivery_id: UUID) -> Any:
    """Try it now, and by the whole schedule again where it had ended, delivered or dead; where it waits, this attempt
    is one more than the schedule has. One that is being sent at this moment is left alone. Answers the delivery as
    `get_delivery` reads it. Raises NotFound, EndpointDisabled."""
    with tenant_transaction(tenant_id):
        endpoint = lock_endpoint(get_delivery(delivery_id).endpoint_id)
        if endpoint is None:
            raise NotFound
        if endpoint.status == EndpointStatus.DISABLED:
            raise EndpointDisabled
        end_rest(endpoint)
        mine = Delivery.objects.filter(id=delivery_id)
        mine.filter(status=DeliveryStatus.PENDING, claimed_at=None).update(
            look_at=Now(), attempts_before=Least(F("attempts_before") + 1, F("attempts_made"))
        )
        tell_again(mine)
        transaction.on_commit(partial(wake_deliverers, tenant_id, endpoint.id, is_slow=endpoint.is_slow))
        return get_delivery(delivery_id)
