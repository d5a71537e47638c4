# ruff: noqa: PT012, TRY301 - past the managers, and faults amid a transaction, are what is tested
"""The tenant transaction: one boundary, nothing left behind."""

import threading
from collections.abc import Iterator

import psycopg
import pytest
from django.db import OperationalError, close_old_connections, connection, connections, transaction

from holdfast.kernel.db.base import transaction_settings
from reservations.models import Event
from tenants.models import ApiKey
from tenants.scope import AnotherTransaction, NoTenant, current_tenant_id, tenant_transaction

pytestmark = pytest.mark.usefixtures("database_name")
SETTING = "SELECT current_setting('holdfast.tenant_id', true)"


def setting() -> str:
    """What this connection's session says, empty for unset."""
    with connection.cursor() as cursor:
        cursor.execute(SETTING)
        return cursor.fetchone()[0] or ""


class Oops(Exception):
    """A fault inside a transaction."""


def test_inside_it_the_database_knows_the_tenant(tenant):
    with tenant_transaction(tenant.id):
        assert setting() == str(tenant.id)
        assert current_tenant_id() == tenant.id


def test_outside_of_it_there_is_no_tenant():
    assert setting() == ""
    with pytest.raises(NoTenant):
        current_tenant_id()


def test_outside_of_it_the_managers_refuse():
    for ask in (ApiKey.objects.all, ApiKey.objects.count, lambda: Event.objects.filter(name="x")):
        with pytest.raises(NoTenant):
            ask()
    with transaction.atomic(), pytest.raises(NoTenant):
        ApiKey.objects.count()


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_nothing_is_left_on_a_persistent_connection(tenant, ending):
    backend = connection.cursor().execute("SELECT pg_backend_pid()").fetchone()
    try:
        with tenant_transaction(tenant.id):
            assert ApiKey.objects.count() == 1
            if ending == "rollback":
                raise Oops
    except Oops:
        pass
    assert connection.cursor().execute("SELECT pg_backend_pid()").fetchone() == backend
    assert setting() == ""
    assert transaction_settings.get() is None
    with transaction.atomic():
        assert setting() == ""
        assert ApiKey._base_manager.count() == 0


def test_a_setting_made_on_the_session_would_be_seen_by_these_tests(tenant):
    """The control: what `set_config(…, false)` would leave behind."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('holdfast.tenant_id', %s, false)", [str(tenant.id)])
        assert setting() == str(tenant.id)
        cursor.execute("RESET holdfast.tenant_id")
    connection.close()


def test_one_inside_another_of_the_same_tenant_is_a_savepoint(tenant, make_event):
    with tenant_transaction(tenant.id):
        make_event(tenant, slug="outer", status="draft")
        with pytest.raises(Oops), tenant_transaction(tenant.id):
            make_event(tenant, slug="inner", status="draft")
            raise Oops
        assert setting() == str(tenant.id)
    with tenant_transaction(tenant.id):
        assert list(Event.objects.values_list("slug", flat=True)) == ["outer"]


def test_an_outer_rollback_takes_the_inner_one_along(tenant, make_event):
    with pytest.raises(Oops), tenant_transaction(tenant.id):
        with tenant_transaction(tenant.id):
            make_event(tenant, status="draft")
        raise Oops
    with tenant_transaction(tenant.id):
        assert Event.objects.count() == 0


def test_one_inside_another_of_another_tenant_is_refused(make_tenant):
    a, b = make_tenant(), make_tenant()
    with tenant_transaction(a.id):
        with pytest.raises(AnotherTransaction), tenant_transaction(b.id):
            pytest.fail("the block ran")
        assert (setting(), current_tenant_id()) == (str(a.id), a.id)
        assert ApiKey.objects.get().tenant_id == a.id


def test_one_inside_a_transaction_of_no_tenant_is_refused(tenant):
    with transaction.atomic():
        with pytest.raises(AnotherTransaction), tenant_transaction(tenant.id):
            pytest.fail("the block ran")
        assert setting() == ""


def test_two_after_each_other_may_be_of_two_tenants(make_tenant):
    for one in (make_tenant(), make_tenant()):
        with tenant_transaction(one.id):
            assert ApiKey.objects.get().tenant_id == one.id


def test_a_thread_started_inside_one_is_outside_of_it(tenant):
    seen = []

    def look() -> None:
        try:
            seen.append(ApiKey._base_manager.count())
            seen.append(setting())
            try:
                ApiKey.objects.count()
            except NoTenant:
                seen.append("no tenant")
        finally:
            connections.close_all()

    with tenant_transaction(tenant.id):
        assert ApiKey.objects.count() == 1
        thread = threading.Thread(target=look)
        thread.start()
        thread.join(60)
    assert seen == [0, "", "no tenant"]


def test_threads_of_two_tenants_see_each_their_own(make_tenant, run_together):
    tenants = [make_tenant() for _ in range(4)]

    def look(tenant_id):
        def run() -> set:
            seen = set()
            for _ in range(25):
                with tenant_transaction(tenant_id):
                    seen |= set(ApiKey._base_manager.values_list("tenant_id", flat=True))
                seen |= set(ApiKey._base_manager.values_list("tenant_id", flat=True))
            return seen

        return run

    assert run_together([look(one.id) for one in tenants]) == [{one.id} for one in tenants]


def test_begin_and_the_setting_are_two_statements_and_a_savepoint_makes_no_other(tenant, queries):
    with queries() as seen, tenant_transaction(tenant.id), tenant_transaction(tenant.id):
        pass
    kinds = [statement.split()[0] for statement in seen]
    assert kinds == ["BEGIN", "SELECT", "SAVEPOINT", "RELEASE", "COMMIT"]


def end_session_unnoticed() -> None:
    """The server ends this thread's session between two transactions, as in a restart; nobody has read of it yet."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    with psycopg.connect(**connection.get_connection_params()) as another:
        assert another.execute("SELECT pg_terminate_backend(%s, 5000)", [pid]).fetchone() == (True,)


@pytest.fixture
def fresh_connection(database_name: str) -> Iterator[None]:
    """For tests that may leave a broken one."""
    yield
    connection.in_atomic_block = False
    connection.close()


@pytest.mark.usefixtures("fresh_connection")
def test_a_lost_connection_costs_one_transaction_and_no_more(tenant):
    end_session_unnoticed()
    with pytest.raises(OperationalError), tenant_transaction(tenant.id):
        ApiKey.objects.count()
    with tenant_transaction(tenant.id):
        assert ApiKey.objects.count() == 1
    assert connection.get_autocommit()


@pytest.mark.usefixtures("fresh_connection")
def test_a_lost_connection_is_forgotten_at_the_end_of_a_request(tenant):
    end_session_unnoticed()
    with pytest.raises(OperationalError), tenant_transaction(tenant.id):
        ApiKey.objects.count()
    close_old_connections()
    with tenant_transaction(tenant.id):
        assert ApiKey.objects.count() == 1


@pytest.mark.usefixtures("fresh_connection")
def test_a_transaction_of_no_tenant_loses_one_too_and_no_more():
    """The control: what Django alone does, and so what is asked of ours."""
    end_session_unnoticed()
    with pytest.raises(OperationalError), transaction.atomic():
        setting()
    with transaction.atomic():
        assert setting() == ""


def test_a_context_is_reset_where_the_transaction_never_began(tenant, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise OperationalError("away")

    with monkeypatch.context() as patch:
        patch.setattr(connection, "set_autocommit", refuse)
        with pytest.raises(OperationalError), tenant_transaction(tenant.id):
            pytest.fail("the block ran")
    assert transaction_settings.get() is None


def test_what_runs_after_the_commit_is_outside_of_it(tenant):
    seen = []

    def look() -> None:
        try:
            seen.append(ApiKey.objects.count())
        except NoTenant:
            seen.append("no tenant")

    with tenant_transaction(tenant.id):
        transaction.on_commit(look)
    assert seen == ["no tenant"]
