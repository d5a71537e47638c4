"""Which connection does what: queries go to `default` unless a manager says otherwise; only the owner migrates."""

from typing import Any


class Router:
    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == "owner"

    def allow_relation(self, first: Any, second: Any, **hints: Any) -> bool:
        # rows read by the maintenance role are rows of the same database
        return True
