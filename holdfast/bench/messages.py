"""What is told in a run, and to whom: endpoints, and messages about subjects that nothing else knows."""

from datetime import timedelta
from uuid import UUID

from django.db import connections

from holdfast.kernel.clock import database_now
from holdfast.kernel.ids import new_id
from tenants.scope import tenant_transaction
from webhooks.models import Attempt, Delivery, DeliveryStatus, Endpoint, Message
from webhooks.operations.endpoints import create_endpoint
from webhooks.outbox import Fact, publish
from webhooks.retry import BREAKER_OPENS_AFTER_FAILURES

MESSAGES_A_TRANSACTION = 500
REST = timedelta(hours=1)
# about as long as a hold's
DATA = {"note": "x" * 400}


def listen(tenant_id: UUID, url: str, events: str) -> UUID:
    """A new endpoint that is told of these; its id."""
    endpoint, _ = create_endpoint(tenant_id=tenant_id, url=url, events=[events])
    return endpoint.id


def rest(tenant_id: UUID, endpoint_id: UUID) -> None:
    """Nothing is sent to it until it is enabled anew; what is said meanwhile becomes due."""
    with tenant_transaction(tenant_id):
        now = database_now()
        Endpoint.objects.filter(id=endpoint_id).update(
            failures=BREAKER_OPENS_AFTER_FAILURES, failing_since=now, breaker_openings=1, breaker_until=now + REST
        )


def say(tenant_id: UUID, message_type: str, count: int = 1) -> list[UUID]:
    """So many messages, committed; their ids."""
    subject = message_type.partition(".")[0]
    said: list[UUID] = []
    while len(said) < count:
        batch = range(min(MESSAGES_A_TRANSACTION, count - len(said)))
        with tenant_transaction(tenant_id):
            said += publish([Fact(message_type, subject, new_id(), DATA, is_first=True) for _ in batch])
    return said


def count_pending(endpoint_id: UUID) -> int:
    """Its deliveries that are not settled."""
    return Delivery.everywhere.filter(endpoint_id=endpoint_id, status=DeliveryStatus.PENDING).count()


def tidy() -> None:
    """As autovacuum would leave the tables soon; see `holdfast.bench.stock.tidy`."""
    tables = ", ".join(model._meta.db_table for model in (Endpoint, Message, Delivery, Attempt))
    with connections["owner"].cursor() as cursor:
        cursor.execute(f"VACUUM (ANALYZE) {tables}")
