"""The sweeper: what nobody came for is ended, once, in batches, at a cost that grows with the holds alone."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import connections
from django.db.models import Count, Q

from reservations import expiry
from reservations.allocation.attempt import attempt
from reservations.allocation.requests import Granted, HoldRequest
from reservations.invariants.checker import breaches
from reservations.models import Hold, HoldStatus, Unit, UnitStatus
from tenants.scope import tenant_transaction
from tests.support import backlog
from tests.support.acts import buy, extend, release
from webhooks.models import Message

BATCH = expiry.BATCH_HOLDS_MAX


def told_twice(tenant: Any) -> int:
    """How many holds have another number of `hold.expired` than one."""
    with tenant_transaction(tenant.id):
        ended = Hold.objects.filter(status=HoldStatus.EXPIRED).values("id")
        counted = Message.objects.filter(subject_id__in=ended, type="hold.expired").values("subject_id")
        once = counted.annotate(n=Count("id")).filter(n=1).count()
        return ended.count() - once


def statuses(tenant: Any) -> dict[str, int]:
    with tenant_transaction(tenant.id):
        return dict(Hold.objects.values_list("status").annotate(Count("id")))


def test_after_an_hour_without_workers_the_next_buyer_gets_the_unit_at_once_and_a_sweep_takes_nothing_from_him(
    tenant: Any, make_event: Any, make_units: Any, shift_clock: Callable[[float], None]
) -> None:
    event = make_event(tenant, hold_ttl_seconds=7200)
    make_units(tenant, event, labels=["A-1", "A-2"])
    ask = {"event": str(event.id), "ttl_seconds": 600}
    taken, alone = (UUID(buy(tenant.id, customer="ada", labels=[label], **ask)) for label in ("A-1", "A-2"))
    shift_clock(3600)
    bobs = UUID(buy(tenant.id, str(event.id), "bob", labels=["A-1"]))
    for late in (taken, alone):
        assert (extend(tenant.id, hold=str(late)), release(tenant.id, hold=str(late))) == ("hold-expired",) * 2
    assert expiry.sweep_tenant(tenant.id) == 1
    expiry.sweep()  # and whatever other tests have left
    assert expiry.sweep() == expiry.sweep_tenant(tenant.id) == 0
    with tenant_transaction(tenant.id):
        found = dict(Hold.objects.values_list("id", "status"))
        assert found == {taken: "expired", alone: "expired", bobs: "active"}
        owners = dict(Unit.objects.values_list("label", "hold_id"))
        assert owners == {"A-1": bobs, "A-2": None}
    assert told_twice(tenant) == 0
    assert not any(breaches(tenant.id).values())


def test_a_sweep_takes_the_oldest_of_them_500_at_a_time(tenant: Any, make_event: Any) -> None:
    event = make_event(tenant)
    backlog.hold_many(tenant.id, event.id, 2 * BATCH + 100)
    assert BATCH == 500
    assert expiry.sweep_tenant(tenant.id) == BATCH
    with tenant_transaction(tenant.id):
        newest = Hold.objects.filter(status="expired").order_by("-expires_at").first()
        oldest = Hold.objects.filter(status="active").order_by("expires_at").first()
        assert newest.expires_at <= oldest.expires_at
    assert [expiry.sweep_tenant(tenant.id) for _ in range(3)] == [BATCH, 100, 0]
    assert statuses(tenant) == {"expired": 2 * BATCH + 100}
    assert told_twice(tenant) == 0
    with tenant_transaction(tenant.id):
        assert set(Unit.objects.values_list("status", "hold_id")) == {(UnitStatus.AVAILABLE, None)}


def test_two_sweeps_at_once_share_the_work(
    tenant: Any, make_event: Any, run_together: Callable[..., list[Any]]
) -> None:
    event = make_event(tenant)
    backlog.hold_many(tenant.id, event.id, 3 * BATCH)
    counts = run_together([expiry.sweep, expiry.sweep, lambda: expiry.sweep_tenant(tenant.id)])
    assert all(isinstance(count, int) for count in counts), counts
    while more := expiry.sweep_tenant(tenant.id):  # what one had locked as the others looked
        counts.append(more)
    assert sum(counts) >= 3 * BATCH
    assert statuses(tenant) == {"expired": 3 * BATCH}
    assert told_twice(tenant) == 0
    assert not any(breaches(tenant.id).values())


def test_a_sweep_goes_through_all_tenants(
    make_tenant: Any, make_event: Any, shift_clock: Callable[[float], None]
) -> None:
    tenants = [make_tenant() for _ in range(3)]
    for number, tenant in enumerate(tenants):
        event = make_event(tenant)
        backlog.hold_many(tenant.id, event.id, 3 + number)
        backlog.hold_many(tenant.id, event.id, 2, ends_in=7200, prefix="L-")
    assert expiry.sweep() >= 3 + 4 + 5
    assert [statuses(tenant) for tenant in tenants] == [{"active": 2, "expired": 3 + n} for n in range(3)]
    assert not any(told_twice(tenant) for tenant in tenants)


def test_a_sweep_leaves_what_is_not_over(tenant: Any, make_event: Any, shift_clock: Callable[[float], None]) -> None:
    event = make_event(tenant)
    backlog.hold_many(tenant.id, event.id, 5, ends_in=3610)
    assert expiry.sweep_tenant(tenant.id) == 0
    shift_clock(30)
    with tenant_transaction(tenant.id):
        first = Hold.objects.order_by("expires_at").first()
    assert expiry.sweep_tenant(tenant.id) == 5
    assert release(tenant.id, hold=str(first.id)) == "hold-expired"


# --- cost


@pytest.fixture
def no_autovacuum(database_name: str) -> Iterator[None]:
    """It would count among the pages."""
    _autovacuum("SET (autovacuum_enabled = false)")
    yield
    _autovacuum("RESET (autovacuum_enabled)")


def _autovacuum(what: str) -> None:
    with connections["owner"].cursor() as cursor:
        for table in backlog.TABLES:
            cursor.execute(f"ALTER TABLE {table} {what}")


def rows_of_a_sweep(tenant: Any) -> float:
    """Rows read for each hold of the first batch: later ones also pass by what the first left to be vacuumed."""
    with tenant_transaction(tenant.id):
        before = backlog.rows_read()
        swept = expiry.expire_lapsed_holds(Q(), count_max=BATCH)
        return (backlog.rows_read() - before) / swept


def pages_of_a_sweep(tenant: Any) -> float:
    """Pages touched for each hold of the same."""
    swept = []

    def sweep() -> None:
        while count := expiry.sweep_tenant(tenant.id):
            swept.append(count)

    return backlog.pages_touched(sweep) / sum(swept)


@pytest.mark.usefixtures("no_autovacuum")
@pytest.mark.parametrize(("cost", "most"), [(rows_of_a_sweep, 20), (pages_of_a_sweep, 120)], ids=["rows", "pages"])
def test_what_a_swept_hold_costs_does_not_grow_with_the_backlog(
    make_tenant: Any, make_event: Any, cost: Callable[[Any], float], most: int
) -> None:
    expiry.sweep()
    costs = {}
    for count in (500, 5_000):
        tenant = make_tenant()
        backlog.hold_many(tenant.id, make_event(tenant).id, count)
        costs[count] = cost(tenant)
    assert costs[5_000] <= 1.5 * costs[500], costs
    assert costs[5_000] <= most, costs


@pytest.mark.usefixtures("no_autovacuum")
def test_what_a_swept_hold_costs_does_not_grow_with_another_tenants_backlog(make_tenant: Any, make_event: Any) -> None:
    expiry.sweep()
    costs = {}
    for others in (0, 5_000):
        tenant, other = make_tenant(), make_tenant()
        if others:  # they ended before, so a scan by time alone meets them first
            backlog.hold_many(other.id, make_event(other).id, others, ends_in=300)
        backlog.hold_many(tenant.id, make_event(tenant).id, 100)
        costs[others] = rows_of_a_sweep(tenant)
    assert costs[5_000] <= 1.5 * costs[0], costs


@pytest.mark.parametrize("way", ["named", "any"])
def test_what_the_next_buyer_reads_does_not_grow_with_the_backlog(make_tenant: Any, make_event: Any, way: str) -> None:
    expiry.sweep()
    reads = {}
    for count in (500, 5_000):
        tenant = make_tenant()
        event = make_event(tenant)
        backlog.hold_many(tenant.id, event.id, count)
        chosen = {"labels": ("B-7",)} if way == "named" else {"quantity": 2}
        with tenant_transaction(tenant.id):
            before = backlog.rows_read()
            (outcome,) = attempt(tenant.id, [HoldRequest(event.id, "ada", **chosen)])
            reads[count] = backlog.rows_read() - before
        assert isinstance(outcome, Granted)
    # a table of 500 rows may be read as a whole
    assert reads[5_000] <= 1.5 * max(reads[500], 300), reads
