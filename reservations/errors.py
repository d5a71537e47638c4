"""Refusals about events, units and holds.

Refusal (holdfast.kernel.errors)
├── LimitExceeded             422  over the hold's or the customer's limit
├── PaymentDeclined           402  the provider refused the charge
├── TooManyBadTokens          429  try again later: only good tickets are taken
├── Gone                      410
│   ├── HoldExpired                its time has passed
│   ├── HoldReleased               it was given back
│   └── TicketVoid                 it was refunded
└── Conflict                  409
    ├── InvalidTransition          the event or order is not in a state for this move
    ├── UnitsUnavailable           a named unit is held, sold or blocked
    ├── SoldOut                    fewer than asked are left
    ├── NotOnSale                  the event sells nothing now
    ├── HoldConverted              it has become an order
    ├── ExtensionLimit             it can't be extended any more
    ├── CheckoutInProgress         try again: the hold is being paid
    ├── NothingToRefund            all that was paid has gone back
    ├── TicketRedeemed             it let somebody in before
    └── TicketElsewhere            it is for another event
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

    def __init__(self, order_id: UUID | None) -> None:
        super().__init__(order=str(order_id) if order_id else None)


class CheckoutInProgress(Conflict):
    slug, title = "checkout-in-progress", "The hold is being paid"
    stored = False

    def __init__(self, order_id: UUID) -> None:
        super().__init__("Ask again when its payment is decided.", retry_after_seconds=2, order=str(order_id))


class NothingToRefund(Conflict):
    slug, title = "nothing-to-refund", "There is nothing left to refund"


class PaymentDeclined(Refusal):
    status, slug, title = 402, "payment-declined", "The payment was declined"
    stored = True

    def __init__(self, order_id: UUID, decline_code: str | None) -> None:
        told = f"The provider said: {decline_code or 'declined'}."
        if decline_code == "provider_unavailable":
            told = "The provider did not take the charge; nothing was paid. Try again."
        super().__init__(told, decline_code=decline_code, order=str(order_id))


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


class TicketVoid(Gone):
    slug, title = "ticket-void", "The ticket was refunded"


class TicketRedeemed(Conflict):
    slug, title = "ticket-redeemed", "The ticket was used before"

    def __init__(self, redeemed_at: str | None, gate: str | None) -> None:
        super().__init__(redeemed_at=redeemed_at, gate=gate)


class TicketElsewhere(Conflict):
    slug, title = "ticket-of-another-event", "The ticket is for another event"


class TooManyBadTokens(Refusal):
    status, slug, title = 429, "too-many-requests", "Too many tokens that are none"

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__("Only good ones are taken for a while.", retry_after_seconds=retry_after_seconds)
