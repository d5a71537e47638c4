"""Refusals about events, units and holds.

Refusal (holdfast.kernel.errors)
├── LimitExceeded             422  over the hold's or the customer's limit
└── Conflict                  409
    ├── InvalidTransition          the event is not in a state for this move
    ├── UnitsUnavailable           a named unit is held, sold or blocked
    ├── SoldOut                    fewer than asked are left
    └── NotOnSale                  the event sells nothing now
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from holdfast.kernel.errors import Conflict, Refusal


class InvalidTransition(Conflict):
    slug, title = "invalid-transition", "The state does not allow this move"


@dataclass(frozen=True, slots=True)
class UnavailableUnit:
    """A unit that was asked for, and the status that stands in the way."""

    unit: UUID
    label: str
    status: str

    def document(self) -> dict[str, str]:
        return {"unit": str(self.unit), "label": self.label, "status": self.status}


class UnitsUnavailable(Conflict):
    slug, title = "units-unavailable", "Some of these units are not available"

    def __init__(self, units: Sequence[UnavailableUnit]) -> None:
        named = ", ".join(f"{unit.label} is {unit.status}" for unit in units[:5])
        super().__init__(f"{named}.", unavailable=[unit.document() for unit in units])
        self.units = tuple(units)


class SoldOut(Conflict):
    slug, title = "sold-out", "Not enough units are left"

    def __init__(self, available: int, requested: int) -> None:
        super().__init__(f"{requested} asked, {available} left.", available=available)


class NotOnSale(Conflict):
    slug, title = "not-on-sale", "The event is not on sale"

    def __init__(self, reason: str) -> None:
        super().__init__(f"The event sells nothing now: {reason.replace('_', ' ')}.", reason=reason)


class HoldConverted(Conflict):
    slug, title = "hold-converted", "The hold has become an order"


class ExtensionLimit(Conflict):
    slug, title = "extension-limit", "The hold can't be extended any more"


class Gone(Refusal):
    status, slug, title = 410, "gone", "It has ended"
    stored = True


class HoldExpired(Gone):
    slug, title = "hold-expired", "The hold's time has passed"


class HoldReleased(Gone):
    slug, title = "hold-released", "The hold was released"


class LimitExceeded(Refusal):
    status, slug, title = 422, "limit-exceeded", "That is more than the limit"

    def __init__(self, *, rule: str, limit: int, in_use: int, requested: int) -> None:
        members: dict[str, Any] = {"rule": rule, "limit": limit, "in_use": in_use, "requested": requested}
        super().__init__(f"{requested} asked, {in_use} in use, {limit} allowed ({rule}).", **members)
