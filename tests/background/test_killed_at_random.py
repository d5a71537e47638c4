"""Workers and the loop are killed at random moments while buyers go on; `./hold bench chaos` is the long form."""

import contextlib
import random
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from holdfast.bench.crowd import Crowd
from reservations.invariants.checker import breaches
from reservations.models import Hold, HoldStatus, Unit, UnitStatus
from tenants.scope import tenant_transaction
from tests.support import redis_database
from tests.support.processes import Background, Process, background, queue, wait_until
from webhooks.models import Message

UNITS, BUYERS = 60, 4
TTL_SECONDS = (5, 8)
# what is killed, and its queue with a job that is put there, so that a blow may fall into the middle of one
VICTIMS = {
    ("work", "holds"): ("holds", "reservations.jobs.sweep"),
    ("work", "watch"): ("watch", "reservations.jobs.watch_invariants"),
    ("run_periodic",): None,
}
WEIGHTS = (5, 2, 2)
BLOW_AFTER_SECONDS = (0.1, 0.6)
# a job takes about so long
JOB_SECONDS = 0.03
IN_A_JOB = 0.7
# one blow in so many empties Redis instead
REDIS_EMPTIED_EVERY = 8
SETTLED_WITHIN_SECONDS = 60
ENDINGS = {"hold.released": HoldStatus.RELEASED, "hold.expired": HoldStatus.EXPIRED}

chance = random.Random()


@pytest.fixture
def programs(database_name: str) -> Iterator[Background]:
    redis_database.flush()
    with background() as programs:
        yield programs
    redis_database.flush()


@pytest.fixture
def crowd(tenant: Any, make_event: Any, make_units: Any, web: Any) -> Crowd:
    # an extension lasts as long as the event's holds do
    event = make_event(tenant, hold_ttl_seconds=max(TTL_SECONDS))
    labels = [f"U-{number}" for number in range(UNITS)]
    make_units(tenant, event, labels=labels)
    port = urlsplit(web.url).port
    assert port
    return Crowd(port, tenant.key, str(event.id), labels, TTL_SECONDS)


@contextlib.contextmanager
def buying(crowd: Crowd) -> Iterator[None]:
    stopped = threading.Event()
    threads = crowd.run(BUYERS, stopped)
    try:
        yield
    finally:
        stopped.set()
        for thread in threads:
            thread.join()


class Victims:
    """One process of each kind; a new one takes the place of one that is killed, as the supervisor would have it."""

    def __init__(self, programs: Background) -> None:
        self.programs = programs
        self.living = {words: self._start(words) for words in VICTIMS}

    def kill_one(self) -> None:
        """Any of them: wherever it is, which often is at its start, or in a job."""
        (words,) = chance.choices(list(VICTIMS), WEIGHTS)
        if (job := VICTIMS[words]) and chance.random() < IN_A_JOB:
            jobs, function = queue(job[0]), job[1]
            jobs.enqueue(function)
            wait_until(lambda: jobs.count == 0, "the last of its jobs")
            time.sleep(chance.uniform(0, JOB_SECONDS))
        self.living[words].kill()
        self.living[words] = self._start(words)

    def kill_all(self) -> None:
        for process in self.living.values():
            process.kill()

    def _start(self, words: tuple[str, ...]) -> Process:
        process = Process(*words)
        self.programs.started.append(process)
        return process


@pytest.mark.gate
def test_what_was_answered_is_kept_and_every_hold_ends_once_however_often_they_are_killed(
    tenant: Any, crowd: Crowd, programs: Background, shift_clock: Any, rounds: range
) -> None:
    victims = Victims(programs)
    with buying(crowd):
        for number in rounds:
            time.sleep(chance.uniform(*BLOW_AFTER_SECONDS))
            if number % REDIS_EMPTIED_EVERY == REDIS_EMPTIED_EVERY - 1:
                redis_database.flush()
            else:
                victims.kill_one()
    victims.kill_all()
    assert active(tenant), "there is nothing left to settle"
    shift_clock(2 * max(TTL_SECONDS))
    programs.worker()
    programs.periodic()
    wait_until(lambda: not active(tenant), "the end of every hold", SETTLED_WITHIN_SECONDS)

    kept = holds_of(tenant)
    assert set(kept) == crowd.promised
    assert {status for _, status in kept.values()} == {"released", "expired"}
    assert all(kept[hold][1] == "released" for hold in crowd.released)
    told = told_of_holds(tenant)
    assert set(told) == set(kept)
    for hold, messages in told.items():
        extended, status = kept[hold]
        assert [sequence for sequence, _ in messages] == list(range(1, len(messages) + 1)), (hold, messages)
        types = [kind for _, kind in messages]
        assert types[:-1] == ["hold.created", *["hold.extended"] * extended], (hold, messages)
        assert ENDINGS[types[-1]] == status, (hold, messages)
    assert any(extended for extended, _ in kept.values())
    with tenant_transaction(tenant.id):
        assert Unit.objects.filter(status=UnitStatus.AVAILABLE, hold=None).count() == UNITS
    assert not any(breaches(tenant.id).values())


def active(tenant: Any) -> int:
    """Holds that nothing has ended yet, their time over or not."""
    with tenant_transaction(tenant.id):
        return Hold.objects.filter(status=HoldStatus.ACTIVE).count()


def holds_of(tenant: Any) -> dict[str, tuple[int, str]]:
    """How often each was extended, and its status."""
    with tenant_transaction(tenant.id):
        return {str(hold.id): (hold.extensions_used, hold.status) for hold in Hold.objects.all()}


def told_of_holds(tenant: Any) -> dict[str, list[tuple[int, str]]]:
    """Each hold's messages: their sequences and types."""
    told = defaultdict(list)
    with tenant_transaction(tenant.id):
        for message in Message.objects.filter(subject_type="hold").order_by("subject_id", "sequence"):
            told[str(message.subject_id)].append((message.sequence, message.type))
    return told
