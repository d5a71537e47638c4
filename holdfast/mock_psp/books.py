"""Read the mock provider's file past its server, which need not run."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from holdfast.mock_psp.schema import BUSY_SECONDS

CHARGE_FIELDS = ("id", "reference", "amount", "currency", "status", "refunded")
REFUND_FIELDS = ("id", "charge", "amount", "status")
_CHARGES = "SELECT id, key, amount, currency, status, refunded FROM charge ORDER BY number"
_REFUNDS = "SELECT id, charge, amount, status FROM refund ORDER BY number"


def read_books(path: Path) -> dict[str, list[dict[str, Any]]]:
    """`{"charges": [...], "refunds": [...]}`, both of one moment; a file that is not there yet has none.

    Raises sqlite3.Error for a file that is none of the provider's.
    """
    if not path.exists():
        return {"charges": [], "refunds": []}
    # not mode=ro: after a kill, the first to look must be able to bring the file up to date
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", timeout=BUSY_SECONDS, uri=True)) as connection:
        connection.execute("BEGIN")
        made = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name IN ('charge', 'refund')").fetchone()[0]
        return {
            "charges": _rows(connection, _CHARGES, CHARGE_FIELDS) if made else [],
            "refunds": _rows(connection, _REFUNDS, REFUND_FIELDS) if made else [],
        }


def _rows(connection: sqlite3.Connection, statement: str, names: Sequence[str]) -> list[dict[str, Any]]:
    return [dict(zip(names, row, strict=True)) for row in connection.execute(statement)]
