"""A tenant who tells things to those who listen, step by step in this process: no worker, no Redis, no thread."""

import secrets
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from tenants.scope import tenant_transaction
from tests.support.hooks import Hooks, Place
from webhooks.delivery import IN_FLIGHT_MAX, Claimed, claim, record, send
from webhooks.egress import Answer, Outcome
from webhooks.models import Attempt, Delivery, Endpoint, Message
from webhooks.operations.endpoints import create_endpoint
from webhooks.outbox import Fact, publish
from webhooks.relay import relay

OK = Answer(Outcome.DELIVERED, 200, None, b"", 5)
FAILED = Answer(Outcome.REJECTED, 500, None, b"", 5)
SECONDS, MINUTES, HOURS, DAYS = 1, 60, 3600, 86_400


class Post:
    """`post.endpoint` listens at `post.place`; others made by `listen` have places of their own."""

    def __init__(self, tenant_id: UUID, hooks: Hooks) -> None:
        self.tenant = tenant_id
        self.hooks = hooks
        self.places: dict[UUID, Place] = {}
        self.secrets: dict[UUID, str] = {}

    def listen(self, events: Sequence[str] = ("hold.*",)) -> Endpoint:
        place = self.hooks.place()
        endpoint, secret = create_endpoint(tenant_id=self.tenant, url=place.url, events=list(events))
        self.places[endpoint.id], self.secrets[endpoint.id] = place, secret
        return endpoint

    @property
    def id(self) -> UUID:
        """Of the endpoint that was made first."""
        return next(iter(self.places))

    @property
    def place(self) -> Place:
        return self.places[self.id]

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint.everywhere.get(id=self.id)

    def say(self, count: int = 1, message_type: str = "hold.created", **data: Any) -> list[UUID]:
        """So many messages, committed; their ids."""
        with tenant_transaction(self.tenant):
            return list(publish([fact(message_type, **data) for _ in range(count)]))

    def tell(self, count: int = 1, **fields: Any) -> list[Delivery]:
        """Messages with their deliveries to the first endpoint, in that order."""
        ids = self.say(count, **fields)
        while relay(self.tenant)[0]:
            pass
        return [self.delivery(message_id) for message_id in ids]

    def delivery(self, message_id: UUID) -> Delivery:
        return Delivery.everywhere.get(message_id=message_id, endpoint_id=self.id)

    def deliveries(self, endpoint_id: UUID | None = None) -> list[Delivery]:
        return list(Delivery.everywhere.filter(endpoint_id=endpoint_id or self.id).order_by("message_id"))

    def attempts(self, delivery: Delivery) -> list[Attempt]:
        return list(Attempt.everywhere.filter(delivery=delivery).order_by("at", "id"))

    def waiting(self) -> int:
        """Messages that wait for the relay."""
        return Message.everywhere.filter(tenant_id=self.tenant, waits_for_relay=True).count()

    def claim(self, count: int = IN_FLIGHT_MAX, endpoint_id: UUID | None = None) -> list[Claimed]:
        endpoint = Endpoint.everywhere.get(id=endpoint_id or self.id)
        return claim(tenant_id=self.tenant, endpoint_id=endpoint.id, count_max=count, is_slow=endpoint.is_slow)

    def carry(self, count: int = IN_FLIGHT_MAX, endpoint_id: UUID | None = None) -> int:
        """One round for real: claim, send, record."""
        claimed = self.claim(count, endpoint_id)
        for one in claimed:
            note(one, send(one))
        return len(claimed)

    def answer(self, answer: Answer, count: int = IN_FLIGHT_MAX) -> int:
        """One round in which nothing is sent, and this is what came back."""
        claimed = self.claim(count)
        for one in claimed:
            note(one, answer)
        return len(claimed)


def fact(message_type: str = "hold.created", **data: Any) -> Fact:
    """About a subject that nothing else knows."""
    return Fact(message_type, "hold", UUID(bytes=secrets.token_bytes(16)), data, is_first=True)


def note(claimed: Claimed, answer: Answer) -> bool:
    """Write down what came of one; whether it was ours to say."""
    return record(claimed.endpoint_id, [(claimed, answer)]) == 1
