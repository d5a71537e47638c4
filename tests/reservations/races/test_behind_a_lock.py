"""Who waits for a hold's lock reads the clock when it has the lock; who need not wait never does."""

import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from django.db import DatabaseError, connections, transaction

from reservations import expiry, jobs
from reservations.models import Hold, Unit, UnitStatus
from tenants.scope import SETTING, tenant_transaction
from tests.reservations.state import OthersLock
from tests.support import database
from tests.support.acts import ACTS, buy

DEADLINE_SECONDS = 60


@pytest.fixture
def hold(tenant: Any, make_event: Any, make_units: Any) -> UUID:
    """A hold of one unit, A-1, of ten minutes."""
    event = make_event(tenant)
    make_units(tenant, event, labels=["A-1"])
    return UUID(buy(tenant.id, str(event.id), "ada", labels=["A-1"]))


@contextmanager
def locked(tenant: Any, hold: UUID) -> Iterator[None]:
    """Somebody else has the hold's row meanwhile."""
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        cursor.execute("SELECT set_config(%s, %s, true)", [SETTING, str(tenant.id)])
        cursor.execute("SELECT 1 FROM reservations_hold WHERE id = %s FOR NO KEY UPDATE", [hold])
        assert cursor.fetchone()
        yield


def wait_until_somebody_waits() -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    with connections["default"].cursor() as cursor:
        while time.monotonic() < deadline:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            if cursor.fetchone()[0]:
                return
            time.sleep(0.005)
    raise TimeoutError("nobody waits for a lock")


@contextmanager
def beside() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool
        pool.submit(connections.close_all).result(DEADLINE_SECONDS)


def state_of(tenant: Any, hold: UUID) -> tuple[str, list[str]]:
    """What the hold's row says, and the statuses of its event's units."""
    with tenant_transaction(tenant.id):
        row = Hold.objects.get(id=hold)
        return row.status, list(Unit.objects.filter(event_id=row.event_id).values_list("status", flat=True))


@pytest.mark.parametrize("act", ["extend", "release"])
def test_a_hold_that_ends_while_its_owner_waits_for_the_lock_has_ended(
    tenant: Any, hold: UUID, shift_clock: Callable[[float], None], act: str
) -> None:
    shift_clock(599)
    with beside() as thread:
        with locked(tenant, hold):
            answer = thread.submit(ACTS[act], tenant.id, hold=str(hold))
            wait_until_somebody_waits()
            with ThreadPoolExecutor(1) as other:  # the owner's own connection holds the lock
                other.submit(_shift_apart, 1).result(DEADLINE_SECONDS)
        assert answer.result(DEADLINE_SECONDS) == "hold-expired"
    assert state_of(tenant, hold) == ("active", [UnitStatus.HELD])
    assert expiry.sweep_tenant(tenant.id) == 1
    assert state_of(tenant, hold) == ("expired", [UnitStatus.AVAILABLE])


def _shift_apart(seconds: float) -> None:
    """On this thread's connection."""
    database.advance_clock(seconds)
    connections.close_all()


@pytest.mark.parametrize("act", ["extend", "release"])
def test_whoever_waits_for_a_release_finds_it_released(tenant: Any, hold: UUID, act: str) -> None:
    with beside() as thread:
        with tenant_transaction(tenant.id):
            assert ACTS["release"](tenant.id, hold=str(hold)) == "released"
            answer = thread.submit(ACTS[act], tenant.id, hold=str(hold))
            _wait_from_another_connection()
        assert answer.result(DEADLINE_SECONDS) == {"extend": "hold-released", "release": "released"}[act]


def _wait_from_another_connection() -> None:
    with ThreadPoolExecutor(1) as other:
        other.submit(wait_until_somebody_waits).result(DEADLINE_SECONDS)
        other.submit(connections.close_all).result(DEADLINE_SECONDS)


def test_a_sweep_leaves_a_locked_hold_to_whoever_has_it_and_does_not_wait(
    tenant: Any, make_event: Any, make_units: Any, shift_clock: Callable[[float], None]
) -> None:
    event = make_event(tenant)
    make_units(tenant, event, labels=["A-1", "A-2", "A-3"])
    first, second, third = (UUID(buy(tenant.id, str(event.id), name, labels=[f"A-{name}"])) for name in "123")
    shift_clock(601)
    with locked(tenant, second):
        assert expiry.sweep() >= 2
        took = []
        for _ in range(3):
            began = time.monotonic()
            assert expiry.sweep_tenant(tenant.id) == 0
            assert jobs.expire_holds(str(tenant.id), [str(second)]) == 0
            took.append(time.monotonic() - began)
        assert min(took) < 0.5
        assert buy(tenant.id, str(event.id), "bob", labels=["A-1"])
    assert [state_of(tenant, each)[0] for each in (first, second, third)] == ["expired", "active", "expired"]
    assert expiry.sweep_tenant(tenant.id) == 1
    assert state_of(tenant, second)[0] == "expired"


def test_a_unit_that_one_tenants_hold_waits_for_delays_no_other_tenants_sweep(
    make_tenant: Any, make_event: Any, make_units: Any, shift_clock: Callable[[float], None]
) -> None:
    tenants = [make_tenant() for _ in range(3)]
    holds, units = [], []
    for tenant in tenants:
        event = make_event(tenant)
        units += make_units(tenant, event, labels=["A-1"])
        holds.append(UUID(buy(tenant.id, str(event.id), "ada", labels=["A-1"])))
    shift_clock(601)
    stuck = min(range(3), key=lambda n: tenants[n].id)  # the first in the sweeper's order
    with OthersLock(tenants[stuck].id, units[stuck].id):
        with contextlib.suppress(DatabaseError):  # whatever is told of the one, the others count
            expiry.sweep()
        found = [state_of(tenant, hold)[0] for tenant, hold in zip(tenants, holds, strict=True)]
    assert found == ["active" if number == stuck else "expired" for number in range(3)]
