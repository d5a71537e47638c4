"""What the tests of the Stripe adapter ask for, and what they let its server say."""

import time
from datetime import UTC, datetime, timedelta
from uuid import UUID

from reservations.checkout.provider import Charge, ChargeOrder, RefundOrder

DEADLINE_SECONDS = 1.0
HEAD = b"HTTP/1.1 %d X\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b"


def said(status: int, body: bytes) -> bytes:
    return HEAD % (status, len(body), body)


def key_of_age(**age: float) -> str:
    """As the product would have made it that long ago."""
    milliseconds = int((datetime.now(UTC) - timedelta(**age)).timestamp() * 1000)
    return f"hf-{UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62 | time.monotonic_ns() % 2**62)}"


def order(key: str, method: str = "pm_card_visa", amount: int = 2500, currency: str = "EUR") -> ChargeOrder:
    return ChargeOrder(key, amount, currency, method, "https://tickets.example.org/callback", "Two seats")


def back(charge: Charge, key: str, amount: int = 2500) -> RefundOrder:
    assert charge.reference is not None
    return RefundOrder(key, charge.reference, amount, "EUR", "https://tickets.example.org/callback")
