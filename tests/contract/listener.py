"""A tenant who listens: an endpoint made over HTTP, a server that takes its deliveries, and the calls that tests make.

What happens in between is done step by step in this process, as `tests.webhooks.post` has it.
"""

from typing import Any
from uuid import UUID

from tests.contract import expect
from tests.support.client import Api
from tests.support.hooks import Hooks
from tests.webhooks.post import Post
from webhooks.models import Endpoint
from webhooks.relay import relay

ENDPOINTS, DELIVERIES, REPLAYS = "/v1/webhooks/endpoints", "/v1/webhooks/deliveries", "/v1/webhooks/replays"
FIELDS = {
    *("id", "url", "events", "description", "status", "disabled_reason", "created_at"),
    *("last_success_at", "failing_since", "disabled_at_latest", "resting_until"),
}
# https, and of nobody
URL = "https://shop.example.org/hooks"
BODY = {"url": URL, "events": ["hold.*", "order.confirmed"]}


class Listener(Post):
    """`listener.place` takes what is sent to the endpoint that was made first, which `listener.path` names."""

    def __init__(self, tenant: Any, api: Api, hooks: Hooks) -> None:
        super().__init__(tenant.id, hooks)
        self.api = api

    def listen(self, events: Any = ("hold.*",), **body: Any) -> Endpoint:
        place = self.hooks.place()
        made = self.api.post(ENDPOINTS, {"url": place.url, "events": list(events), **body})
        shown = expect.body(made, 201)
        endpoint = Endpoint.everywhere.get(id=shown["id"])
        self.places[endpoint.id], self.secrets[endpoint.id] = place, shown["secret"]
        return endpoint

    @property
    def path(self) -> str:
        return f"{ENDPOINTS}/{self.id}"

    @property
    def secret(self) -> str:
        return self.secrets[self.id]

    def shown(self) -> Any:
        """The endpoint as its GET shows it."""
        return expect.body(self.api.get(self.path))

    def call(self, verb: str, body: Any = None, **kwargs: Any) -> Any:
        """`call("ping")`: a POST about the endpoint."""
        return self.api.post(f"{self.path}/{verb}", {} if body is None else body, **kwargs)

    def relay(self) -> None:
        """Make the deliveries of what was said by now."""
        while relay(self.tenant)[0]:
            pass

    def listed(self, query: str = "") -> list[Any]:
        """Deliveries, as the list shows them."""
        rows: list[Any] = expect.body(self.api.get(f"{DELIVERIES}?limit=200&{query}"))["data"]
        return rows

    def delivery_shown(self, delivery_id: UUID | str) -> Any:
        return expect.body(self.api.get(f"{DELIVERIES}/{delivery_id}"))
