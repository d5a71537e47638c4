"""What the allocator is asked, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Q

from holdfast.kernel.errors import Refusal
from reservations.customers import allowance_lock_name, customer_key
from reservations.models import Hold
from tenants.idempotency import Claim, KeptAnswer


@dataclass(frozen=True, slots=True)
class HoldRequest:
    """One hold, all or nothing: units by id, or by label, or any `quantity` of the event (of a section).

    `ttl_seconds` None is the event's. `claim` is the idempotency key that came with it, if one did.
    """

    event_id: UUID
    customer: str
    unit_ids: tuple[UUID, ...] = ()
    labels: tuple[str, ...] = ()
    quantity: int = 0
    section: str | None = None
    ttl_seconds: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    claim: Claim | None = None

    @property
    def size(self) -> int:
        """How many units are asked."""
        return len(self.unit_ids) or len(self.labels) or self.quantity

    @property
    def takes_any(self) -> bool:
        return self.quantity > 0

    @property
    def demand(self) -> "Demand":
        return Demand(self.event_id, self.section)

    @property
    def lock_names(self) -> list[bytes]:
        """What no two requests may work on at once: the idempotency key, and what the customer has in use."""
        return [self.allowance.lock_name, *([self.claim.lock_name] if self.claim else [])]

    @property
    def allowance(self) -> "Allowance":
        return Allowance(self.event_id, customer_key(self.customer))


@dataclass(frozen=True, slots=True)
class Demand:
    """Where any-N takes from: an event, or one section of it (None is the whole event)."""

    event_id: UUID
    section: str | None

    @property
    def where(self) -> Q:
        """The units that may serve it, whatever their status."""
        section = {} if self.section is None else {"section": self.section}
        return Q(event_id=self.event_id, **section)


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whose limit it is: a customer of an event."""

    event_id: UUID
    customer_key: bytes

    @property
    def lock_name(self) -> bytes:
        return allowance_lock_name(self.event_id, self.customer_key)


@dataclass(frozen=True, slots=True)
class Granted:
    """The hold as it was committed, and its body as POST answers it."""

    hold: Hold
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why not; nothing is held."""

    refusal: Refusal


@dataclass(frozen=True, slots=True)
class Replayed:
    """The first answer to the same request."""

    answer: KeptAnswer


@dataclass(frozen=True, slots=True)
class Contended:
    """Nothing was decided: others hold what was asked, and may yet leave it. Never leaves the allocator."""


Outcome = Granted | Refused | Replayed | Contended
