"""Many requests at once in one process, of which none keeps another waiting."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import OperationalError

from tenants.scope import tenant_transaction
from tests.support.processes import wait_until
from tests.webhooks.post import FAILED, OK, Post
from webhooks import couriers as module
from webhooks import delivery
from webhooks.couriers import Couriers, due_endpoints
from webhooks.egress import Answer
from webhooks.locks import lock_endpoint


class Told:
    """Stands in for the world outside: hears everything, and keeps some waiting."""

    def __init__(self) -> None:
        self.urls: list[str] = []
        self.hanging: set[str] = set()
        self.goes_on = threading.Event()
        self.broken = False

    def __call__(self, url: str, body: bytes, headers: Any) -> Answer:
        self.urls.append(url)
        if self.broken:
            raise ZeroDivisionError
        if url in self.hanging:
            self.goes_on.wait(60)
        return OK


@pytest.fixture
def world() -> Iterator[Told]:
    told = Told()
    yield told
    told.goes_on.set()


def statuses(post: Post, endpoint_id: Any = None) -> list[str]:
    return [delivery.status for delivery in post.deliveries(endpoint_id)]


def all_delivered(post: Post, endpoint_id: Any = None) -> Callable[[], bool]:
    return lambda: set(statuses(post, endpoint_id)) == {"delivered"}


def test_a_backlog_is_carried_on_with_until_nothing_is_due(post, world):
    post.tell(50)
    with Couriers(is_slow=False, by=world) as couriers:
        assert couriers.take_up(post.tenant, post.id) == 4
        wait_until(all_delivered(post), "all fifty")
    assert len(world.urls) == 50


def test_one_that_hangs_keeps_four_threads_and_nobody_waiting(post, world):
    other = post.listen()
    world.hanging.add(post.place.url)
    post.tell(20)
    with Couriers(is_slow=False, threads=6, by=world) as couriers:
        assert couriers.take_up(post.tenant, post.id) == 4
        couriers.take_up(post.tenant, other.id)
        wait_until(all_delivered(post, other.id), "those to the other")
        assert world.urls.count(post.place.url) == 4
        assert couriers.take_up(post.tenant, post.id) == 0
        world.goes_on.set()
        wait_until(all_delivered(post), "those that hung")


def test_who_found_no_thread_is_taken_up_when_there_is_one(post, world):
    other = post.listen()
    world.hanging.add(post.place.url)
    post.tell(4)
    with Couriers(is_slow=False, threads=4, by=world) as couriers:
        couriers.take_up(post.tenant, post.id)
        assert couriers.take_up(post.tenant, other.id) == 0
        assert statuses(post, other.id) == ["pending"] * 4
        world.goes_on.set()
        wait_until(all_delivered(post, other.id), "those that found no thread")


def test_closing_waits_for_what_is_under_way_and_takes_up_nothing_more(post, world):
    world.hanging.add(post.place.url)
    post.tell(20)
    couriers = Couriers(is_slow=False, by=world)
    couriers.take_up(post.tenant, post.id)
    closing = threading.Thread(target=couriers.close)
    closing.start()
    world.goes_on.set()
    closing.join(60)
    assert sorted(statuses(post)) == ["delivered"] * 4 + ["pending"] * 16


def test_what_is_claimed_as_the_couriers_close_is_sent(post, world, monkeypatch):
    claim, calls = module.claim, []

    def claiming(**asked: Any) -> Any:
        claimed = claim(**asked)
        calls.append(claimed)
        if len(calls) == 2:  # at the desk, as the process is told to end
            closing.start()
            wait_until(lambda: couriers._is_closing, "the closing")
        return claimed

    monkeypatch.setattr(module, "claim", claiming)
    post.tell(5)
    couriers = Couriers(is_slow=False, by=world)
    closing = threading.Thread(target=couriers.close)
    couriers.take_up(post.tenant, post.id)
    wait_until(lambda: len(calls) >= 2, "the second claim")
    closing.join(60)
    left = [each for each in post.deliveries() if each.status == "pending"]
    assert [each for each in left if each.claimed_at] == []
    assert len(left) + len(world.urls) == 5


def test_a_fault_of_ours_leaves_the_delivery_to_its_lease(post, world):
    world.broken = True
    post.tell()
    with Couriers(is_slow=False, by=world) as couriers:
        couriers.take_up(post.tenant, post.id)
    assert statuses(post) == ["pending"]
    assert post.claim() == []


def test_the_lock_of_one_endpoint_keeps_the_answers_of_no_other_tenant_waiting(make_post, world, monkeypatch):
    monkeypatch.setattr(module, "AGAIN_SECONDS", 0.1)
    mine, other = make_post(), make_post()
    mine.tell()
    other.tell(12)
    world.hanging |= {mine.place.url, other.place.url}
    with Couriers(is_slow=False, by=world) as couriers:
        for post in (mine, other):
            couriers.take_up(post.tenant, post.id)
        with tenant_transaction(mine.tenant):
            lock_endpoint(mine.id)  # as a replay does while it looks for its messages
            world.goes_on.set()
            wait_until(all_delivered(other), "those to the other", 10)
            assert statuses(mine) == ["pending"]
        wait_until(all_delivered(mine), "the answer that was kept")
    assert world.urls.count(mine.place.url) == 1


@pytest.mark.parametrize("failures", [1, 2])
def test_an_answer_is_written_down_though_the_database_was_away_for_a_moment(post, world, monkeypatch, failures):
    record, calls = module.record, []

    def failing(*args: Any) -> int:
        calls.append(args)
        if len(calls) <= failures:
            raise OperationalError("the connection is lost")
        return record(*args)

    monkeypatch.setattr(module, "record", failing)
    monkeypatch.setattr(module, "AGAIN_SECONDS", 0.1)
    post.tell()
    with Couriers(is_slow=False, by=world) as couriers:
        couriers.take_up(post.tenant, post.id)
        wait_until(all_delivered(post), "the answer that was kept")
    assert len(world.urls) == 1
    assert len(post.attempts(post.deliveries()[0])) == 1


def test_an_answer_that_was_kept_is_written_down_as_the_process_ends(post, world, monkeypatch):
    record, calls = module.record, []

    def failing_once(*args: Any) -> int:
        calls.append(args)
        if len(calls) == 1:
            raise OperationalError("the connection is lost")
        return record(*args)

    monkeypatch.setattr(module, "record", failing_once)
    monkeypatch.setattr(module, "AGAIN_SECONDS", 0.1)
    post.tell()
    with Couriers(is_slow=False, by=world) as couriers:
        couriers.take_up(post.tenant, post.id)
    assert (statuses(post), len(calls)) == (["delivered"], 2)


def test_an_answer_whose_lease_has_run_out_is_kept_no_longer(post, world, monkeypatch):
    calls = []

    def failing(*args: Any) -> int:
        calls.append(args)
        raise OperationalError("the connection is lost")

    monkeypatch.setattr(module, "record", failing)
    monkeypatch.setattr(delivery, "LEASE_SECONDS", -1)
    post.tell()
    with Couriers(is_slow=False, by=world) as couriers:
        couriers.take_up(post.tenant, post.id)
    assert (statuses(post), len(calls)) == (["pending"], 1)


def test_the_sweep_finds_what_is_due_and_one_that_fails_keeps_no_other_from_it(make_post, world, monkeypatch):
    broken, well = make_post(), make_post()
    for post in (broken, well):
        post.tell(2)
    claim = module.claim

    def failing(**asked: Any) -> Any:
        if asked["tenant_id"] == broken.tenant:
            raise ZeroDivisionError
        return claim(**asked)

    monkeypatch.setattr(module, "claim", failing)
    with Couriers(is_slow=False, by=world) as couriers:
        couriers.take_up_all()
        wait_until(all_delivered(well), "those of the other tenant")
    assert statuses(broken) == ["pending"] * 2


def test_due_endpoints_are_those_that_may_be_asked_now(make_post, shift_clock):
    idle, due, later, slow = (make_post() for _ in range(4))
    for post in (due, later, slow):
        post.tell()
    later.place.answers(500)
    later.carry()
    slow.answer(Answer("timed_out", None, None, b"", 10_000))
    shift_clock(10)

    def found(*, is_slow: bool) -> set[Any]:
        mine = {post.id: post for post in (idle, due, later, slow)}
        return {mine[endpoint] for _, endpoint in due_endpoints(is_slow=is_slow) if endpoint in mine}

    assert found(is_slow=False) == {due, later}
    assert found(is_slow=True) == {slow}
    for _ in range(4):
        later.carry()
        shift_clock(7 * 3600)
    later.carry()
    assert later.endpoint.breaker_until
    assert later not in found(is_slow=False)


def test_a_tenant_at_its_cap_hides_no_other_from_the_sweep(make_post, monkeypatch):
    monkeypatch.setattr(module, "DUE_MAX", 5)
    capped, late = make_post(), make_post()
    for _ in range(9):
        capped.listen()
    capped.tell(10)
    assert sum(len(capped.claim(endpoint_id=each)) for each in capped.places) == 16
    late.tell()
    found = set()

    def is_found() -> bool:
        found.update(endpoint for _, endpoint in due_endpoints(is_slow=False))
        return late.id in found

    wait_until(is_found, "the other tenant's turn")
    assert not found & set(capped.places)


def test_more_that_are_due_than_are_taken_at_once_all_have_their_turn(make_post, monkeypatch):
    monkeypatch.setattr(module, "DUE_MAX", 2)
    posts = [make_post() for _ in range(5)]
    for post in posts:
        post.tell()
    found = set()

    def are_found() -> bool:
        some = due_endpoints(is_slow=False)
        assert len(some) == 2
        found.update(endpoint for _, endpoint in some)
        return {post.id for post in posts} <= found

    wait_until(are_found, "the turn of all")


def test_one_that_is_doubtful_and_tried_is_not_due(post, shift_clock):
    post.tell(20)
    for _ in range(5):
        post.answer(FAILED, count=1)
    shift_clock(61)
    assert (post.tenant, post.id) in due_endpoints(is_slow=False)
    assert len(post.claim()) == 1
    assert (post.tenant, post.id) not in due_endpoints(is_slow=False)
