"""What most tests of the contract start from."""

from dataclasses import dataclass
from typing import Any

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
