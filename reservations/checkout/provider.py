"""What HoldFast asks of a payment provider. Every adapter is held to it by one conformance suite.

An adapter calls the provider over HTTP, never inside a database transaction and never longer than DEADLINE_SECONDS. It
raises nothing for what the outside world does: a time-out, a reset, a 5xx or an answer that can't be read is UNKNOWN,
never a failure. All amounts are integers in the currency's minor unit.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

# for one call, from connecting to the last byte
DEADLINE_SECONDS = 10.0
# within it, a key that was sent before does nothing a second time (Stripe: 24 h)
KEYS_LIVE_SECONDS = 23 * 3600


class ChargeOutcome(StrEnum):
    """What became of a charge: closed, so that every caller can decide for each."""

    SUCCEEDED = "succeeded"
    DECLINED = "declined"
    NEEDS_ACTION = "needs_action"
    UNKNOWN = "unknown"
    # only of a lookup: the provider is sure that it has no such charge
    ABSENT = "absent"


class RefundOutcome(StrEnum):
    """What became of a refund."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ChargeOrder:
    """A charge to be made. `key` names it to the provider: the same key sent again charges nothing more."""

    key: str
    amount: int
    currency: str
    method: str
    callback_url: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Charge:
    """What the provider says of a charge; `reference` is its own id of it. `amount` and `currency` are what it took,
    where it took something; `refunded` is what it gave back of it."""

    outcome: ChargeOutcome
    reference: str | None = None
    amount: int | None = None
    currency: str | None = None
    refunded: int = 0
    decline_code: str | None = None


@dataclass(frozen=True, slots=True)
class RefundOrder:
    """A refund to be made, of all or a part of a charge that succeeded."""

    key: str
    charge_reference: str
    amount: int
    currency: str
    callback_url: str


@dataclass(frozen=True, slots=True)
class RefundAnswer:
    """What the provider says of a refund."""

    outcome: RefundOutcome
    reference: str | None = None
    failure_code: str | None = None


@dataclass(frozen=True, slots=True)
class CallbackNews:
    """What a callback with a good signature is about: nothing in it is believed but that it is worth to look.

    `reference` is the key of the payment or refund, or the provider's id of the charge.
    """

    event_id: str
    kind: str
    reference: str


@dataclass(frozen=True, slots=True)
class ListedCharge:
    """A charge as the provider lists it; `key` is ours, empty for one that did not come from here."""

    key: str
    reference: str
    outcome: ChargeOutcome
    amount: int
    currency: str
    refunded: int
    created_at: datetime


class BadSignature(Exception):
    """The callback was not signed by the provider, or is too old."""


class UnreadableCallback(BadSignature):
    """The provider signed it, and it is no event that can be read."""


class ProviderAway(Exception):
    """The provider could not be asked for its list."""


class PaymentProvider(Protocol):
    """One payment account of one tenant at a provider."""

    def charge(self, order: ChargeOrder) -> Charge:
        """Charge. SUCCEEDED, DECLINED, NEEDS_ACTION or UNKNOWN."""
        ...

    def lookup(self, key: str, reference: str | None) -> Charge:
        """The charge as it is now. ABSENT where the provider is sure that there is none, UNKNOWN where it can't be
        asked."""
        ...

    def refund(self, order: RefundOrder) -> RefundAnswer:
        """Give money back. The same key sent again gives nothing more, and is how an UNKNOWN is asked about."""
        ...

    def verify_callback(self, body: bytes, headers: Mapping[str, str]) -> CallbackNews:
        """Check the signature over the raw body; header names are in lower case. Raises BadSignature,
        UnreadableCallback."""
        ...

    def charges(self, since: datetime, until: datetime) -> Iterator[ListedCharge]:
        """The charges that were made in [since, until), in any order. Raises ProviderAway."""
        ...
