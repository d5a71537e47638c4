"""What the tests stand on, tested: the role they run as, the clock they shift, the race they start."""

import threading
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection, connections

from holdfast.kernel.clock import database_now
from reservations.models import Event, Hold
from tenants.models import ApiKey
from tenants.scope import tenant_transaction
from tests.support.rows import sample


def test_tests_run_as_the_app_role_on_a_database_of_their_own(database_name):
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, session_user, current_database()")
        user = settings.DATABASES["default"]["USER"]
        assert cursor.fetchone() == (user, user, database_name)
    assert user != settings.DATABASES["owner"]["USER"]
    assert "_test_" in database_name


def clocks() -> list:
    return [database_now("default"), database_now("maintenance")]


def test_the_clock_is_the_databases_until_it_is_shifted(database_name):
    for alias in ("default", "maintenance", "owner"):
        with connections[alias].cursor() as cursor:
            cursor.execute("SELECT statement_timestamp() = pg_catalog.statement_timestamp()")
            assert cursor.fetchone() == (True,)


def test_a_shift_is_seen_by_every_connection_and_thread_and_process(tenant, shift_clock, run_together, api, web):
    web.api(tenant).get("/v1/api-keys")
    before = max(clocks())
    shift_clock(600)
    shift_clock(0.5)
    ahead = timedelta(seconds=600.5)
    assert all(now >= before + ahead for now in clocks() + run_together([database_now] * 3))
    assert all(now < before + ahead + timedelta(seconds=30) for now in clocks())
    made = web.api(tenant).post("/v1/api-keys", {"name": "Later", "scopes": ["read"]})
    assert made.status_code == 201
    assert ApiKey.everywhere.get(id=made.json()["id"]).created_at >= before + ahead


def test_what_the_database_fills_in_is_of_the_shifted_clock_too(tenant, shift_clock):
    """`created_at` and `expires_at` go together, so no constraint between them stands in the way of a shift."""
    shift_clock(86_400)
    now = database_now()
    hold = sample(Hold, tenant.id)
    with tenant_transaction(tenant.id):
        hold = Hold.objects.get(id=hold.id)
    assert hold.created_at >= now
    assert hold.expires_at >= hold.created_at + timedelta(seconds=599)


def test_the_shift_ends_with_the_test_before(database_name):
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT ahead = '0' FROM test_clock.shift")
        assert cursor.fetchone() == (True,)


def test_the_app_role_can_not_shift_the_clock(database_name):
    with connection.cursor() as cursor:
        cursor.execute("SELECT has_table_privilege('test_clock.shift', 'UPDATE')")
        assert cursor.fetchone() == (False,)


def test_functions_run_together_overlap_and_hand_back_results_and_exceptions(run_together):
    inside = threading.Barrier(3)

    def meet() -> str:
        inside.wait(60)
        return "met"

    def fail() -> None:
        inside.wait(60)
        raise ZeroDivisionError

    first, second, third = run_together([meet, fail, meet])
    assert (first, third) == ("met", "met")
    assert isinstance(second, ZeroDivisionError)


def test_a_function_that_does_not_end_is_told(run_together):
    release = threading.Event()
    try:
        with pytest.raises(TimeoutError):
            run_together([lambda: release.wait(20)], deadline_seconds=0.2)
    finally:
        release.set()


def test_queries_counts_the_transaction_too(tenant, queries):
    with queries() as seen, tenant_transaction(tenant.id):
        Event.objects.count()
    assert seen.count == 4
    assert seen[0] == "BEGIN"
    assert "set_config" in seen[1]
    assert "COUNT" in seen[2]
    assert seen[3] == "COMMIT"


def test_the_web_process_serves_this_database(tenant, web):
    listed = web.api(tenant).get("/v1/api-keys")
    assert listed.status_code == 200
    assert [row["name"] for row in listed.json()["data"]] == ["First key"]


def test_events_and_units_are_made_as_asked(tenant, make_event, make_units):
    assert make_event(tenant).status == "on_sale"
    assert {make_event(tenant, status=status).status for status in ("draft", "paused", "closed")} == {
        "draft",
        "paused",
        "closed",
    }
    event = make_event(tenant, currency="JPY", units_per_hold_max=3)
    assert (event.currency, event.units_per_hold_max) == ("JPY", 3)
    units = make_units(tenant, event, labels=["B-1", "A-1"], section="Stalls", price_amount=5)
    assert [(unit.label, unit.section, unit.price_amount) for unit in units] == [
        ("B-1", "Stalls", 5),
        ("A-1", "Stalls", 5),
    ]
    assert len(make_units(tenant, event, 4)) == 4
