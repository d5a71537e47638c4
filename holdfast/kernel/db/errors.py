"""What the database meant by an error: its constraint or its SQLSTATE, never its text."""

from django.db import Error

LOCK_NOT_AVAILABLE = "55P03"
QUERY_CANCELED = "57014"
SERIALIZATION_FAILURE = "40001"
DEADLOCK_DETECTED = "40P01"
# a transaction that ended so changed nothing and may be run again from its start
RETRYABLE = frozenset({LOCK_NOT_AVAILABLE, SERIALIZATION_FAILURE, DEADLOCK_DETECTED})
# what a client is told as contention once the retries are used up
CONTENTION = RETRYABLE | {QUERY_CANCELED}


def sqlstate(error: Error) -> str:
    """The five characters of SQLSTATE, or an empty string where the driver gave none."""
    return getattr(error.__cause__, "sqlstate", None) or ""


def constraint_name(error: Error) -> str:
    """The name of the constraint that refused, or an empty string."""
    return getattr(getattr(error.__cause__, "diag", None), "constraint_name", None) or ""
