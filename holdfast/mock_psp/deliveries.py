"""The queue of callbacks: written with the fact it tells of, kept until HoldFast has taken it."""

import secrets
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import orjson

from holdfast.mock_psp.methods import Method
from holdfast.mock_psp.requests import NewCharge, NewRefund

# after so many, about an hour and a half, it is given up: HoldFast finds the charge without it
ATTEMPTS_MAX = 100
RETRY_SECONDS_MAX = 60.0
FIRST_RETRY_SECONDS = 0.5
# whoever claimed one and was killed has it no longer
CLAIM_SECONDS = 15.0
_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Delivery:
    """A callback to be sent to `url`; `attempts` counts this one."""

    number: int
    merchant: str
    url: str
    body: bytes
    attempts: int


class Deliveries:
    """Every method is a transaction, but `tell`, which is part of one."""

    def __init__(
        self, transaction: Callable[[], AbstractContextManager[sqlite3.Connection]], late_seconds: float
    ) -> None:
        self._transaction = transaction
        self._late_seconds = late_seconds
        self._woken = threading.Event()

    def tell(self, connection: sqlite3.Connection, kind: str, order: NewCharge | NewRefund, method: Method) -> None:
        """Queue the news, as often and as late as the method has it; all copies have one id."""
        body = orjson.dumps({"id": f"mev_{secrets.token_hex(12)}", "type": kind, "reference": order.key})
        due_at = _now() + (self._late_seconds if method.late else 0) * _SECOND
        statement = "INSERT INTO delivery (merchant, url, body, due_at) VALUES (?, ?, ?, ?)"
        values = (order.merchant, order.callback_url, body, int(due_at))
        connection.executemany(statement, [values] * method.callbacks)

    def wake(self) -> None:
        """Something was queued and committed."""
        self._woken.set()

    def next(self) -> Delivery:
        """Wait for one that is due, and claim it."""
        while True:
            with self._transaction() as connection:
                (due_at,) = connection.execute("SELECT min(due_at) FROM delivery").fetchone()
                if due_at is not None and due_at <= _now():
                    return _claim(connection)
            self._woken.wait(60.0 if due_at is None else max(due_at - _now(), 0) / _SECOND)
            # cleared before the next look, which sees whatever was committed before it was set again
            self._woken.clear()

    def done(self, delivery: Delivery) -> None:
        """It was taken, or is given up."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM delivery WHERE number = ?", (delivery.number,))

    def try_later(self, delivery: Delivery) -> None:
        """It was not taken: later each time, and not for ever."""
        if delivery.attempts >= ATTEMPTS_MAX:
            self.done(delivery)
            return
        seconds = min(FIRST_RETRY_SECONDS * 2 ** min(delivery.attempts - 1, 20), RETRY_SECONDS_MAX)
        with self._transaction() as connection:
            due_at = _now() + int(seconds * _SECOND)
            connection.execute("UPDATE delivery SET due_at = ? WHERE number = ?", (due_at, delivery.number))
        self.wake()


def _claim(connection: sqlite3.Connection) -> Delivery:
    statement = """
        UPDATE delivery SET attempts = attempts + 1, due_at = ?
        WHERE number = (SELECT number FROM delivery ORDER BY due_at, number LIMIT 1)
        RETURNING number, merchant, url, body, attempts
    """
    return Delivery(*connection.execute(statement, (_now() + int(CLAIM_SECONDS * _SECOND),)).fetchall()[0])


def _now() -> int:
    return int(time.time() * _SECOND)
