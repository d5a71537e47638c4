"""The races can see what they guard against: without lock and guard together a unit is promised twice."""

import contextlib
import threading

import pytest

from reservations.allocation import attempt, gather
from reservations.allocation.requests import Granted
from reservations.invariants.checker import breaches
from reservations.models import Unit, UnitStatus
from tests.reservations.races.conftest import granted


@pytest.fixture
def without_lock(monkeypatch):
    """Rows are read and not locked, and both buyers have read before either writes."""
    both_have_read = threading.Barrier(2)

    def read_together(rows):
        found = list(rows)
        with contextlib.suppress(threading.BrokenBarrierError):  # a later try comes alone
            both_have_read.wait(2)
        return found

    def lock_units(wanted):
        return read_together(Unit.objects.filter(wanted).order_by("id"))

    def lock_free_units(where, *, start, count, exclude):
        free = Unit.objects.filter(where, status=UnitStatus.AVAILABLE).exclude(id__in=exclude)
        return read_together(free.order_by("spread")[:count])

    monkeypatch.setattr(gather, "lock_units", lock_units)
    monkeypatch.setattr(gather, "lock_free_units", lock_free_units)


@pytest.fixture
def without_guard(monkeypatch):
    """Units are flipped whatever they are."""

    def flip(ids, owner):
        return Unit.objects.filter(id__in=ids).update(status=UnitStatus.HELD, hold=owner)

    monkeypatch.setattr(attempt, "_flip", flip)


@pytest.fixture(params=["named", "any"])
def two_race(request, tenant, make_event, make_units, ask, run_together):
    """Two buyers race for one unit; how many got it."""
    event = make_event(tenant)
    make_units(tenant, event, labels=["A-1"])
    chosen = {"labels": ("A-1",)} if request.param == "named" else {"quantity": 1}

    def race() -> list[Granted]:
        return granted(run_together([ask(event, f"b-{n}", **chosen) for n in range(2)]))

    return race


def test_without_the_lock_the_guard_still_sells_a_unit_once(without_lock, two_race, tenant):
    assert len(two_race()) == 1
    assert not any(breaches(tenant.id).values())


def test_without_the_guard_the_lock_still_sells_a_unit_once(without_guard, two_race, tenant):
    assert len(two_race()) == 1
    assert not any(breaches(tenant.id).values())


def test_without_both_a_unit_is_promised_twice_and_the_invariants_tell(without_lock, without_guard, two_race, tenant):
    assert len(two_race()) == 2
    broken = {name for name, rows in breaches(tenant.id).items() if rows}
    assert broken == {"a live hold has exactly the units it promises", "no unit is in two live holds"}
