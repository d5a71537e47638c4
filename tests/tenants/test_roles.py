# ruff: noqa: S608 - the statements are the tests' own
"""The three roles: what the running two must not be, own or do; and that the web process refuses to run otherwise."""

import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest
from django.conf import settings
from django.core import checks
from django.db import connections
from psycopg import errors, sql

from holdfast.checks import UNSAFE_ROLE, check_runtime_roles, unsafe_roles
from tests.support import catalog
from tests.support.web import CHECKOUT, environment

pytestmark = pytest.mark.usefixtures("database_name")
RUNTIME = ("default", "maintenance")


def attempt(alias: str, statement: str) -> None:
    """Execute it, and leave no trace where it works."""
    with psycopg.connect(**connections[alias].get_connection_params()) as connection:
        connection.execute(statement.encode())
        connection.rollback()


@pytest.fixture
def table_of_the_app_role(database_name: str) -> Iterator[None]:
    """A table that the app role made itself, in a schema it was let into by mistake."""
    app = sql.Identifier(settings.DATABASES["default"]["USER"])
    with connections["owner"].cursor() as owner, connections["default"].cursor() as cursor:
        owner.execute(sql.SQL("GRANT CREATE ON SCHEMA public TO {}").format(app))
        cursor.execute("CREATE TABLE public.of_the_app (id int)")
        try:
            yield
        finally:
            cursor.execute("DROP TABLE public.of_the_app")
            owner.execute(sql.SQL("REVOKE CREATE ON SCHEMA public FROM {}").format(app))


@pytest.mark.parametrize("alias", RUNTIME)
def test_the_running_roles_are_plain(alias):
    with connections[alias].cursor() as cursor:
        cursor.execute(
            "SELECT current_user = session_user, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication "
            "FROM pg_roles WHERE rolname = current_user"
        )
        assert cursor.fetchone() == (True, False, False, False, False, False)


@pytest.mark.parametrize("alias", RUNTIME)
def test_the_running_roles_own_nothing(alias):
    user = settings.DATABASES[alias]["USER"]
    owned = catalog.rows(
        "SELECT classid::regclass::text, objid FROM pg_shdepend JOIN pg_database d ON d.oid = dbid "
        "WHERE deptype = 'o' AND refobjid = %s::regrole AND datname = current_database()",
        [user],
    )
    assert owned == []
    assert catalog.rows("SELECT datname FROM pg_database WHERE datdba = %s::regrole", [user]) == []


@pytest.mark.parametrize("alias", RUNTIME)
def test_the_running_roles_are_members_of_no_role(alias):
    user = settings.DATABASES[alias]["USER"]
    assert catalog.rows("SELECT roleid::regrole::text FROM pg_auth_members WHERE member = %s::regrole", [user]) == []


@pytest.mark.parametrize("alias", RUNTIME)
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE public.mine (id int)",
        "CREATE SCHEMA mine",
        "CREATE FUNCTION public.mine() RETURNS int LANGUAGE sql RETURN 1",
        "ALTER TABLE reservations_event DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE reservations_event NO FORCE ROW LEVEL SECURITY",
        "CREATE POLICY mine ON reservations_event USING (true)",
        "DROP POLICY tenant ON reservations_event",
        "DROP TABLE reservations_unit",
        "TRUNCATE reservations_event",
        "CREATE ROLE mine",
        "SET ROLE pg_read_all_data",
        "DELETE FROM django_migrations",
        "INSERT INTO django_migrations (app, name, applied) VALUES ('a', 'b', now())",
    ],
)
def test_the_running_roles_may_not(alias, statement):
    with pytest.raises(errors.InsufficientPrivilege):
        attempt(alias, statement)


def test_the_app_role_can_not_become_the_owner_or_maintenance():
    for other in ("owner", "maintenance"):
        with pytest.raises(errors.InsufficientPrivilege):
            attempt("default", f"SET ROLE {settings.DATABASES[other]['USER']}")


@pytest.mark.parametrize("table", ["tenants_tenant", "tenants_apikey", "reservations_event", "django_session"])
def test_maintenance_reads_every_table_and_writes_none(table):
    attempt("maintenance", f"SELECT * FROM {table} LIMIT 1")
    for write in (f"INSERT INTO {table} DEFAULT VALUES", f"DELETE FROM {table}"):
        with pytest.raises(errors.InsufficientPrivilege):
            attempt("maintenance", write)


def test_maintenance_has_no_right_but_to_read_on_any_table():
    user = settings.DATABASES["maintenance"]["USER"]
    more = catalog.rows(
        "SELECT relname, privilege FROM pg_class, "
        "unnest(ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS privilege "
        "WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') "
        "AND has_table_privilege(%s, pg_class.oid, privilege)",
        [user],
    )
    assert more == []


def test_row_security_can_not_be_turned_off_to_see_all_rows():
    with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
        attempt("default", "SET LOCAL row_security = off; SELECT * FROM reservations_event")


def test_the_check_finds_nothing_as_things_are():
    assert unsafe_roles() == []
    assert check_runtime_roles(None, databases=["default"]) == []


def test_the_check_finds_an_app_role_that_owns_a_table(table_of_the_app_role):
    app = settings.DATABASES["default"]["USER"]
    assert unsafe_roles() == [f"the role {app} (default) owns tables"]
    (found,) = checks.run_checks(tags=[checks.Tags.database], databases=["default"])
    assert (found.id, found.level) == ("holdfast.E001", checks.ERROR)


def test_the_check_finds_the_owner_in_the_place_of_a_running_role(monkeypatch):
    for alias in RUNTIME:
        with monkeypatch.context() as patch:
            for name in ("USER", "PASSWORD"):
                patch.setitem(settings.DATABASES[alias], name, settings.DATABASES["owner"][name])
            connections[alias].close()
            found = unsafe_roles()
        connections[alias].close()
        assert any(f"({alias}) owns tables" in fault for fault in found)


def test_the_check_finds_a_superuser(monkeypatch):
    """Every server has one; the check's own query is asked about it, since no test may be one."""
    asked = UNSAFE_ROLE.replace("rolname = current_user", "rolsuper LIMIT 1")
    assert asked != UNSAFE_ROLE
    monkeypatch.setattr("holdfast.checks.UNSAFE_ROLE", asked)
    assert len(unsafe_roles()) == 2
    assert all("is a superuser or bypasses row-level security" in fault for fault in unsafe_roles())


def test_the_check_finds_a_role_above_the_policies(database_name, monkeypatch):
    bypassing = f"{database_name}_bypassing"
    name = sql.Identifier(bypassing)
    with connections["owner"].cursor() as owner:
        try:
            owner.execute(sql.SQL("CREATE ROLE {} LOGIN BYPASSRLS PASSWORD 'bypassing'").format(name))
        except Exception as error:
            if not isinstance(error.__cause__, errors.InsufficientPrivilege):
                raise
            pytest.skip("the owner may not make such a role on this server")
        try:
            monkeypatch.setitem(settings.DATABASES["default"], "USER", bypassing)
            monkeypatch.setitem(settings.DATABASES["default"], "PASSWORD", "bypassing")
            connections["default"].close()
            assert unsafe_roles() == [f"the role {bypassing} (default) is a superuser or bypasses row-level security"]
        finally:
            connections["default"].close()
            owner.execute(sql.SQL("DROP ROLE {}").format(name))


def start_web(**variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", "import holdfast.wsgi; print('serving')"],
        cwd=CHECKOUT,
        env={**environment(), "HOLDFAST_SUPERVISED": "0", **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_web_process_serves_with_plain_roles():
    started = start_web()
    assert (started.returncode, started.stdout, started.stderr) == (0, "serving\n", "")


def test_the_web_process_refuses_to_serve_as_the_owner():
    started = start_web(HOLDFAST_APP_DATABASE_URL=environment()["DATABASE_URL"])
    assert (started.returncode, started.stdout) == (1, "")
    owner = settings.DATABASES["owner"]["USER"]
    assert started.stderr == f"holdfast: refusing to serve: the role {owner} (default) owns tables\n"


def test_the_web_process_refuses_to_serve_where_the_app_role_owns_a_table(table_of_the_app_role):
    started = start_web()
    assert (started.returncode, started.stdout) == (1, "")
    assert started.stderr.startswith("holdfast: refusing to serve: ")
    assert len(started.stderr.splitlines()) == 1
