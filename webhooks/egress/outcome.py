"""How an attempt ended: a closed set, stored and shown. Nobody has to read an error's text."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """The first four are answers and have a status code; the others have none."""

    DELIVERED = "delivered"
    """2xx. What then becomes of the answer's body changes nothing."""
    GONE = "gone"
    """410: the receiver wants no more."""
    REDIRECTED = "redirected"
    """3xx. Redirects are never followed: they would lead past all checks."""
    REJECTED = "rejected"
    """Any other answer."""

    REFUSED_URL = "refused_url"
    """The URL is not one that may be sent to; nothing was looked up."""
    REFUSED_ADDRESS = "refused_address"
    """An address of the host is not public, or another one answered; nothing was sent."""
    UNRESOLVABLE = "unresolvable"
    """The name has no address, or none was found in time."""
    CONNECT_FAILED = "connect_failed"
    """Nobody listens there, or there is no way there."""
    TLS_FAILED = "tls_failed"
    """The certificate is not good for the name, or there was no agreement on TLS 1.2 or newer."""
    TIMED_OUT = "timed_out"
    """No connection, or no whole head of an answer, in time. The receiver may have the message."""
    RESET = "reset"
    """The connection ended before a whole head of an answer. The receiver may have the message."""
    PROTOCOL_ERROR = "protocol_error"
    """What came is no HTTP, or its head has no end. The receiver may have the message."""


class NoAnswer(Exception):
    """The attempt ended without a status code."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Answer:
    """How an attempt ended. `retry_after_seconds` is what a 429 or 503 asks for, a day at the most; `response` is the
    beginning of the answer's body, as it came."""

    outcome: Outcome
    status_code: int | None
    retry_after_seconds: int | None
    response: bytes
    duration_ms: int
