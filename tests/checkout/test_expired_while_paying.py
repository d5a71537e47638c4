"""The hold's time passes while its payment is under way: the same units again, or all of the money back."""

import random
import threading
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db.models import Q

from reservations import expiry
from reservations.checkout import confirm, saga
from reservations.checkout.accounts import provider_of
from reservations.checkout.begin import Wish, begin
from reservations.checkout.lease import Begun
from reservations.checkout.settle import settle
from reservations.invariants.checker import breaches
from reservations.locks import lock_units
from reservations.models import Unit, UnitStatus
from tests.checkout.sale import Sale
from tests.support import database, paying
from tests.support.acts import buy
from tests.support.together import Crew

KEY = "the-key"
# a hold that is being paid has two minutes left at least; its event gives it ten
LONGER_SECONDS = 900
# a race lasts about so long
RACE_SECONDS = 0.02
ID_LENGTH = 36


class LateAnswer:
    """The charge is made, and its answer on its way until `answers` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.charged, self.answers = threading.Event(), threading.Event()
        original = saga._charge

        def charge(*args: Any) -> Any:
            answer = original(*args)
            self.charged.set()
            assert self.answers.wait(60)
            return answer

        monkeypatch.setattr(saga, "_charge", charge)


@pytest.fixture
def pay_late(monkeypatch: pytest.MonkeyPatch, run_together: Any) -> Callable[..., str]:
    """`pay_late(sale, hold, meanwhile)`: what the buyer hears whose provider answered only after all that."""

    def pay(sale: Sale, hold: str, meanwhile: Callable[[], Any]) -> str:
        late = LateAnswer(monkeypatch)

        def others() -> None:
            assert late.charged.wait(60)
            try:
                meanwhile()
            finally:
                late.answers.set()

        word, failed = run_together([lambda: sale.pay(hold, key=KEY), others])
        assert failed is None, failed
        monkeypatch.undo()
        return str(word)

    return pay


def lapse() -> None:
    database.advance_clock(LONGER_SECONDS)


def test_units_that_are_free_are_taken_again_by_a_hold_of_their_own(sale, pay_late):
    hold = sale.hold()

    def meanwhile() -> None:
        lapse()
        expiry.sweep_tenant(sale.tenant)

    assert pay_late(sale, hold, meanwhile) == "201"
    order = sale.order(hold)
    assert order.retaken_hold_id
    assert sale.told(hold) == ["hold.created", "hold.expired"]
    assert sale.told(order.retaken_hold_id) == ["hold.converted"]
    assert set(sale.statuses().values()) == {"sold"}
    assert sale.pay(hold, key=KEY) == "201"
    assert sale.pay(hold) == "hold-converted"
    sale.judge()


def test_a_lapsed_hold_that_nobody_has_ended_yet_is_ended_and_its_units_taken_again(sale, pay_late):
    hold = sale.hold()
    assert pay_late(sale, hold, lapse) == "201"
    order = sale.order(hold)
    assert (order.status, order.reason) == ("confirmed", None)
    assert order.retaken_hold_id
    assert sale.told(hold) == ["hold.created", "hold.expired"]
    assert sale.told(order.id) == ["order.confirmed"]
    sale.judge()


@pytest.mark.parametrize("taken", [("A-1", "A-2"), ("A-2",)], ids=["all", "one of them"])
def test_units_that_are_gone_mean_all_of_the_money_back(sale, pay_late, taken):
    hold = sale.hold()

    def meanwhile() -> None:
        lapse()
        sale.hold(*taken, customer="bob")

    assert pay_late(sale, hold, meanwhile) == "hold-expired"
    sale.recover_fully()
    assert sale.story(hold) == ("failed", "expired_while_paying", ["refunded"], ["succeeded"])
    assert sale.told(sale.order(hold).id) == ["order.failed"]
    (charge,) = sale.charges(hold)
    assert charge["refunded"] == charge["amount"]
    assert sale.pay(hold, key=KEY) == "hold-expired"
    held = {label: "held" if label in taken else "available" for label in ("A-1", "A-2")}
    assert sale.statuses() == held
    sale.judge()


def test_units_of_a_hold_that_lapsed_too_are_not_in_the_way(sale, pay_late):
    hold = sale.hold()

    def meanwhile() -> None:
        lapse()
        sale.hold("A-2", customer="bob")
        lapse()

    assert pay_late(sale, hold, meanwhile) == "201"
    sale.judge()


@pytest.mark.parametrize("limit", [2, 3])
def test_late_money_buys_no_more_than_the_customers_limit(make_sale, pay_late, limit):
    sale = make_sale(3, units_per_customer_max=limit)
    hold = sale.hold("A-1", "A-2")

    def meanwhile() -> None:
        lapse()
        sale.hold("A-3")

    word = pay_late(sale, hold, meanwhile)
    assert word == ("201" if limit == 3 else "hold-expired")
    sale.recover_fully()
    sale.judge()


def begun_and_charged(sale: Sale, hold: str) -> Callable[[], Any]:
    """The charge is made; what is left to do is to settle it."""
    claim = paying.claim_of(sale.tenant, hold, hold)
    begun = begin(tenant_id=sale.tenant, claim=claim, wish=Wish(UUID(hold), "tok_ok"), waits=True)
    assert isinstance(begun, Begun)
    charge = saga._charge(provider_of(begun.work.account), begun.work)
    return lambda: settle(tenant_id=sale.tenant, begun=begun, charge=charge)


def race(sale: Sale, crew: Crew) -> str:
    """The money comes, the hold is over, and the sweep and two buyers come in that moment. Answers how it ended."""
    hold = sale.hold()
    settles = begun_and_charged(sale, hold)
    lapse()
    rivals = [
        settles,
        lambda: expiry.sweep_tenant(sale.tenant),
        lambda: buy(sale.tenant, str(sale.event.id), "bob", labels=("A-2",)),
        lambda: buy(sale.tenant, str(sale.event.id), "cem", quantity=1),
    ]
    said = crew.race([spread(rival) for rival in rivals])
    assert not [error for error in said if isinstance(error, BaseException)], said
    order = sale.order(hold)
    bought = [word for word in said[2:] if "-" in str(word) and len(str(word)) == ID_LENGTH]
    if order.status == "confirmed":
        assert order.retaken_hold_id
        assert not bought, said
        assert set(sale.statuses().values()) == {"sold"}
    else:
        assert sale.story(hold) == ("failed", "expired_while_paying", ["refunding"], ["pending"])
        assert bought, said
        assert list(sale.statuses().values()).count("held") == len(bought)
    assert not any(breaches(sale.tenant).values())
    return str(order.status)


def spread(rival: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> Any:
        time.sleep(random.uniform(0, RACE_SECONDS))  # spreads the racers around the moment
        return rival()

    return run


def begin_anew(sale: Sale) -> None:
    """All money is back and all units are free, by the product's own ways."""
    for order in sale.orders():
        if order.status == "confirmed":
            assert sale.refund(str(order.id)) == "200"
    sale.recover_fully()
    lapse()
    expiry.sweep_tenant(sale.tenant)
    assert set(sale.statuses().values()) == {"available"}


@pytest.mark.gate
def test_either_the_late_buyer_gets_the_units_or_the_next_one_and_he_his_money(sale: Sale, rounds: range) -> None:
    ends = set()
    with Crew(4) as crew:
        for _ in rounds:
            ends.add(race(sale, crew))
            begin_anew(sale)
    sale.judge()
    # the race is about the moment: more than one thing has come of it
    assert len(ends) > 1 or len(rounds) < 20, ends


def test_without_the_look_at_the_units_the_guard_alone_keeps_them_from_being_sold_twice(sale, monkeypatch):
    hold = sale.hold()
    settles = begun_and_charged(sale, hold)
    lapse()
    sale.hold("A-2", customer="bob")

    def all_look_free(wanted: Q) -> list[Unit]:
        units = lock_units(wanted)
        for unit in units:
            unit.status = UnitStatus.AVAILABLE
        return units

    with monkeypatch.context() as patched:
        patched.setattr(confirm, "lock_units", all_look_free)
        with pytest.raises(confirm.UnitsMissing):
            settles()
    assert sale.story(hold) == ("pending", None, ["submitting"], [])
    sale.recover_fully()
    assert sale.story(hold) == ("failed", "expired_while_paying", ["refunded"], ["succeeded"])
    sale.judge()
