"""What webhooks tell of themselves: each fact with the endpoint as its GET shows it at that moment."""

from uuid import UUID

from webhooks.models import Endpoint
from webhooks.outbox import Fact
from webhooks.queries.endpoints import endpoint_json


def endpoint_fact(message_type: str, endpoint: Endpoint, *, only_to: UUID | None = None) -> Fact:
    """An `endpoint.*` message, or a ping."""
    return Fact(message_type, "endpoint", endpoint.id, endpoint_json(endpoint), only_to=only_to)
