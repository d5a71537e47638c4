"""Holds, payments of every outcome, refunds, cancellations and time in any order, against a model of them.

Every call answers as the model says; after each step the rows and the provider's books are as the model has them and no
promise is broken.
"""

from collections.abc import Callable
from typing import Any, ClassVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from reservations import expiry
from reservations.checkout import recovery
from reservations.invariants.checker import breaches
from reservations.models import Hold, Order, Payment, Ticket, Unit
from reservations.operations.units import unblock_units
from tenants.scope import tenant_transaction
from tests.checkout.order_model import LABELS, PER_CUSTOMER, TERM, Model, ModelHold
from tests.checkout.sale import Sale
from tests.support import database
from tests.support.acts import buy
from webhooks.models import Message

CUSTOMERS = ("ada", "bob")
UNKNOWN_AT_FIRST = ("tok_reset_after_charge", "tok_error_500")
METHODS = ("tok_ok", "tok_declined", "tok_reset_after_charge", *UNKNOWN_AT_FIRST)
SOME = st.sets(st.sampled_from(LABELS), min_size=1, max_size=2)
# times between which nothing is near, and longer than any wait for a look: real time passes too
STEPS_OF_TIME = (100, 250, 700, 700)
NEAR_SECONDS = 40


class LifeOfAnOrder(RuleBasedStateMachine):
    make_sale: ClassVar[Callable[..., Sale]]

    def __init__(self) -> None:
        super().__init__()
        self.sale = type(self).make_sale()
        self.model = Model()

    # --- rules

    @initialize(methods=st.lists(st.sampled_from(METHODS), min_size=2, max_size=2))
    def two_customers_pay(self, methods: list[str]) -> None:
        """Else most stories would be over before anybody pays."""
        for customer, labels, method in zip(CUSTOMERS, (LABELS[:2], LABELS[2:3]), methods, strict=True):
            self.hold(customer, set(labels))
            self.pay(list(self.model.holds.values())[-1], method)

    # few rules, each of many things: Hypothesis leaves out some of its rules in each story

    @rule(
        seconds=st.sampled_from(STEPS_OF_TIME),
        then=st.lists(st.sampled_from(["sweep", "work", "work"]), max_size=2),
    )
    def time_passes(self, seconds: int, then: list[str]) -> None:
        """By as much as keeps every end clear of the moments at which something is asked."""
        ends = [hold.end for hold in self.model.holds.values() if hold.status == "active"]
        while any(abs(end - self.model.now - seconds) < NEAR_SECONDS for end in ends):
            seconds += NEAR_SECONDS
        database.advance_clock(seconds)
        self.model.now += seconds
        for act in dict.fromkeys(then):
            self.sweep() if act == "sweep" else self.work()

    @rule(customer=st.sampled_from(CUSTOMERS), labels=SOME)
    def hold(self, customer: str, labels: set[str]) -> None:
        word = buy(self.sale.tenant, str(self.sale.event.id), customer, labels=sorted(labels))
        self.settle_expired()
        refusals = set()
        if self.model.in_use(customer) + len(labels) > PER_CUSTOMER:
            refusals.add("limit-exceeded")
        if not self.model.are_free(labels):
            refusals.add("units-unavailable")
        if refusals:
            assert word in refusals
            return
        self.model.holds[UUID(word)] = ModelHold(UUID(word), customer, frozenset(labels), self.model.now + TERM)

    @precondition(lambda self: self.model.holds)
    @rule(data=st.data(), method=st.sampled_from([*METHODS, "release"]))
    def pay_or_release(self, data: st.DataObject, method: str) -> None:
        hold = self.pick(data, list(self.model.holds.values()))
        if method == "release":
            assert self.sale.release(str(hold.id)) == self.model.releases(hold)
        else:
            self.pay(hold, method)

    @precondition(lambda self: any(hold.order for hold in self.model.holds.values()))
    @rule(
        data=st.data(), act=st.sampled_from(["refund", "refund some", "refund some", "cancel"]), restock=st.booleans()
    )
    def refund_or_cancel(self, data: st.DataObject, act: str, *, restock: bool) -> None:
        hold = self.pick(data, [hold for hold in self.model.holds.values() if hold.order])
        order = str(self.sale.order(str(hold.id)).id)
        if act == "cancel":
            assert self.sale.cancel(order) == self.model.cancels(hold)
            return
        some = data.draw(SOME) if act == "refund some" else None
        units = {unit.label: str(unit.id) for unit in self.sale.units}
        word = self.sale.refund(order, some and [units[label] for label in some], restock=restock)
        assert word == self.model.refunds(hold, some and frozenset(some), restock=restock)
        if self.model.blocked and not restock:
            unblock_units(
                tenant_id=self.sale.tenant, event_id=self.sale.event.id, labels=sorted(self.model.blocked)[:1]
            )
            self.model.blocked.remove(min(self.model.blocked))
            self.settle_expired()

    def pay(self, hold: ModelHold, method: str) -> None:
        if method in UNKNOWN_AT_FIRST and self.model.paying():
            method = "tok_ok"  # of two that are settled at once, either may be the first
        refusal = self.model.why_not_pay(hold)
        word = self.sale.pay(str(hold.id), method)
        assert word == (refusal or self.model.pays(hold, method))

    def work(self) -> None:
        """What is due is settled, and may end others that are over and in its way."""
        recovery.work_due()
        for hold in self.model.paying():
            self.settle_expired(but=hold)
            self.model.looks(hold)
        self.settle_expired()

    def sweep(self) -> None:
        lapsed = self.model.lapsed()
        assert expiry.sweep_tenant(self.sale.tenant) == len(lapsed)
        for hold in lapsed:
            hold.has_ended("expired")

    def pick(self, data: st.DataObject, holds: list[ModelHold]) -> ModelHold:
        # the latest are the ones that something can still happen to
        return data.draw(st.sampled_from(holds[-3:]))

    def settle_expired(self, but: ModelHold | None = None) -> None:
        """Which of the lapsed holds a call has ended is its own business: the rows tell, and none but lapsed ones."""
        with tenant_transaction(self.sale.tenant):
            found = dict(Hold.objects.values_list("id", "status"))
        for hold in self.model.lapsed():
            if hold is not but and found[hold.id] == "expired":
                hold.has_ended("expired")

    # --- after each step

    @invariant()
    def the_rows_and_the_books_are_as_the_model_has_them(self) -> None:
        with tenant_transaction(self.sale.tenant):
            holds = dict(Hold.objects.exclude(retaken_for__isnull=False).values_list("id", "status"))
            orders = {order.hold_id: order for order in Order.objects.prefetch_related("payments")}
            units = dict(Unit.objects.values_list("label", "status"))
            tickets = set(Ticket.objects.filter(returned=False).values_list("order__hold_id", "label"))
        model = self.model.holds.values()
        assert holds == {hold.id: hold.status for hold in model}
        assert orders.keys() == {hold.id for hold in model if hold.order}
        for hold in model:
            if hold.order:
                self.is_as_the_model_has_it(hold, orders[hold.id])
        held = {label for hold in model if hold.status == "active" for label in hold.labels}
        sold = {label for hold in model for label in hold.sold}
        assert {label for label, status in units.items() if status == "held"} == held
        assert {label for label, status in units.items() if status == "sold"} == sold
        assert {label for label, status in units.items() if status == "blocked"} == self.model.blocked
        assert tickets == {(hold.id, label) for hold in model for label in hold.sold}

    def is_as_the_model_has_it(self, hold: ModelHold, order: Order) -> None:
        wanted = hold.order
        assert wanted is not None
        assert (order.status, order.reason) == (wanted.status, wanted.reason)
        assert (order.retaken_hold_id is not None) == hold.is_retaken
        with tenant_transaction(self.sale.tenant):
            payments = list(Payment.objects.filter(order=order).order_by("id").values_list("status", flat=True))
            told = list(Message.objects.filter(subject_id=order.id).order_by("sequence").values_list("type", flat=True))
        assert payments == wanted.payments
        assert told == [f"order.{status}" for status in wanted.told]
        if not wanted.is_paying:
            assert self.sale.kept(order) == wanted.kept

    @invariant()
    def no_promise_is_broken(self) -> None:
        assert not any(breaches(self.sale.tenant).values())


STEPS = 12


@pytest.mark.gate
def test_an_order_lives_as_the_model_says(make_sale: Any, rounds: range) -> None:
    """`--rounds 200` is 2,400 steps."""

    class Machine(LifeOfAnOrder):
        @staticmethod
        def make_sale() -> Sale:
            sale: Sale = make_sale(len(LABELS), hold_ttl_seconds=TERM, units_per_customer_max=PER_CUSTOMER)
            return sale

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=len(rounds),
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
