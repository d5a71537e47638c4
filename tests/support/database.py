"""A database for each test process, made by the owner, used as the app role; its clock can be shifted and stopped."""

import contextlib
from collections.abc import Iterator
from datetime import datetime

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connections, transaction
from psycopg import sql

from holdfast.management.commands.provision import PROVISION_LOCK

ALIASES = ("default", "maintenance", "owner")
RUNS_AT_ONCE_MAX = 20

# Product code asks for `statement_timestamp()` and names no schema, so ours answers, in each process that connects.
# `public` comes first since tables are made in the first schema; `pg_catalog` is named, else it would be the first.
# Made before the tables: their defaults (`created_at`) are bound to the function when they are made.
TEST_CLOCK = """
    CREATE SCHEMA test_clock;
    CREATE TABLE test_clock.shift (ahead interval NOT NULL, stopped_at timestamptz);
    INSERT INTO test_clock.shift VALUES ('0');
    CREATE FUNCTION test_clock.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
        RETURN (SELECT coalesce(stopped_at, pg_catalog.statement_timestamp() + ahead) FROM test_clock.shift);
    GRANT USAGE ON SCHEMA test_clock TO public;
    GRANT SELECT ON test_clock.shift TO public;
"""
# by which workers find nothing in a table any more
WEBHOOK_WORK = {
    "webhooks_message": "UPDATE webhooks_message SET waits_for_relay = false WHERE waits_for_relay",
    "webhooks_replay": "UPDATE webhooks_replay SET state = 'stopped', look_at = NULL, ended_at = now() "
    "WHERE look_at IS NOT NULL",
    "webhooks_endpoint": "UPDATE webhooks_endpoint SET status = 'disabled', disabled_reason = 'organizer' "
    "WHERE status = 'enabled'",
}
SEARCH_PATH = "ALTER DATABASE {name} SET search_path = public, test_clock, pg_catalog"


def connect_as_owner(name: str) -> "psycopg.Connection[tuple[object, ...]]":
    """A connection of our own: Django's may be pointed elsewhere meanwhile."""
    return connect_as("owner", name)


def connect_as(alias: str, name: str) -> "psycopg.Connection[tuple[object, ...]]":
    """The same with the login of any alias."""
    login = settings.DATABASES[alias]
    return psycopg.connect(
        dbname=name,
        user=login["USER"],
        password=login["PASSWORD"] or None,
        host=login["HOST"] or None,
        port=login["PORT"] or None,
        autocommit=True,
    )


@contextlib.contextmanager
def database_of_this_process(worker: str) -> Iterator[str]:
    """Create and provision a database, and point Django at it; drop it at the end."""
    main = settings.DATABASES["owner"]["NAME"]
    with connect_as_owner(main) as keeper:  # its session holds the lock on the name as long as the database is ours
        name = _free_name(keeper, f"{main}_test_{worker}")
        _drop(keeper, name)
        keeper.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        keeper.execute(sql.SQL(SEARCH_PATH).format(name=sql.Identifier(name)))
        with connect_as_owner(name) as owner:
            owner.execute(TEST_CLOCK)
        _point_django_at(name)
        try:
            _provision(keeper)
            yield name
        finally:
            connections.close_all()
            _point_django_at(main)
            _drop(keeper, name)


def _free_name(keeper: "psycopg.Connection[tuple[object, ...]]", wanted: str) -> str:
    """The wanted name, or a numbered one where another test run uses that at this moment."""
    for number in range(RUNS_AT_ONCE_MAX):
        name = f"{wanted}_{number}" if number else wanted
        row = keeper.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [name]).fetchone()
        if row is not None and row[0]:
            return name
    raise RuntimeError(f"{RUNS_AT_ONCE_MAX} test runs use this server already")


def _drop(keeper: "psycopg.Connection[tuple[object, ...]]", name: str) -> None:
    # FORCE would also have to end autovacuum, which the owner may not; a plain DROP waits for that. The two roles are
    # not the owner's own, so each ends its sessions itself
    for alias in ("default", "maintenance"):
        with contextlib.suppress(psycopg.OperationalError), connect_as(alias, keeper.info.dbname) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s "
                "AND usename = current_user",
                [name],
            )
    keeper.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))


def _point_django_at(name: str) -> None:
    connections.close_all()
    for alias in ALIASES:
        settings.DATABASES[alias]["NAME"] = name  # the very dictionary that every thread's connection is made from
        connections[alias].settings_dict["NAME"] = name


def _provision(keeper: "psycopg.Connection[tuple[object, ...]]") -> None:
    """Roles are of the whole server, so one process at a time: two can't alter one role at once."""
    keeper.execute("SELECT pg_advisory_lock(%s)", [PROVISION_LOCK])
    try:
        call_command("provision")
    finally:
        keeper.execute("SELECT pg_advisory_unlock(%s)", [PROVISION_LOCK])


def settle_webhooks() -> None:
    """Nobody waits to be told anything any more: what earlier tests left to workers, who look at all tenants, is done.

    The wall stops the owner, too, so it is open meanwhile; the locks that this takes let nobody else through.
    """
    with transaction.atomic("owner"), connections["owner"].cursor() as cursor:
        for table, settled in WEBHOOK_WORK.items():
            cursor.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
            cursor.execute(settled)
            cursor.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")


def advance_clock(seconds: float) -> None:
    """Move the database's clock forward, for every process that is connected to it."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("UPDATE test_clock.shift SET ahead = ahead + make_interval(secs => %s)", [seconds])


def stop_clock(at: datetime) -> None:
    """It is this moment and stays it, for every process that is connected to the database."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("UPDATE test_clock.shift SET stopped_at = %s", [at])


def reset_clock() -> None:
    """Back to the real time."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("UPDATE test_clock.shift SET ahead = '0', stopped_at = NULL")
