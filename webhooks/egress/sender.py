"""One attempt, from a URL to how it ended."""

import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus

from webhooks.egress.connection import connect
from webhooks.egress.exchange import Exchange, Head
from webhooks.egress.outcome import Answer, NoAnswer, Outcome
from webhooks.egress.policy import Deadline, Limits, Policy
from webhooks.egress.resolve import Lookup, addresses_of, system_lookup
from webhooks.egress.retry_after import retry_after_seconds
from webhooks.egress.urls import UrlRefused, parse

ASK_TO_WAIT = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends where the policy allows it to."""

    policy: Policy
    limits: Limits = field(default_factory=Limits)
    lookup: Lookup = system_lookup

    def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """POST the body once. Raises nothing for what the world outside does; h11.LocalProtocolError or ValueError for
        headers that can't be sent."""
        began = time.monotonic()
        head, kept = None, b""
        try:
            head, kept = self._exchange(url, body, headers)
            outcome = _outcome_of(head.status_code)
        except (NoAnswer, UrlRefused) as refused:
            outcome = refused.outcome
        except TimeoutError:
            outcome = Outcome.TIMED_OUT
        return Answer(
            outcome,
            status_code=head.status_code if head else None,
            retry_after_seconds=_asked_to_wait(head) if head else None,
            response=kept,
            duration_ms=round((time.monotonic() - began) * 1000),
        )

    def _exchange(self, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[Head, bytes]:
        limits = self.limits
        deadline = Deadline(limits.total_seconds)
        target = parse(url, self.policy)
        exchange = Exchange(target, body, headers)
        addresses = addresses_of(target, self.lookup, within_seconds=deadline.left(limits.resolve_seconds))
        with closing(connect(target, addresses, Deadline(deadline.left(limits.connect_seconds)))) as connected:
            return exchange.run(connected, deadline, limits)


def _outcome_of(status_code: int) -> Outcome:
    match status_code // 100, status_code:
        case 2, _:
            return Outcome.DELIVERED
        case 3, _:
            return Outcome.REDIRECTED
        case _, HTTPStatus.GONE:
            return Outcome.GONE
        case _:
            return Outcome.REJECTED


def _asked_to_wait(head: Head) -> int | None:
    return retry_after_seconds(head.retry_after, datetime.now(UTC)) if head.status_code in ASK_TO_WAIT else None
