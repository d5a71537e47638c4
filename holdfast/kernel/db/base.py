"""A database backend that tells each transaction who it is for.

Django opens every outermost transaction by turning autocommit off. Right after that BEGIN, the settings of the
current context are made with `set_config(…, true)`: they end with the transaction, so a persistent connection can't
carry them to its next user, and a statement outside a transaction has none.
"""

from contextvars import ContextVar
from typing import Any

from django.conf import settings as django_settings
from django.db import DatabaseError
from django.db.backends.postgresql import base

# e.g. {"holdfast.tenant_id": "0198…"}
transaction_settings: ContextVar[dict[str, str] | None] = ContextVar("transaction_settings", default=None)
# numbers of advisory locks to take along with them, in this order
transaction_locks: ContextVar[tuple[int, ...]] = ContextVar("transaction_locks", default=())


NAME_TIMEOUT_MS = 1_000
_LOCK_TIMEOUT = "set_config('lock_timeout', %s, true)"


class DatabaseWrapper(base.DatabaseWrapper):
    """PostgreSQL, with the context's settings inside each transaction."""

    def set_autocommit(self, autocommit: bool, *args: Any, **kwargs: Any) -> None:  # noqa: FBT001 - Django's own
        super().set_autocommit(autocommit, *args, **kwargs)
        settings = None if autocommit else transaction_settings.get()
        if not settings:
            return
        calls = ["set_config(%s, %s, true)"] * len(settings)
        values: list[str | int] = [text for pair in settings.items() for text in pair]
        if locks := transaction_locks.get():
            # a shorter wait than for rows: whoever waits for a name may be told so before its holder gives up
            calls += [_LOCK_TIMEOUT, *["pg_advisory_xact_lock(%s)"] * len(locks), _LOCK_TIMEOUT]
            values += [f"{NAME_TIMEOUT_MS}ms", *locks, f"{django_settings.LOCK_TIMEOUT_MS}ms"]
        try:
            with self.cursor() as cursor:
                cursor.execute(f"SELECT {', '.join(calls)}", values)
        except Exception:
            self._undo_opening()
            raise

    def _undo_opening(self) -> None:
        """Django takes a transaction that did not open for one that it need not end."""
        try:
            self.rollback()
            super().set_autocommit(True)
        except DatabaseError:
            self.close()
