"""The one clock: the database's, as each statement starts.

`now()` of PostgreSQL is the start of the transaction and lies in the past after a lock wait; the process's clock may be
skewed. Neither decides anything here. Use `Now()` in queries and `database_now()` where Python needs the value.
"""

from datetime import UTC, datetime

from django.db import connections
from django.db.models.functions import Now

__all__ = ["Now", "database_now", "rfc3339"]


def database_now(using: str = "default") -> datetime:
    """The database's time, aware, in UTC."""
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def rfc3339(moment: datetime | None) -> str | None:
    """The moment in UTC as RFC 3339 with `Z`, or None for None."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
