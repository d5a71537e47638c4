"""Buyers who come at the same moment. Each race is run many times over, on real connections."""

from datetime import timedelta

from django.db.models import F

from holdfast.kernel.errors import Refusal
from reservations.allocation.requests import Granted, Refused
from reservations.models import Hold, Unit, UnitStatus
from reservations.operations.events import pause_event, resume_event
from reservations.operations.units import block_units
from tenants.scope import tenant_transaction
from tests.reservations.races.conftest import ROUNDS, granted, refusals


def test_one_of_fifty_gets_the_single_named_unit(
    tenant, make_event, make_units, ask, run_together, put_back, rows, keep_the_promises
):
    event = make_event(tenant)
    make_units(tenant, event, labels=["A-1"])
    for _ in range(ROUNDS):
        outcomes = run_together([ask(event, f"buyer-{n}@example.org", labels=("A-1",)) for n in range(50)])
        assert len(granted(outcomes)) == 1
        assert refusals(outcomes) <= {"units-unavailable", "contention"}
        assert rows(event) == (1, 1)
        keep_the_promises()
        put_back(event)


def test_one_of_fifty_gets_the_single_unit_that_anyone_may_have(
    tenant, make_event, make_units, ask, run_together, put_back, rows, keep_the_promises
):
    event = make_event(tenant)
    make_units(tenant, event, 1)
    for _ in range(ROUNDS):
        outcomes = run_together([ask(event, f"buyer-{n}@example.org", quantity=1) for n in range(50)])
        assert len(granted(outcomes)) == 1
        assert refusals(outcomes) <= {"sold-out", "contention"}
        assert rows(event) == (1, 1)
        put_back(event)


def test_overlapping_baskets_in_opposite_order_end_without_a_deadlock(
    tenant, make_event, make_units, ask, run_together, put_back, rows, keep_the_promises
):
    event = make_event(tenant)
    labels = [f"A-{n}" for n in range(8)]
    make_units(tenant, event, labels=labels)
    forth, back = tuple(labels), tuple(reversed(labels))
    for _ in range(ROUNDS):
        outcomes = run_together([ask(event, f"b-{n}", labels=forth if n % 2 else back) for n in range(12)])
        assert len(granted(outcomes)) == 1
        assert refusals(outcomes) <= {"units-unavailable", "contention"}
        assert rows(event) == (1, len(labels))
        put_back(event)


def test_partly_overlapping_baskets_are_granted_whole_or_not_at_all(
    tenant, make_event, make_units, ask, run_together, put_back, rows, keep_the_promises
):
    event = make_event(tenant)
    labels = [f"A-{n}" for n in range(6)]
    make_units(tenant, event, labels=labels)
    baskets = [tuple(labels[(start + step) % 6] for step in range(3)) for start in range(6)] * 2
    for _ in range(ROUNDS):
        outcomes = run_together([ask(event, f"b-{n}", labels=basket) for n, basket in enumerate(baskets)])
        wins = granted(outcomes)
        assert 1 <= len(wins) <= 2
        assert rows(event) == (len(wins), 3 * len(wins))
        keep_the_promises()
        put_back(event)


def test_any_n_beside_named_never_shares_a_unit(
    tenant, make_event, make_units, ask, run_together, put_back, rows, keep_the_promises
):
    event = make_event(tenant)
    labels = [f"A-{n}" for n in range(10)]
    make_units(tenant, event, labels=labels)
    for _ in range(ROUNDS):
        named = [ask(event, f"n-{n}", labels=(labels[n], labels[(n + 1) % 10])) for n in range(10)]
        anyone = [ask(event, f"a-{n}", quantity=2) for n in range(10)]
        wins = granted(run_together([call for pair in zip(named, anyone, strict=True) for call in pair]))
        units = [item["unit"] for win in wins for item in win.body["items"]]
        assert len(units) == len(set(units)) <= len(labels)
        assert len(wins) >= 1
        assert rows(event) == (len(wins), len(units))
        keep_the_promises()
        put_back(event)


def test_a_hundred_buyers_of_any_unit_get_every_unit_that_there_is(
    tenant, make_event, make_units, ask, run_together, put_back, rows, keep_the_promises
):
    event = make_event(tenant)
    make_units(tenant, event, 20)
    for _ in range(3):
        outcomes = run_together([ask(event, f"b-{n}", quantity=1) for n in range(60)])
        assert len(granted(outcomes)) == 20
        assert refusals(outcomes) <= {"sold-out", "contention"}
        assert rows(event) == (20, 20)
        put_back(event)


def test_nothing_is_granted_to_whoever_asks_after_a_pause_was_answered(
    tenant, make_event, make_units, ask, run_together, put_back, keep_the_promises
):
    event = make_event(tenant)
    make_units(tenant, event, 60)
    for _ in range(ROUNDS):
        late = []

        def pause_then_ask(late=late):
            pause_event(tenant_id=tenant.id, event_id=event.id)
            late.append(ask(event, "late@example.org", quantity=1)())

        outcomes = run_together([pause_then_ask, *(ask(event, f"b-{n}", quantity=1) for n in range(12))])
        assert refusals(outcomes) <= {"not-on-sale", "contention"}
        (after,) = late
        assert isinstance(after, Refused)
        assert (after.refusal.slug, after.refusal.members["reason"]) == ("not-on-sale", "paused")
        assert len(granted(outcomes)) + sum(isinstance(each, Refused) for each in outcomes) == 12
        keep_the_promises()
        resume_event(tenant_id=tenant.id, event_id=event.id)
        put_back(event)


def test_parallel_holds_of_one_customer_stay_within_the_limit(
    tenant, make_event, make_units, ask, run_together, put_back, rows, keep_the_promises
):
    event = make_event(tenant, units_per_customer_max=2)
    make_units(tenant, event, 20)
    spellings = ["ada@example.org", "ADA@example.org", " ada@example.org ", "ａda@example.org"]
    for _ in range(ROUNDS):
        outcomes = run_together([ask(event, spellings[n % 4], quantity=1) for n in range(12)])
        assert len(granted(outcomes)) == 2
        assert refusals(outcomes) <= {"limit-exceeded", "contention"}
        assert rows(event) == (2, 2)
        put_back(event)


def test_a_lapsed_hold_gives_way_to_exactly_one_of_the_next_buyers(
    tenant, make_event, make_units, ask, run_together, put_back, rows, keep_the_promises
):
    event = make_event(tenant)
    make_units(tenant, event, labels=["A-1", "A-2"])
    for _ in range(ROUNDS):
        first = ask(event, "first@example.org", labels=("A-1", "A-2"))()
        assert isinstance(first, Granted)
        lapse(tenant, first.hold)
        named = [ask(event, f"n-{n}", labels=("A-1",)) for n in range(6)]
        anyone = [ask(event, f"a-{n}", quantity=1) for n in range(6)]
        outcomes = run_together(named + anyone)
        assert len(granted(outcomes)) == 2
        assert rows(event) == (2, 2)
        with tenant_transaction(tenant.id):
            assert Hold.objects.get(id=first.hold.id).status == "expired"
        keep_the_promises()
        put_back(event)


def lapse(tenant, hold):
    """Its time has passed: as if it had been made, and had ended, an hour before."""
    with tenant_transaction(tenant.id):
        Hold.objects.filter(id=hold.id).update(
            created_at=F("created_at") - timedelta(hours=1), expires_at=F("expires_at") - timedelta(hours=1)
        )


def test_blocking_units_beside_buyers_leaves_each_unit_in_one_state(
    tenant, make_event, make_units, ask, run_together, put_back, keep_the_promises
):
    event = make_event(tenant)
    labels = [f"A-{n}" for n in range(4)]
    make_units(tenant, event, labels=labels)

    def block():
        try:
            return block_units(tenant_id=tenant.id, event_id=event.id, labels=labels[:2])
        except Refusal as refusal:
            return refusal.slug

    for _ in range(ROUNDS):
        outcomes = run_together([block, block, *(ask(event, f"b-{n}", quantity=1) for n in range(6))])
        blocked = outcomes[:2]
        assert not any(isinstance(each, Exception) for each in blocked)
        with tenant_transaction(tenant.id):
            states = {unit.label: unit.status for unit in Unit.objects.filter(event=event)}
        assert states[labels[0]] == states[labels[1]] == UnitStatus.BLOCKED or set(blocked) == {"units-unavailable"}
        assert list(states.values()).count(UnitStatus.HELD) == len(granted(outcomes[2:]))
        keep_the_promises()
        put_back(event)
