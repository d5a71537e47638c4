"""A database of the run's own: made, provisioned, dropped with its roles at the end. Nobody's data is touched."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.conf import settings
from django.db import connections
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from holdfast import env
from holdfast.bench.processes import CantRun, run

PROVISION_WITHIN_SECONDS = 120.0
ROLES = ("app", "maintenance")

Owner = psycopg.Connection[tuple[object, ...]]


@contextmanager
def bench_database() -> Iterator[dict[str, str]]:
    """The environment of a process on the new database; Django is pointed there, too. Raises CantRun.

    A database that a killed run left behind is dropped first; a run that still lives is not disturbed.
    """
    owner_url = os.environ.get("DATABASE_URL", "")
    if not owner_url:
        raise CantRun("DATABASE_URL is needed: it names the owner, who makes a database for the run")
    name = f"{conninfo_to_dict(owner_url)['dbname']}_bench"
    environment = _environment(make_conninfo(owner_url, dbname=name))
    try:
        keeper = psycopg.connect(owner_url, autocommit=True)
    except psycopg.Error as error:
        raise CantRun(f"the database of DATABASE_URL can't be reached: {str(error).splitlines()[0]}") from error
    with keeper:  # its session holds the lock on the name as long as the run lives
        _take(keeper, name)
        try:
            _make(keeper, name)
            run([sys.executable, "manage.py", "provision"], environment, within_seconds=PROVISION_WITHIN_SECONDS)
            _point_django_at(environment)
            yield environment
        finally:
            connections.close_all()
            _drop(keeper, name)


def _environment(url: str) -> dict[str, str]:
    """Logins given whole are of another database; the run's own are derived from its name."""
    given_whole = {f"HOLDFAST_{role.upper()}_DATABASE_URL" for role in ROLES}
    kept = {name: text for name, text in os.environ.items() if name not in given_whole}
    return kept | {
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "holdfast.bench.settings",
        "HOLDFAST_ALLOWED_HOSTS": "127.0.0.1",
        "HOLDFAST_SUPERVISED": "1",
    }


def _take(keeper: Owner, name: str) -> None:
    row = keeper.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [name]).fetchone()
    if row is None or not row[0]:
        raise CantRun(f"another run uses the database {name}: two at once would measure each other")


def _make(keeper: Owner, name: str) -> None:
    try:
        _drop(keeper, name)
        keeper.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    except psycopg.Error as error:
        raise CantRun(f"the database {name} can't be made: {str(error).splitlines()[0]}") from error


def _drop(keeper: Owner, name: str) -> None:
    # Without FORCE, which an owner that is no superuser is refused while autovacuum looks at the database. The plain
    # form sends autovacuum away, and the run's own processes have ended by now.
    keeper.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))
    for role in ROLES:
        keeper.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(f"{name}_{role}")))


def _point_django_at(environment: dict[str, str]) -> None:
    """The operations of this process, too, go to the run's database, as its app role."""
    logins = env.read(environment)
    for alias, login in (("owner", logins.owner), ("default", logins.app), ("maintenance", logins.maintenance)):
        if login is None:
            continue
        connections[alias].close()
        # the very dictionary that connections are made from
        settings.DATABASES[alias].update(NAME=login.name, USER=login.user, PASSWORD=login.password)
        connections[alias].settings_dict.update(NAME=login.name, USER=login.user, PASSWORD=login.password)
