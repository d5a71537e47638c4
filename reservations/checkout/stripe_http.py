"""How the `stripe` package sends: one call each, all within the deadline of the adapter's call, and nothing more than
is asked. Its telemetry and its description of this machine stay here."""

import time
from collections.abc import Mapping
from typing import Any, ClassVar

import stripe

from reservations.checkout.calls import NoAnswer, call

ANSWER_BYTES_MAX = 8 * 1024 * 1024
_SENT = frozenset({"authorization", "content-type", "idempotency-key", "stripe-version", "user-agent"})


class BoundedClient(stripe.HTTPClient):
    """Sends what comes from one `StripeClient`, until a moment of the monotonic clock."""

    name: ClassVar[str] = "holdfast"

    def __init__(self, until: float) -> None:
        super().__init__()
        self._until = until

    def request(
        self, method: str, url: str, headers: Mapping[str, str] | None, post_data: Any = None, **_: Any
    ) -> tuple[str, int, Mapping[str, str]]:
        """Raises APIConnectionError where no whole answer came in time. The answer's headers decide nothing here."""
        sent = {name: value for name, value in (headers or {}).items() if name.lower() in _SENT}
        body = post_data.encode() if isinstance(post_data, str) else post_data
        try:
            answer = call(
                method.upper(),
                url,
                headers=sent,
                body=body,
                deadline_seconds=max(0.0, self._until - time.monotonic()),
                answer_bytes_max=ANSWER_BYTES_MAX,
            )
        except NoAnswer as error:
            raise stripe.APIConnectionError(str(error)) from error  # type: ignore[no-untyped-call]
        return answer.body.decode(errors="replace"), answer.status, {}

    def close(self) -> None:
        """The connections are not its own."""
