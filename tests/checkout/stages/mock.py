"""The mock provider on the suite's stage: its real server, whose books are read from its file."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from reservations.checkout.mock import MockProvider
from reservations.checkout.mock_signature import HEADER, callback_secrets, sign
from tests.checkout.stages import Fate, SentCallback, Taken
from tests.support.psp import Psp, mock_psp
from tests.support.receiver import Receiver, receiver
from tests.support.web import free_port

ACCOUNT = "0192f0c8-5f3e-7d4a-9c1b-2f6a8e4d7b10"
METHODS: Mapping[Fate, str] = {
    Fate.SUCCEEDS: "tok_ok",
    Fate.DECLINED: "tok_declined",
    Fate.UNKNOWN_AND_TAKEN: "tok_reset_after_charge",
    Fate.UNKNOWN_AND_NOT_TAKEN: "tok_reset_before_charge",
}


class MockStage:
    """A `Stage`."""

    decline_code = "card_declined"

    def __init__(self, psp: Psp, receiving: Receiver) -> None:
        self._psp = psp
        self._receiving = receiving
        self.provider = MockProvider(psp.url, ACCOUNT)
        self.away = MockProvider(f"http://127.0.0.1:{free_port()}", ACCOUNT)
        self.callback_url = receiving.url

    def method(self, fate: Fate) -> str:
        return METHODS[fate]

    def taken(self, key: str) -> Sequence[Taken]:
        return [
            Taken(row["id"], row["amount"], row["currency"], row["refunded"])
            for row in self._psp.charges(key)
            if row["status"] == "succeeded"
        ]

    def callback(self, key: str, *, age_seconds: int = 0, forged: bool = False) -> SentCallback:
        sent = self._receiving.wait_for(key)[0]
        if not age_seconds and not forged:
            return SentCallback(sent.body, sent.headers)
        secret = b"somebody else's" if forged else callback_secrets(ACCOUNT)[0]
        signature = sign(sent.body, secret, int(time.time()) - age_seconds)
        return SentCallback(sent.body, {**sent.headers, HEADER.lower(): signature})


@contextmanager
def stage() -> Iterator[MockStage]:
    """With a server and a receiver of its own."""
    with receiver() as receiving, mock_psp() as psp:
        yield MockStage(psp, receiving)
