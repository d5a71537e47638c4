"""Stripe on the suite's stage: a server that speaks its API, whose books are read past the adapter."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from reservations.checkout.stripe import StripeProvider
from reservations.checkout.stripe_amounts import from_stripe
from tests.checkout.stages import Fate, SentCallback, Taken
from tests.support.stripe_server import KEY, WEBHOOK_SECRET, Server, event, signed, stripe_server
from tests.support.web import free_port

METHODS: Mapping[Fate, str] = {
    Fate.SUCCEEDS: "pm_card_visa",
    Fate.DECLINED: "pm_card_chargeDeclined",
    Fate.UNKNOWN_AND_TAKEN: "pm_reset_after_charge",
    Fate.UNKNOWN_AND_NOT_TAKEN: "pm_reset_before_charge",
}


class StripeStage:
    """A `Stage`. Its provider takes a key that is new for settled: nothing is under way on this server."""

    decline_code = "generic_decline"
    callback_url = "https://tickets.example.org/v1/payments/callbacks/stripe/1"

    def __init__(self, server: Server) -> None:
        self._books = server.books
        self.provider = StripeProvider(KEY, WEBHOOK_SECRET, server=server.url, settled_seconds=0)
        self.away = StripeProvider(KEY, WEBHOOK_SECRET, server=f"http://127.0.0.1:{free_port()}")

    def method(self, fate: Fate) -> str:
        return METHODS[fate]

    def taken(self, key: str) -> Sequence[Taken]:
        return [
            Taken(
                intent["id"],
                from_stripe(intent["amount_received"], intent["currency"].upper()),
                intent["currency"].upper(),
                from_stripe(intent["latest_charge"]["amount_refunded"], intent["currency"].upper()),
            )
            for intent in self._books.under_key(key)
            if intent["status"] == "succeeded"
        ]

    def callback(self, key: str, *, age_seconds: int = 0, forged: bool = False) -> SentCallback:
        (intent,) = self._books.under_key(key)
        body = event("payment_intent.succeeded", intent, f"evt_{intent['id']}")
        secret = "whsec_of_somebody_else_entirely" if forged else WEBHOOK_SECRET
        return SentCallback(body, signed(body, age_seconds=age_seconds, secret=secret))


@contextmanager
def stage() -> Iterator[StripeStage]:
    """With a server of its own."""
    with stripe_server() as server:
        yield StripeStage(server)
