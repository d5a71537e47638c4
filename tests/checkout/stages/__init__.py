"""What the conformance suite needs of a provider beside the provider itself: a stage, one for each provider.

A stage is opened once and serves every test; each test brings keys of its own. It adds itself to `STAGES` in
`tests/checkout/test_provider_conformance.py` as a context manager that takes no arguments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from reservations.checkout.provider import PaymentProvider


class Fate(StrEnum):
    """What shall become of a charge: chosen by its method."""

    SUCCEEDS = "succeeds"
    DECLINED = "declined"
    # no answer comes that can be read, and the money is taken
    UNKNOWN_AND_TAKEN = "unknown and taken"
    # no answer comes that can be read, and nothing is taken, however often it is sent
    UNKNOWN_AND_NOT_TAKEN = "unknown and not taken"


@dataclass(frozen=True)
class Taken:
    """A charge that took money, as the provider's own books have it, read past the adapter."""

    reference: str
    amount: int
    currency: str
    refunded: int


@dataclass(frozen=True)
class SentCallback:
    """A callback as it arrives: the raw body, and the headers with their names in lower case."""

    body: bytes
    headers: Mapping[str, str]


class Stage(Protocol):
    """One provider, ready to be asked."""

    # answers; its deadline may be shorter than the product's, so that an unknown outcome takes no ten seconds
    provider: PaymentProvider
    # the same adapter, where nobody answers
    away: PaymentProvider
    callback_url: str
    # what a charge of the fate DECLINED says
    decline_code: str

    def method(self, fate: Fate) -> str:
        """The method that brings it about."""
        ...

    def taken(self, key: str) -> Sequence[Taken]:
        """The charges under this key that took money."""
        ...

    def callback(self, key: str, *, age_seconds: int = 0, forged: bool = False) -> SentCallback:
        """A callback about the charge of this key, signed that long ago; `forged` is signed by somebody else."""
        ...
