"""The rush, in short, and what is read from the rows after it."""

import json
import subprocess
import sys
from urllib.parse import urlsplit

import psycopg
from django.conf import settings

from holdfast.bench.checks import broken_rules
from holdfast.bench.client import run_load
from holdfast.bench.load import Load
from holdfast.bench.scenarios.flash import flash_faults, rush
from holdfast.bench.stock import make_stock
from reservations.models import Hold, Unit, UnitStatus
from tenants.scope import tenant_transaction
from tests.support.web import CHECKOUT, environment

BUYERS, UNITS, CONNECTIONS = 200, 20, 16
SHORT = ("--rounds", "1", "--seconds", "0.5", "--connections", "4")


def load_for(web, tenant, bodies, connections=CONNECTIONS):
    headers = {"Authorization": f"Bearer {tenant.key}"}
    return Load(urlsplit(web.url).port, "/v1/holds", bodies, connections, headers)


def test_of_200_buyers_for_20_units_exactly_20_win(web, tenant):
    stock = make_stock(tenant.id, events=1, units_each=UNITS)
    tally = run_load(load_for(web, tenant, rush(stock, BUYERS)))
    assert tally.statuses == {"201": UNITS, "409": BUYERS - UNITS}
    assert flash_faults(tally, buyers=BUYERS, units=UNITS) == []
    assert tally.unanswered == 0
    assert broken_rules(tenant.id, granted=UNITS) == []


def test_a_rush_asks_by_name_and_for_any(web, tenant):
    bodies = rush(make_stock(tenant.id, events=1, units_each=4), 20)
    assert sum("labels" in body for body in bodies) == 10
    assert sum("quantity" in body for body in bodies) == 10
    assert len({body["customer"] for body in bodies if "labels" in body}) == 10


def test_a_unit_that_was_promised_twice_is_found(web, tenant):
    stock = make_stock(tenant.id, events=1, units_each=1)
    run_load(load_for(web, tenant, stock.any_bodies(1), connections=1))
    with tenant_transaction(tenant.id):
        Unit.objects.update(status=UnitStatus.AVAILABLE, hold=None)
    run_load(load_for(web, tenant, stock.any_bodies(1), connections=1))
    found = broken_rules(tenant.id, granted=2)
    assert [fault.split(":")[0] for fault in found] == [
        "an event's held units are not the sum of its active holds",
        "an event's active holds exceed its capacity",
        "a unit was promised in two active holds",
        "a hold does not have the units it promised",
    ]


def test_a_hold_that_no_client_was_told_of_is_found(web, tenant):
    stock = make_stock(tenant.id, events=1, units_each=3)
    tally = run_load(load_for(web, tenant, stock.any_bodies(3), connections=1))
    with tenant_transaction(tenant.id):
        assert Hold.objects.count() == tally.granted == 3
    assert broken_rules(tenant.id, granted=2) == ["clients were told of 2 holds, the database has 3"]


def test_the_command_tells_what_it_found_and_leaves_nothing(database_name):
    command = [sys.executable, "manage.py", "bench", "hot", "--json", "--noop", *SHORT]
    ended = subprocess.run(
        command, cwd=CHECKOUT, env=environment(), capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert (told["scenario"], told["invariants"]) == ("hot", "hold")
    assert {name: len(arm["rounds"]) for name, arm in told["arms"].items()} == {"holdfast": 1, "noop": 1}
    assert list(told["ratios"]) == ["holdfast / noop"]
    login = settings.DATABASES["owner"]
    with psycopg.connect(dbname=login["NAME"], user=login["USER"], host=login["HOST"]) as owner:
        left = "SELECT datname FROM pg_database WHERE datname = %(name)s || '_bench' UNION ALL "
        left += "SELECT rolname FROM pg_roles WHERE rolname LIKE %(name)s || '_bench%%'"
        assert owner.execute(left, {"name": database_name}).fetchall() == []
