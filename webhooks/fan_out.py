"""New deliveries, many in one statement: by the hundred, rows made one by one would cost more than all the rest."""

from collections.abc import Sequence
from uuid import UUID

from django.db import connection

from holdfast.kernel.ids import new_id
from webhooks.models import Replay

# One that is there already stays as it is. One that another makes right now is waited for, so
# all make them in one order.
_MAKE_DELIVERIES = """
    INSERT INTO webhooks_delivery (id, tenant_id, endpoint_id, message_id, replay_id)
    SELECT told.id, %s, told.endpoint_id, told.message_id, %s
    FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[]) AS told (id, endpoint_id, message_id)
    ON CONFLICT (endpoint_id, message_id) DO NOTHING
"""


def make_deliveries(tenant_id: UUID, told: Sequence[tuple[UUID, UUID]], replay: Replay | None = None) -> None:
    """A pending delivery, due now, for each endpoint and message. In a tenant transaction."""
    in_order = sorted((endpoint_id, message_id, new_id()) for endpoint_id, message_id in told)
    endpoint_ids, message_ids, ids = (list(each) for each in zip(*in_order, strict=True))
    replay_id = replay.id if replay else None
    with connection.cursor() as cursor:
        cursor.execute(_MAKE_DELIVERIES, [tenant_id, replay_id, ids, endpoint_ids, message_ids])
