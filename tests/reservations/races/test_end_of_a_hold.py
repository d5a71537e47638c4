"""Everybody at once in the moment in which a hold ends: one end, told once, and each unit given back once."""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest
from django.db.models import Q

from holdfast.kernel.clock import database_now
from reservations import expiry
from reservations.invariants.checker import breaches
from reservations.models import Hold, Unit
from reservations.operations import holds as operations
from tenants.scope import tenant_transaction
from tests.support import database
from tests.support.acts import ACTS, buy
from tests.support.racer import Racers
from tests.support.together import Crew
from webhooks.models import Message

LABELS = ("A-1", "A-2")
TERM_SECONDS = 600
# a race lasts about so long, and the hold ends in the middle of it
RACE_SECONDS = 0.03

CASTS = {
    "a release and the expiry": ["release", "expire", "sweep"],
    "an extension and the expiry": ["extend", "expire", "sweep"],
    "two extensions, two sweeps": ["extend", "extend", "sweep", "sweep"],
    "two releases and the next buyer": ["release", "release", "buy named"],
    "an extension and the next buyers": ["extend", "buy named", "buy any"],
    "everybody": ["release", "release", "extend", "extend", "expire", "sweep", "buy named", "buy any"],
}


@dataclass
class Scene:
    """A hold of both units of an event, about to end. `later_seconds` is how much later than in the middle of the race
    it ends: a busy machine races late, so each race moves that of the next one towards the moment."""

    tenant: UUID
    event: UUID
    hold: UUID = field(default_factory=lambda: UUID(int=0))
    later_seconds: float = 0.0

    def set(self, lead_seconds: float = 0) -> None:
        """Free what an earlier race left, and hold again; the hold ends in the middle of a race that is to start in
        `lead_seconds`."""
        database.advance_clock(3 * TERM_SECONDS)
        expiry.sweep_tenant(self.tenant)
        self.hold = UUID(buy(self.tenant, str(self.event), "ada", labels=LABELS))
        with tenant_transaction(self.tenant):
            end = Hold.objects.get(id=self.hold).expires_at
        until_the_end = lead_seconds + RACE_SECONDS / 2 + self.later_seconds
        database.advance_clock((end - database_now()).total_seconds() - until_the_end)

    def acts(self, cast: list[str]) -> list[dict[str, Any]]:
        """What each does, and how long after the start."""
        return [
            {"act": name.split()[0], "delay": random.uniform(0, RACE_SECONDS)} | self._arguments(name) for name in cast
        ]

    def _arguments(self, name: str) -> dict[str, Any]:
        match name:
            case "buy named":
                return {"tenant": str(self.tenant), "event": str(self.event), "customer": "bob", "labels": LABELS[:1]}
            case "buy any":
                return {"tenant": str(self.tenant), "event": str(self.event), "customer": "cem", "quantity": 2}
            case "sweep":
                return {"tenant": str(self.tenant)}
        return {"tenant": str(self.tenant), "hold": str(self.hold)}

    def judge(self, cast: list[str], words: list[Any]) -> str:
        """Hold everyone's word against the rows; answers how the hold ended."""
        assert all(isinstance(word, str) for word in words), words
        said = {name: [word for who, word in zip(cast, words, strict=True) if who == name] for name in set(cast)}
        with tenant_transaction(self.tenant):
            hold = Hold.objects.get(id=self.hold)
            told = list(Message.objects.filter(subject_id=self.hold).order_by("sequence").values("type", "sequence"))
            owners = dict(Unit.objects.filter(event_id=self.event).values_list("label", "hold_id"))
        story = (hold.status, words, told, owners)
        types = [message["type"] for message in told]
        assert [message["sequence"] for message in told] == list(range(1, len(told) + 1)), story
        extended = said.get("extend", []).count("extended")
        ended = [] if hold.status == "active" else [f"hold.{hold.status}"]
        assert types == ["hold.created", *["hold.extended"] * extended, *ended], story
        assert hold.extensions_used == extended <= 2, story
        refused = {"released": "hold-released", "expired": "hold-expired", "active": "hold-expired"}[hold.status]
        assert set(said.get("extend", [])) <= {"extended", "extension-limit", refused}, story
        answer = "released" if hold.status == "released" else "hold-expired"
        assert set(said.get("release", [])) <= {answer}, story
        bought = [(who, word) for who, word in zip(cast, words, strict=True) if "buy" in who and _is_id(word)]
        expired = sum(int(word) for name in ("expire", "sweep") for word in said.get(name, []))
        assert expired == (hold.status == "expired") or (bought and hold.status == "expired" and expired == 0), story
        if bought:
            assert hold.status != "active", story
        self.later_seconds += RACE_SECONDS / 2 if hold.status == "expired" else -RACE_SECONDS / 2
        self._judge_units(owners, hold, bought, story)
        assert not any(breaches(self.tenant).values()), story
        return str(hold.status)

    def _judge_units(self, owners: dict[str, Any], hold: Hold, bought: list[Any], story: Any) -> None:
        """Each unit belongs to the one who got it last, and to nobody where nobody did."""
        wanted = dict.fromkeys(LABELS, hold.id if hold.status == "active" else None)
        for name, word in bought:
            for label in LABELS[:1] if name == "buy named" else LABELS:
                assert wanted[label] is None, story
                wanted[label] = UUID(word)
        assert owners == wanted, story


def _is_id(word: str) -> bool:
    try:
        return bool(UUID(word))
    except ValueError:
        return False


@pytest.fixture
def scene(tenant: Any, make_event: Callable[..., Any], make_units: Any, shift_clock: Any) -> Scene:
    event = make_event(tenant, hold_ttl_seconds=TERM_SECONDS)
    make_units(tenant, event, labels=LABELS)
    return Scene(tenant.id, event.id)


@pytest.fixture
def threads() -> Iterator[Callable[[list[dict[str, Any]]], list[Any]]]:
    with Crew(max(map(len, CASTS.values()))) as crew:

        def act(act: str, tenant: str, delay: float, **arguments: Any) -> Callable[[], str]:
            def run() -> str:
                time.sleep(delay)  # spreads the racers around the moment
                return ACTS[act](UUID(tenant), **arguments)

            return run

        yield lambda acts: crew.race([act(**each) for each in acts])


@pytest.mark.gate
@pytest.mark.parametrize("cast", CASTS.values(), ids=CASTS)
def test_a_hold_ends_once_whoever_comes_in_that_moment(
    scene: Scene, threads: Callable[..., list[Any]], rounds: range, cast: list[str]
) -> None:
    ends = set()
    for _ in rounds:
        scene.set()
        ends.add(scene.judge(cast, threads(scene.acts(cast))))
    # the race is about the moment: more than one thing has come of it
    assert len(ends) > 1 or len(rounds) < 20, ends


@pytest.mark.gate
def test_a_hold_ends_once_when_they_are_processes_of_their_own(scene: Scene, rounds: range) -> None:
    cast = ["release", "extend", "sweep", "buy named"]
    ends = set()
    with Racers(len(cast)) as racers:
        for _ in rounds:
            scene.set(racers.LEAD_SECONDS)
            ends.add(scene.judge(cast, racers.race(scene.acts(cast))))
    assert len(ends) > 1 or len(rounds) < 20, ends


def test_without_the_guard_on_state_and_time_the_race_would_tell(
    scene: Scene, threads: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: releases and extensions that take a hold as it comes."""
    monkeypatch.setattr(operations, "IN_TIME", Q())
    seen = 0
    for _ in range(20):
        scene.set()
        cast = CASTS["everybody"]
        try:
            scene.judge(cast, threads(scene.acts(cast)))
        except AssertionError:
            seen += 1
    assert seen > 5
    with tenant_transaction(scene.tenant):  # what it broke is not for later tests to find
        Unit.objects.filter(event_id=scene.event).update(status="available", hold=None)
        Hold.objects.filter(event_id=scene.event).delete()
