"""What is done to tell other systems, each told in a word, for processes that die in the middle of it."""

from collections.abc import Callable
from uuid import UUID

from webhooks.couriers import Couriers
from webhooks.models import Endpoint
from webhooks.relay import relay


def post(tenant: UUID) -> str:
    """Relay what waits and send what is due, once to each endpoint; what came of it is written down at the end."""
    relay(tenant)
    with Couriers(is_slow=False) as couriers:
        taken = [couriers.take_up(tenant, endpoint.id) for endpoint in Endpoint.everywhere.filter(tenant_id=tenant)]
    return str(sum(taken))


POSTING: dict[str, Callable[..., str]] = {"post": post}
