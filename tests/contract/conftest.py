"""A sale: a tenant, its client, an event and its units, so that each test says only what it is about."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from reservations.models import Event, Unit
from tests.contract import expect
from tests.support.client import Api

EVENT = {
    "slug": "summer-night",
    "name": "Summer night",
    "kind": "seats",
    "currency": "EUR",
    "timezone": "Europe/Berlin",
}


@dataclass(frozen=True)
class Sale:
    """An event with units, and the calls that most tests make on it."""

    tenant: Any
    api: Api
    event: Event
    units: list[Unit]

    @property
    def path(self) -> str:
        return f"/v1/events/{self.event.id}"

    @property
    def labels(self) -> list[str]:
        return [unit.label for unit in self.units]

    @property
    def ids(self) -> list[str]:
        return [str(unit.id) for unit in self.units]

    def ask(self, headers: dict[str, str] | None = None, **body: Any) -> Any:
        """POST /v1/holds for this event, for Ada unless another is named."""
        body = {"event": str(self.event.id), "customer": "ada@example.org"} | body
        return self.api.post("/v1/holds", body, headers=headers)

    def hold(self, **body: Any) -> Any:
        """A hold that must be granted."""
        return expect.body(self.ask(**body), 201)

    def statuses(self) -> dict[str, str]:
        """Each unit's label and status, as the list shows them."""
        page = expect.body(self.api.get(f"{self.path}/units?limit=200"))
        return {unit["label"]: unit["status"] for unit in page["data"]}

    def holds(self, query: str = "") -> list[Any]:
        found: list[Any] = expect.body(self.api.get(f"/v1/holds?event={self.event.id}&limit=200{query}"))["data"]
        return found


@pytest.fixture
def make_sale(
    make_tenant: Callable[..., Any],
    make_event: Callable[..., Event],
    make_units: Callable[..., list[Unit]],
    api: Callable[..., Api],
) -> Callable[..., Sale]:
    """`make_sale(3, tenant=None, section="", price_amount=0, **event fields)`; labels are U-1, U-2, …"""

    def make(
        units: int | Sequence[str] = 3, *, tenant: Any = None, section: str = "", price_amount: int = 0, **fields: Any
    ) -> Sale:
        tenant = tenant or make_tenant()
        event = make_event(tenant, **fields)
        labels = [f"U-{number}" for number in range(1, units + 1)] if isinstance(units, int) else list(units)
        made = make_units(tenant, event, labels=labels, section=section, price_amount=price_amount) if labels else []
        return Sale(tenant, api(tenant), event, made)

    return make


@pytest.fixture
def sale(make_sale: Callable[..., Sale]) -> Sale:
    """Three seats on sale."""
    return make_sale()


@pytest.fixture
def client(tenant: Any, api: Callable[..., Api]) -> Api:
    """A client of a tenant that has nothing yet."""
    return api(tenant)
