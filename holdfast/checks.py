"""The check that the wall stands: the running roles own no table and are not above row-level security."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core import checks
from django.db import connections

UNSAFE_ROLE = """
    SELECT rolname,
           rolsuper OR rolbypassrls,
           EXISTS (SELECT FROM pg_class
                   WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
                     AND pg_has_role(current_user, relowner, 'USAGE'))
    FROM pg_roles WHERE rolname = current_user
"""
RUNTIME_ALIASES = ("default", "maintenance")


def unsafe_roles() -> list[str]:
    """What is wrong with the runtime roles: one line each, none when all is well. Raises DatabaseError."""
    faults = []
    for alias in RUNTIME_ALIASES:
        with connections[alias].cursor() as cursor:
            cursor.execute(UNSAFE_ROLE)
            name, above_policies, owns_tables = cursor.fetchone()
        if above_policies:
            faults.append(f"the role {name} ({alias}) is a superuser or bypasses row-level security")
        if owns_tables:
            faults.append(f"the role {name} ({alias}) owns tables")
    return faults


def check_runtime_roles(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """Django's form of it: `manage.py check --database default`."""
    if "default" not in (databases or []):
        return []
    return [checks.Error(fault, id="holdfast.E001") for fault in unsafe_roles()]
