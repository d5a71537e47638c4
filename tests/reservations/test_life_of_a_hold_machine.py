"""Holds, their ends, events and time in any order, against a model that fits in the head.

Every call answers as the model says, and after each step the rows are as the model has them and no promise is broken.
"""

import secrets
from dataclasses import dataclass, field
from typing import Any, ClassVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from holdfast.kernel.errors import Refusal
from reservations import expiry, jobs
from reservations.allocation.allocator import allocate
from reservations.allocation.requests import Granted, HoldRequest, Refused
from reservations.invariants.checker import breaches
from reservations.models import Hold, Unit
from reservations.operations import events
from reservations.operations.holds import extend_hold, release_hold
from reservations.operations.units import NewUnit, block_units, create_units, unblock_units
from tenants.operations.tenants import create_tenant
from tenants.scope import tenant_transaction
from tests.support import database
from webhooks.models import Message

SECTIONS = {"A": ("A-1", "A-2", "A-3"), "B": ("B-1", "B-2")}
LABELS = tuple(label for labels in SECTIONS.values() for label in labels)
CUSTOMERS = ("ada", "bob")
TERM, EXTENSIONS, PER_HOLD, PER_CUSTOMER = 600, 2, 3, 4
# times between which nothing is near: real time passes too, and a step may take a second of it
STEPS_OF_TIME = (100, 250, 400, 700)
TERMS = (150, 600)
NEAR_SECONDS = 40


@dataclass
class ModelHold:
    """What the model knows of a hold; its end is in seconds of the model's clock."""

    id: UUID
    customer: str
    labels: frozenset[str]
    end: float
    extended: int = 0
    status: str = "active"
    told: list[str] = field(default_factory=lambda: ["created"])


class LifeOfAHold(RuleBasedStateMachine):
    tenant: ClassVar[UUID]

    def __init__(self) -> None:
        super().__init__()
        slug = f"life-{secrets.token_hex(6)}"
        event = events.create_event(
            tenant_id=self.tenant,
            slug=slug,
            name="Life",
            kind="seats",
            currency="EUR",
            timezone="UTC",
            hold_ttl_seconds=TERM,
            hold_extensions_max=EXTENSIONS,
            units_per_hold_max=PER_HOLD,
            units_per_customer_max=PER_CUSTOMER,
        )
        self.event = event.id
        for section, labels in SECTIONS.items():
            units = [NewUnit(label, section=section) for label in labels]
            create_units(tenant_id=self.tenant, event_id=self.event, units=units)
        self.now = 0.0
        events.publish_event(tenant_id=self.tenant, event_id=self.event)
        self.event_status = "on_sale"
        self.event_told = ["published"]
        self.holds: dict[UUID, ModelHold] = {}
        self.blocked: set[str] = set()

    # --- the model

    def live(self) -> list[ModelHold]:
        return [hold for hold in self.holds.values() if hold.status == "active" and hold.end > self.now]

    def lapsed(self) -> list[ModelHold]:
        return [hold for hold in self.holds.values() if hold.status == "active" and hold.end <= self.now]

    def taken(self) -> set[str]:
        return {label for hold in self.live() for label in hold.labels}

    def free(self, labels: Any = LABELS) -> set[str]:
        return set(labels) - self.taken() - self.blocked

    def has_ended(self, hold: ModelHold, status: str) -> None:
        hold.status = status
        hold.told.append(status)

    def settle_expired(self) -> None:
        """Which of the lapsed holds a call has ended is its own business: the rows tell, and none but lapsed ones."""
        with tenant_transaction(self.tenant):
            found = dict(Hold.objects.filter(event_id=self.event).values_list("id", "status"))
        for hold in self.lapsed():
            if found[hold.id] == "expired":
                self.has_ended(hold, "expired")

    # --- rules

    @rule(seconds=st.sampled_from(STEPS_OF_TIME))
    def time_passes(self, seconds: int) -> None:
        """By as much as keeps every end clear of the moments at which something is asked."""
        ends = [hold.end for hold in self.holds.values() if hold.status == "active"]
        while any(abs(end - self.now - seconds) < NEAR_SECONDS for end in ends):
            seconds += NEAR_SECONDS
        database.advance_clock(seconds)
        self.now += seconds

    @rule(
        customer=st.sampled_from(CUSTOMERS),
        labels=st.sets(st.sampled_from(LABELS), min_size=1, max_size=2),
        term=st.sampled_from(TERMS),
    )
    def hold_named(self, customer: str, labels: set[str], term: int) -> None:
        self.ask(customer, len(labels), term, labels <= self.free(), "units-unavailable", labels=tuple(sorted(labels)))

    @rule(
        customer=st.sampled_from(CUSTOMERS),
        quantity=st.sampled_from([1, 1, 2, 2, 3, 4]),
        section=st.sampled_from([None, "A", "B"]),
        term=st.sampled_from(TERMS),
    )
    def hold_any(self, customer: str, quantity: int, section: str | None, term: int) -> None:
        enough = len(self.free(SECTIONS[section] if section else LABELS)) >= quantity
        self.ask(customer, quantity, term, enough, "sold-out", quantity=quantity, section=section)

    def ask(self, customer: str, size: int, term: int, there: bool, lacking: str, **chosen: Any) -> None:  # noqa: FBT001
        request = HoldRequest(self.event, customer, ttl_seconds=term, **chosen)
        (outcome,) = allocate(tenant_id=self.tenant, requests=[request])
        self.settle_expired()
        in_use = sum(len(hold.labels) for hold in self.live() if hold.customer == customer)
        refusals = set()
        if self.event_status != "on_sale":
            refusals.add("not-on-sale")
        if size > PER_HOLD or in_use + size > PER_CUSTOMER:
            refusals.add("limit-exceeded")
        if not there:
            refusals.add(lacking)
        if refusals:
            assert isinstance(outcome, Refused), (outcome, refusals)
            assert outcome.refusal.slug in refusals, (outcome.refusal.slug, refusals)
            return
        assert isinstance(outcome, Granted), outcome
        got = frozenset(item["label"] for item in outcome.body["items"])
        assert len(got) == size == outcome.body["quantity"]
        assert got <= self.free(), (got, self.free())
        if "labels" in chosen:
            assert got == set(chosen["labels"])
        if chosen.get("section"):
            assert got <= set(SECTIONS[chosen["section"]])
        self.holds[outcome.hold.id] = ModelHold(outcome.hold.id, customer, got, self.now + term)

    @precondition(lambda self: self.holds)
    @rule(data=st.data(), seconds=st.sampled_from([None, 150, 600]))
    def extend(self, data: st.DataObject, seconds: int | None) -> None:
        hold = self.pick(data)
        word = self.try_to(lambda: extend_hold(tenant_id=self.tenant, hold_id=hold.id, seconds=seconds))
        if hold.status != "active":
            assert word == f"hold-{hold.status}"
        elif hold.end <= self.now:
            assert word == "hold-expired"
        elif hold.extended == EXTENSIONS:
            assert word == "extension-limit"
        else:
            assert word == "active"
            hold.extended += 1
            hold.end = max(hold.end, self.now + (seconds or TERM))
            hold.told.append("extended")

    @precondition(lambda self: self.holds)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        hold = self.pick(data)
        word = self.try_to(lambda: release_hold(tenant_id=self.tenant, hold_id=hold.id))
        if hold.status == "expired" or (hold.status == "active" and hold.end <= self.now):
            assert word == "hold-expired"
        else:
            assert word == "released"
            if hold.status == "active":
                self.has_ended(hold, "released")

    @rule()
    def sweep(self) -> None:
        lapsed = self.lapsed()
        assert expiry.sweep_tenant(self.tenant) >= len(lapsed)
        for hold in lapsed:
            self.has_ended(hold, "expired")

    @precondition(lambda self: self.holds)
    @rule(data=st.data())
    def job(self, data: st.DataObject) -> None:
        hold = self.pick(data)
        is_lapsed = hold in self.lapsed()
        assert jobs.expire_holds(str(self.tenant), [str(hold.id)]) == is_lapsed
        if is_lapsed:
            self.has_ended(hold, "expired")

    @rule(labels=st.sets(st.sampled_from(LABELS), min_size=1, max_size=2), verb=st.sampled_from(["block", "unblock"]))
    def block_or_unblock(self, labels: set[str], verb: str) -> None:
        call = block_units if verb == "block" else unblock_units
        word = self.try_to(lambda: call(tenant_id=self.tenant, event_id=self.event, labels=sorted(labels)))
        self.settle_expired()
        if labels & self.taken():
            assert word == "units-unavailable"
        elif verb == "block":
            assert word == str(len(labels - self.blocked))
            self.blocked |= labels
        else:
            assert word == str(len(labels & self.blocked))
            self.blocked -= labels

    # an event that is closed ends the story, and one that is paused holds it up: so both are rare
    @rule(move=st.sampled_from(["resume"] * 12 + ["pause"] * 4 + ["publish", "close"]))
    def move(self, move: str) -> None:
        sources, target, name = {
            "publish": ({"draft"}, "on_sale", "published"),
            "pause": ({"on_sale"}, "paused", "paused"),
            "resume": ({"paused"}, "on_sale", "resumed"),
            "close": ({"on_sale", "paused"}, "closed", "closed"),
        }[move]
        call = getattr(events, f"{move}_event")
        word = self.try_to(lambda: call(tenant_id=self.tenant, event_id=self.event))
        if self.event_status in sources:
            assert word == target
            self.event_status = target
            self.event_told.append(name)
        else:
            assert word == "invalid-transition"

    def pick(self, data: st.DataObject) -> ModelHold:
        # the latest are the ones that something can still happen to
        return data.draw(st.sampled_from(list(self.holds.values())[-6:]))

    def try_to(self, call: Any) -> str:
        """The status of what it answers, or its number, or the refusal."""
        try:
            answer = call()
        except Refusal as refusal:
            return refusal.slug
        return str(getattr(answer, "status", answer))

    # --- after each step

    @invariant()
    def the_rows_are_as_the_model_has_them(self) -> None:
        with tenant_transaction(self.tenant):
            holds = {hold.id: (hold.status, hold.extensions_used) for hold in Hold.objects.filter(event_id=self.event)}
            owners = dict(Unit.objects.filter(event_id=self.event).values_list("label", "hold_id"))
            statuses = dict(Unit.objects.filter(event_id=self.event).values_list("label", "status"))
            subjects = [*self.holds, self.event]
            told = list(Message.objects.filter(subject_id__in=subjects).order_by("sequence"))
        assert holds == {hold.id: (hold.status, hold.extended) for hold in self.holds.values()}
        # a lapsed hold that nobody has ended yet still has its row and its units
        wanted = {label: hold.id for hold in self.holds.values() if hold.status == "active" for label in hold.labels}
        assert {label: owner for label, owner in owners.items() if owner} == wanted
        assert {label for label, status in statuses.items() if status == "blocked"} == self.blocked
        said: dict[UUID, list[str]] = {}
        for message in told:
            said.setdefault(message.subject_id, []).append(message.type.partition(".")[2])
            assert message.sequence == len(said[message.subject_id])
        expected = {hold.id: hold.told for hold in self.holds.values()}
        expected[self.event] = self.event_told
        assert said == expected

    @invariant()
    def no_promise_is_broken(self) -> None:
        assert not any(breaches(self.tenant).values())


STEPS = 25


@pytest.mark.gate
def test_a_hold_lives_as_the_model_says(make_tenant: Any, shift_clock: Any, rounds: range) -> None:
    """`--rounds 200` is 5,000 steps."""

    class Machine(LifeOfAHold):
        tenant = create_tenant(slug=f"life-{secrets.token_hex(8)}")[0].id

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
