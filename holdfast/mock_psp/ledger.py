"""The books: each write is one transaction, on the disk when it returns; with it go the callbacks that tell of it.

One connection, taken in turns. Two servers on one file are as safe: the transactions and the keys of the tables decide.
"""

import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from holdfast.mock_psp.deliveries import Deliveries
from holdfast.mock_psp.methods import Method, method_of
from holdfast.mock_psp.requests import Filter, NewCharge, NewRefund, Refused
from holdfast.mock_psp.schema import open_file

_CHARGES = """
    SELECT * FROM charge
    WHERE (:merchant IS NULL OR merchant = :merchant) AND (:reference IS NULL OR key = :reference)
      AND created_at >= :created_from AND created_at < :created_to AND number > :after
    ORDER BY number LIMIT :limit
"""
_FOR_EVER = 2**62


class Ledger:
    """Charges and refunds; `deliveries` is the queue of callbacks."""

    def __init__(self, path: Path, late_callback_seconds: float) -> None:
        self._connection = open_file(path)
        self._turn = threading.Lock()
        self.deliveries = Deliveries(self.transaction, late_callback_seconds)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Alone on the file; committed on leaving, rolled back on an exception."""
        with self._turn:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def charge(self, order: NewCharge, method: Method) -> sqlite3.Row:
        """Charge, or find what this key has charged before. Raises Refused for a key of another charge."""
        with self.transaction() as connection:
            if found := _by_key(connection, "charge", order):
                if (found["asked"], found["currency"], found["method"]) != (order.amount, order.currency, order.method):
                    raise _reused(order.key)
                return found
            values = {
                "id": f"mch_{secrets.token_hex(12)}",
                "merchant": order.merchant,
                "key": order.key,
                "asked": order.amount,
                "amount": order.amount + method.extra,
                "currency": order.currency,
                "method": order.method,
                "status": "declined" if method.decline_code else "succeeded",
                "decline_code": method.decline_code,
                "created_at": microseconds(),
            }
            charge = _insert(connection, "charge", values)
            self.deliveries.tell(connection, f"charge.{charge['status']}", order, method)
            return charge

    def refund(self, order: NewRefund) -> sqlite3.Row:
        """Refund, or find what this key has refunded before; one that can't be is kept as failed.

        Raises Refused for a charge that is not there, and for a key of another refund.
        """
        with self.transaction() as connection:
            if found := _by_key(connection, "refund", order):
                if (found["charge"], found["amount"], found["currency"]) != (
                    order.charge,
                    order.amount,
                    order.currency,
                ):
                    raise _reused(order.key)
                return found
            charge = _charge_of(connection, order)
            failure_code = _why_not(charge, order)
            if failure_code is None:
                connection.execute(
                    "UPDATE charge SET refunded = refunded + ? WHERE id = ?", (order.amount, order.charge)
                )
            values = {
                "id": f"mre_{secrets.token_hex(12)}",
                "merchant": order.merchant,
                "key": order.key,
                "charge": order.charge,
                "amount": order.amount,
                "currency": order.currency,
                "status": "failed" if failure_code else "succeeded",
                "failure_code": failure_code,
                "created_at": microseconds(),
            }
            refund = _insert(connection, "refund", values)
            self.deliveries.tell(connection, f"refund.{refund['status']}", order, method_of(charge["method"]))
            return refund

    def charges(self, chosen: Filter) -> Sequence[sqlite3.Row]:
        """A page of them, in the order of their making."""
        values = {
            "merchant": chosen.merchant,
            "reference": chosen.reference,
            "created_from": microseconds(chosen.created_from) if chosen.created_from else 0,
            "created_to": microseconds(chosen.created_to) if chosen.created_to else _FOR_EVER,
            "after": chosen.after,
            "limit": chosen.limit,
        }
        return self._read(_CHARGES, values)

    def charge_by_id(self, charge: str) -> sqlite3.Row | None:
        """The charge, or None."""
        return next(iter(self._read("SELECT * FROM charge WHERE id = ?", (charge,))), None)

    def refunds_of(self, charge: str) -> Sequence[sqlite3.Row]:
        """Every refund of this charge, failed ones too."""
        return self._read("SELECT * FROM refund WHERE charge = ? ORDER BY number", (charge,))

    def _read(self, statement: str, values: Any) -> Sequence[sqlite3.Row]:
        with self._turn:
            return self._connection.execute(statement, values).fetchall()


def microseconds(moment: datetime | None = None) -> int:
    """The moment, or now, in microseconds since 1970."""
    return int((moment.timestamp() if moment else time.time()) * 1_000_000)


def _by_key(connection: sqlite3.Connection, table: str, order: NewCharge | NewRefund) -> sqlite3.Row | None:
    statement = f"SELECT * FROM {table} WHERE merchant = ? AND key = ?"  # noqa: S608 - two names of our own
    found: sqlite3.Row | None = connection.execute(statement, (order.merchant, order.key)).fetchone()
    return found


def _charge_of(connection: sqlite3.Connection, order: NewRefund) -> sqlite3.Row:
    statement = "SELECT * FROM charge WHERE id = ? AND merchant = ?"
    charge: sqlite3.Row | None = connection.execute(statement, (order.charge, order.merchant)).fetchone()
    if charge is None:
        raise Refused(HTTPStatus.NOT_FOUND, "unknown_charge", order.charge)
    return charge


def _why_not(charge: sqlite3.Row, order: NewRefund) -> str | None:
    if charge["status"] != "succeeded":
        return "charge_not_succeeded"
    if charge["currency"] != order.currency:
        return "wrong_currency"
    if charge["refunded"] + order.amount > charge["amount"]:
        return "exceeds_charge"
    return None


def _insert(connection: sqlite3.Connection, table: str, values: dict[str, Any]) -> sqlite3.Row:
    columns, places = ", ".join(values), ", ".join(f":{name}" for name in values)
    statement = f"INSERT INTO {table} ({columns}) VALUES ({places}) RETURNING *"  # noqa: S608 - names of our own
    inserted: sqlite3.Row = connection.execute(statement, values).fetchall()[0]
    return inserted


def _reused(key: str) -> Refused:
    return Refused(HTTPStatus.CONFLICT, "key_reused", f"{key} was sent with other parameters")
