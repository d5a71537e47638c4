"""What fails for one tenant, endpoint or replay is told once, and keeps no other from being told."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connections

from holdfast.kernel.clock import database_now
from tenants.scope import tenant_transaction
from tests.support.processes import wait_until
from tests.webhooks.post import OK, Post
from tests.webhooks.test_replay import begin, state
from webhooks import jobs
from webhooks import relay as relay_module
from webhooks import replay as replays
from webhooks.couriers import Couriers
from webhooks.locks import lock_endpoint
from webhooks.models import Replay
from webhooks.operations.endpoints import delete_endpoint
from webhooks.retention import prune


@pytest.fixture
def at_work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Couriers]:
    """Of jobs in this process; they send to nobody, and everybody is well."""
    couriers = Couriers(is_slow=False, by=lambda *_: OK)
    monkeypatch.setattr(jobs, "couriers", lambda **_: couriers)
    monkeypatch.setattr(replays, "DUE_MAX", 100_000)  # those that other tests left are due, too
    monkeypatch.setattr(replays, "WORK_SECONDS_MAX", 100)
    with couriers:
        yield couriers


@pytest.fixture
def told_of(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What was logged as an error."""
    told: list[tuple[str, dict[str, Any]]] = []
    for module in (jobs, relay_module, replays):
        monkeypatch.setattr(module.logger, "exception", lambda event, **words: told.append((event, words)))
    return told


@pytest.fixture
def two(make_post) -> list[Post]:
    """Of two tenants, the first is relayed first."""
    return sorted((make_post(), make_post()), key=lambda post: post.tenant)


def wait_for_delivery(post: Post) -> None:
    wait_until(lambda: statuses(post) == ["delivered"], "the delivery")


def statuses(post: Post) -> list[str]:
    return [each.status for each in post.deliveries()]


def test_an_endpoint_that_can_not_be_claimed_for_keeps_nobody_from_the_sweep(two, at_work, told_of, monkeypatch):
    monkeypatch.setattr(relay_module, "BATCH_MAX", 1)
    broken, well = two
    take_up = at_work.take_up

    def taking_up(tenant_id: Any, endpoint_id: Any) -> int:
        if endpoint_id == broken.id:
            raise OperationalError("canceling statement due to lock timeout")
        return take_up(tenant_id, endpoint_id)

    monkeypatch.setattr(at_work, "take_up", taking_up)
    well.say()
    replay = begin(well)
    broken.say(3)
    jobs.sweep()
    wait_for_delivery(well)
    assert state(replay) == ("done", 1)
    assert statuses(broken) == ["pending"] * 3
    ours = {"tenant": str(broken.tenant), "endpoint": str(broken.id)}
    assert [words for event, words in told_of if event == "claim_failed"].count(ours) == 1


def test_a_replay_that_always_fails_is_put_off_and_keeps_nobody_from_being_told(two, at_work, told_of, monkeypatch):
    bad, well = two
    bad.say()
    poison = begin(bad)
    well.tell()
    replay = begin(well)
    following = replays._next

    def _next(each: Replay) -> Any:
        if each.id == poison.id:  # as where the statement timeout ends the search each time
            raise OperationalError("canceling statement due to statement timeout")
        return following(each)

    monkeypatch.setattr(replays, "_next", _next)
    for _ in range(3):
        jobs.replay()
    wait_for_delivery(well)
    assert (state(replay), state(poison)) == (("done", 1), ("running", 0))
    assert told_of == [("replay_failed", {"tenant": str(bad.tenant), "replay": str(poison.id)})]
    poison.refresh_from_db(using="maintenance")
    assert (poison.look_at - database_now()).total_seconds() > replays.PUT_OFF_SECONDS / 2


def test_deliveries_that_are_due_are_taken_up_whatever_becomes_of_replays(post, at_work, monkeypatch):
    def fails() -> None:
        raise OperationalError("canceling statement due to statement timeout")

    monkeypatch.setattr(jobs, "work_replays", fails)
    post.tell()
    with pytest.raises(OperationalError):
        jobs.sweep()
    wait_for_delivery(post)


def test_a_locked_endpoint_keeps_no_relay_from_telling_others(two, at_work):
    mine, other = two
    mine.say()
    other.say()
    with tenant_transaction(mine.tenant):
        lock_endpoint(mine.id)
        relaying = threading.Thread(target=lambda: (jobs.relay(), connections.close_all()))
        relaying.start()
        relaying.join(60)
        assert (mine.waiting(), other.waiting()) == (0, 0)


def test_an_endpoint_removed_amid_the_relay_keeps_nobody_else_from_being_told(two, told_of, monkeypatch):
    mine, other = two
    mine.say()
    other.say()
    make = relay_module.make_deliveries

    def remove() -> None:
        delete_endpoint(tenant_id=mine.tenant, endpoint_id=mine.id)
        prune()
        connections.close_all()

    def meanwhile(tenant_id: Any, *told: Any) -> None:
        if tenant_id == mine.tenant:
            gone = threading.Thread(target=remove)
            gone.start()
            gone.join(60)
        make(tenant_id, *told)

    monkeypatch.setattr(relay_module, "make_deliveries", meanwhile)
    named = [told.endpoint_id for told in relay_module.relay_all()]
    assert (other.id in named, mine.id in named) == (True, False)
    assert (mine.waiting(), len(other.deliveries())) == (1, 1)
    assert told_of == [("relay_failed", {"tenant": str(mine.tenant)})]
    for _ in relay_module.relay_all():
        pass
    assert mine.waiting() == 0
