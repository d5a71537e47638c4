"""A database backend that tells each transaction who it is for.

Django opens every outermost transaction by turning autocommit off. Right after that BEGIN, the settings of the
current context are made with `set_config(…, true)`: they end with the transaction, so a persistent connection can't
carry them to its next user, and a statement outside a transaction has none.
"""

from contextvars import ContextVar
from typing import Any

from django.db.backends.postgresql import base

# e.g. {"holdfast.tenant_id": "0198…"}
transaction_settings: ContextVar[dict[str, str] | None] = ContextVar("transaction_settings", default=None)


class DatabaseWrapper(base.DatabaseWrapper):
    """PostgreSQL, with the context's settings inside each transaction."""

    def set_autocommit(self, autocommit: bool, *args: Any, **kwargs: Any) -> None:  # noqa: FBT001 - Django's own
        super().set_autocommit(autocommit, *args, **kwargs)
        settings = None if autocommit else transaction_settings.get()
        if not settings:
            return
        calls = ", ".join("set_config(%s, %s, true)" for _ in settings)
        try:
            with self.cursor() as cursor:
                cursor.execute(f"SELECT {calls}", [text for pair in settings.items() for text in pair])
        except Exception:
            # Django takes a transaction that did not open for one that it need not end
            self.close()
            raise
