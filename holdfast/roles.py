"""The three database roles: owner (schema), app (web and workers), maintenance (reads across tenants).

The owner is the login of DATABASE_URL. The other two are made here, unless their logins were given whole
(HOLDFAST_APP_DATABASE_URL, HOLDFAST_MAINTENANCE_DATABASE_URL).
"""

from typing import Any

import psycopg
from django.conf import settings
from django.db import DatabaseError, OperationalError, connections
from psycopg import sql

POSTGRESQL_VERSION_MIN = 150_000


class CantProvision(RuntimeError):
    """The database can't be made ready; the message is one line that says what to do."""


def ensure_roles() -> None:
    """Make the app and maintenance roles, or renew their passwords. Raises CantProvision."""
    owner = connections["owner"]
    with owner.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        if int(cursor.fetchone()[0]) < POSTGRESQL_VERSION_MIN:
            raise CantProvision("PostgreSQL 15 or newer is needed: DATABASE_URL names an older one")
        for alias in ("default", "maintenance"):
            login = settings.DATABASES[alias]
            if not _is_ours(alias):
                continue
            try:
                _ensure_role(cursor, login["USER"], login["PASSWORD"])
            except DatabaseError as error:
                if not _can_log_in(alias):
                    raise CantProvision(
                        f"DATABASE_URL's role may not make the role {login['USER']}: give it CREATEROLE, "
                        f"or set HOLDFAST_{_role_of(alias).upper()}_DATABASE_URL"
                    ) from error


def grant() -> None:
    """Give the runtime roles what they need of every table, and nothing that changes the schema."""
    app, maintenance = (sql.Identifier(settings.DATABASES[alias]["USER"]) for alias in ("default", "maintenance"))
    statements = [
        sql.SQL("GRANT USAGE ON SCHEMA public TO {app}, {maintenance}"),
        sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {app}"),
        sql.SQL("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {app}"),
        sql.SQL("REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM {app}"),
        sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {maintenance}"),
    ]
    with connections["owner"].cursor() as cursor:
        for statement in statements:
            cursor.execute(statement.format(app=app, maintenance=maintenance))


def _role_of(alias: str) -> str:
    return "app" if alias == "default" else alias


def _is_ours(alias: str) -> bool:
    """Whether the login was derived from DATABASE_URL, not given whole by the operator."""
    owner = settings.ENVIRONMENT.owner
    return owner is not None and settings.DATABASES[alias]["USER"] == f"{owner.name}_{_role_of(alias)}"


def _ensure_role(cursor: Any, name: str, password: str) -> None:
    cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name])
    verb = "ALTER" if cursor.fetchone() else "CREATE"
    statement = sql.SQL(verb + " ROLE {name} LOGIN PASSWORD {password}")
    cursor.execute(statement.format(name=sql.Identifier(name), password=sql.Literal(password)))


def _can_log_in(alias: str) -> bool:
    try:
        connections[alias].ensure_connection()
    except (OperationalError, psycopg.Error):
        return False
    return True
