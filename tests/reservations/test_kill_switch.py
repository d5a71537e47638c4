"""A broken promise stops the sale of its event, at once and until an organizer resumes it, and nothing else."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connections, transaction

from reservations.invariants import checker
from reservations.invariants import watch as watcher
from reservations.invariants.checker import ROWS_SHOWN_MAX, breaches
from reservations.invariants.statements import INVARIANTS
from reservations.invariants.watch import last_look, watch
from reservations.models import Event, Hold, Order, Unit
from reservations.operations.events import pause_event_for_invariant
from tenants.scope import SETTING, tenant_transaction
from tests.contract.sale import Sale
from tests.support import backlog, feed
from tests.support.client import Api

HAS_ITS_UNITS = "a live hold has exactly the units it promises"
ONE_LIVE_HOLD = "no unit is in two live holds"
ENDED_HAS_NONE = "an ended hold has no units"
SOLD_HAS_AN_ORDER = "a sold unit has a converted hold and a confirmed order"
AGREE = "tenants agree along event, hold, order, unit and ticket"
COUNTERS = "counters say what the rows say"
MONEY = "captured money is an order, a refund or under review"


def by_hand(tenant: Any, *statements: str) -> None:
    """What no call does and the constraints allow, as the owner."""
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        cursor.execute("SELECT set_config(%s, %s, true)", [SETTING, str(tenant.id)])
        for statement in statements:
            cursor.execute(statement)
            assert cursor.rowcount, statement


BROKEN = {
    "a unit of a live hold was freed": (
        ["UPDATE reservations_unit SET status = 'available', hold_id = NULL WHERE status = 'held'"],
        {HAS_ITS_UNITS},
    ),
    "a unit of a live hold was sold": (
        [
            """
            INSERT INTO reservations_order
                (id, tenant_id, hold_id, event_id, status, customer, customer_key, total_amount)
            SELECT id, tenant_id, id, event_id, 'pending', customer, customer_key, total_amount FROM reservations_hold
            """,
            "UPDATE reservations_unit SET status = 'sold', order_id = hold_id WHERE status = 'held'",
        ],
        {HAS_ITS_UNITS, SOLD_HAS_AN_ORDER},
    ),
    "a hold promises more than it has": (["UPDATE reservations_hold SET quantity = 5"], {HAS_ITS_UNITS}),
    "a hold ended and kept its units": (
        ["UPDATE reservations_hold SET status = 'released', ended_at = statement_timestamp()"],
        {ENDED_HAS_NONE},
    ),
    "a hold became an order and its units were not sold": (
        ["UPDATE reservations_hold SET status = 'converted', ended_at = statement_timestamp()"],
        {HAS_ITS_UNITS},
    ),
    "a unit was promised to two": (
        [
            """
            INSERT INTO reservations_hold SELECT (jsonb_populate_record(
                h, jsonb_build_object('id', gen_random_uuid()))).* FROM reservations_hold h
            """
        ],
        {HAS_ITS_UNITS, ONE_LIVE_HOLD},
    ),
}


@pytest.fixture
def sale(make_event: Any, make_units: Any, api: Any, tenant: Any) -> Sale:
    """One event with a hold of U-1, and two units more."""
    event = make_event(tenant)
    sale = Sale(tenant, api(tenant), event, make_units(tenant, event, labels=["U-1", "U-2", "U-3"]))
    sale.hold(labels=["U-1"])
    return sale


@pytest.fixture
def another(make_event: Any, make_units: Any, sale: Sale) -> Sale:
    """Another event of the same tenant, in order."""
    event = make_event(sale.tenant)
    other = Sale(sale.tenant, sale.api, event, make_units(sale.tenant, event, labels=["U-1"]))
    other.hold(labels=["U-1"])
    return other


def shown(sale: Sale) -> Any:
    return sale.api.get(sale.path).json()


def said(sale: Sale) -> list[str]:
    return feed.types(feed.read(sale.api, f"subject={sale.event.id}"))


def broken(sale: Sale) -> set[str]:
    return {name for name, rows in breaches(sale.tenant.id).items() if rows}


def test_every_promise_is_watched() -> None:
    assert {name for _, names in BROKEN.values() for name in names} == set(INVARIANTS) - {AGREE, COUNTERS, MONEY}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_promise_pauses_its_event_and_no_other(sale: Sale, another: Sale, name: str) -> None:
    statements, wanted = BROKEN[name]
    with_event = [
        f"{text} {'AND' if ' WHERE ' in text else 'WHERE'} event_id = '{sale.event.id}'" for text in statements
    ]
    assert broken(sale) == set()
    by_hand(sale.tenant, *with_event)
    assert broken(sale) == wanted
    counts = watch()
    assert {each for each in wanted if counts[each] >= 1} == wanted
    assert (shown(sale)["status"], shown(sale)["paused_reason"]) == ("paused", "invariant")
    assert (shown(another)["status"], shown(another)["paused_reason"]) == ("on_sale", None)
    assert said(another) == ["event.published"]
    refused = sale.ask(quantity=1)
    assert (refused.status_code, refused.json()["reason"]) == (409, "paused")
    mend(sale)


def mend(sale: Sale) -> None:
    """So that the looks of later tests find nothing here."""
    with tenant_transaction(sale.tenant.id):
        Unit.objects.filter(event=sale.event).update(status="available", hold=None, order=None)
        Order.objects.filter(event=sale.event).delete()
        Hold.objects.filter(event=sale.event).delete()


def break_it(sale: Sale) -> None:
    by_hand(sale.tenant, f"UPDATE reservations_hold SET quantity = 5 WHERE event_id = '{sale.event.id}'")  # noqa: S608


@pytest.fixture
def torn(sale: Sale) -> Any:
    """The sale, with a promise broken until the test ends."""
    break_it(sale)
    yield sale
    mend(sale)


def test_the_pause_is_told_with_its_reason(torn: Sale) -> None:
    watch()
    published, paused = feed.read(torn.api, f"subject={torn.event.id}")
    assert (published["type"], paused["type"], paused["sequence"]) == ("event.published", "event.paused", 2)
    assert paused["data"] == shown(torn)
    assert paused["data"]["paused_reason"] == "invariant"


def test_a_second_look_pauses_nothing_twice(torn: Sale, run_together: Callable[..., list[Any]]) -> None:
    counts = run_together([watch] * 4)
    assert all(each[HAS_ITS_UNITS] >= 1 for each in counts), counts
    watch()
    assert said(torn) == ["event.published", "event.paused"]


def test_only_an_organizer_resumes_it(torn: Sale) -> None:
    watch()
    with tenant_transaction(torn.tenant.id):
        assert Event.objects.get(id=torn.event.id).status == "paused"
    by_hand(torn.tenant, f"UPDATE reservations_hold SET quantity = 1 WHERE event_id = '{torn.event.id}'")  # noqa: S608
    for _ in range(2):
        watch()
    assert shown(torn)["paused_reason"] == "invariant"
    resumed = torn.api.post(f"{torn.path}/resume")
    assert (resumed.status_code, resumed.json()["status"], resumed.json()["paused_reason"]) == (200, "on_sale", None)
    watch()
    assert shown(torn)["status"] == "on_sale"
    assert torn.hold(labels=["U-2"])
    assert said(torn) == ["event.published", "event.paused", "event.resumed"]


def test_what_is_still_broken_after_a_resume_is_paused_again(torn: Sale) -> None:
    watch()
    torn.api.post(f"{torn.path}/resume")
    watch()
    assert shown(torn)["paused_reason"] == "invariant"
    assert said(torn) == ["event.published", "event.paused", "event.resumed", "event.paused"]


def test_an_event_that_sells_nothing_anyway_stays_as_it_is(torn: Sale) -> None:
    torn.api.post(f"{torn.path}/pause")
    watch()
    assert (shown(torn)["status"], shown(torn)["paused_reason"]) == ("paused", "organizer")
    torn.api.post(f"{torn.path}/close")
    assert watch()[HAS_ITS_UNITS] >= 1
    assert shown(torn)["status"] == "closed"
    assert said(torn) == ["event.published", "event.paused", "event.closed"]


def test_holds_of_a_paused_event_may_still_be_released(torn: Sale) -> None:
    watch()
    (hold,) = torn.holds("&status=active")
    assert torn.api.post(f"/v1/holds/{hold['id']}/release").status_code == 200


def test_a_look_is_remembered_for_the_metrics(torn: Sale, api: Callable[..., Api]) -> None:
    counts = watch()
    look = last_look()
    assert look is not None
    assert look["breaches"] == dict(counts)
    assert set(look["breaches"]) == set(INVARIANTS)
    text = api(None).get("/metrics").content.decode()
    assert f'holdfast_invariant_breaches{{invariant="{HAS_ITS_UNITS}"}} {float(counts[HAS_ITS_UNITS])}' in text
    assert f'holdfast_invariant_breaches{{invariant="{AGREE}"}} {float(counts[AGREE])}' in text


def test_many_breaches_of_one_event_hide_no_other_event(
    make_tenant: Any, make_event: Any, make_units: Any, api: Any
) -> None:
    sales = []
    for count in (1, 20 * ROWS_SHOWN_MAX, 1):
        tenant = make_tenant()
        event = make_event(tenant)
        backlog.hold_many(tenant.id, event.id, count, ends_in=7200)
        sales.append(Sale(tenant, api(tenant), event, []))
        break_it(sales[-1])
    try:
        watch()
        found = [shown(sale)["paused_reason"] for sale in sales]
    finally:
        for sale in sales:
            mend(sale)
    assert found == ["invariant"] * 3


def test_the_command_fails_where_a_promise_is_broken_and_names_the_rows(
    torn: Sale, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checker, "ROWS_SHOWN_MAX", 100_000)  # other tests break promises, too
    with pytest.raises((SystemExit, CommandError)) as error:
        call_command("check_invariants")
    assert getattr(error.value, "code", 1) not in (0, None)
    (hold,) = torn.holds()
    captured = capsys.readouterr()
    assert hold["id"] in captured.out + captured.err + str(error.value)


def test_an_event_that_can_not_be_paused_now_keeps_no_other_from_it(
    torn: Sale, another: Sale, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where somebody has its row for longer than a lock is waited for."""
    break_it(another)
    asked = []

    def pause(**which: Any) -> Event:
        if which["event_id"] not in (torn.event.id, another.event.id):
            return pause_event_for_invariant(**which)  # another test's, broken for good
        asked.append(which)
        if len(asked) == 1:
            raise OperationalError("canceling statement due to lock timeout")
        return pause_event_for_invariant(**which)

    monkeypatch.setattr(watcher, "pause_event_for_invariant", pause)
    try:
        with contextlib.suppress(OperationalError):
            watch()
        assert len(asked) >= 2
        assert sorted([shown(torn)["status"], shown(another)["status"]]) == ["on_sale", "paused"]
        watch()
        assert [shown(torn)["status"], shown(another)["status"]] == ["paused", "paused"]
    finally:
        mend(another)
