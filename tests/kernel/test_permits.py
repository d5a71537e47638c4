"""Many threads, few at work, and connections for those alone."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import close_old_connections, connection, connections

from holdfast.kernel.permits import Permits
from tests.support.processes import wait_until

DEADLINE_SECONDS = 60
pytestmark = pytest.mark.usefixtures("database_name")


def session() -> int:
    """The server's process that serves this thread."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (number,) = cursor.fetchone()
    return int(number)


def run(count, work):
    """What `work` answers in each of so many threads, all there at once, which leave no connection behind."""
    there = threading.Barrier(count)

    def one(_):
        there.wait(DEADLINE_SECONDS)
        try:
            return work()
        finally:
            assert list(connections.all(initialized_only=True)) == []

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(one, range(count)))


@pytest.fixture
def permits():
    made = Permits(2)
    yield made
    assert len(made._free) == 2
    for permit in made._free:
        for kept in permit._connections:
            kept.close()


class Counted:
    """How many are inside at once, at most."""

    def __init__(self):
        self._lock, self.now, self.most = threading.Lock(), 0, 0

    def __enter__(self):
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_):
        with self._lock:
            self.now -= 1


def test_no_more_than_have_a_permit_work_at_once_and_they_share_their_connections(permits):
    counted = Counted()

    def work():
        with permits.at_work(), counted:
            return session()

    assert len(set(run(12, work))) <= 2
    assert counted.most <= 2


def test_who_waits_for_somebody_else_lets_others_work_and_has_no_connection(permits):
    all_wait = threading.Barrier(12)

    def work():
        with permits.at_work():
            before = session()
            with permits.given_back():
                assert list(connections.all(initialized_only=True)) == []
                # nobody would get here while two kept their permits
                all_wait.wait(DEADLINE_SECONDS)
            return {before, session()}

    assert len(set().union(*run(12, work))) <= 2


def test_a_permit_comes_back_whatever_happens_under_it(permits):
    def fail():
        with pytest.raises(ZeroDivisionError), permits.at_work(), permits.given_back():
            raise ZeroDivisionError
        with pytest.raises(ZeroDivisionError), permits.at_work():
            raise ZeroDivisionError

    run(6, fail)
    both_work = threading.Barrier(2)

    def work():
        with permits.at_work():
            both_work.wait(DEADLINE_SECONDS)

    run(2, work)


def test_who_has_waited_longest_works_next_though_another_asks_for_it_again_at_once(permits):
    order, others_wait = [], threading.Event()

    def greedy():
        for turn in ("first", "last"):
            with permits.at_work():
                order.append(turn)
                assert others_wait.wait(DEADLINE_SECONDS)

    def patient(number):
        with permits.at_work():
            order.append(number)

    # this thread keeps the other permit
    with ThreadPoolExecutor(4) as threads, permits.at_work():
        begun = [threads.submit(greedy)]
        wait_until(lambda: order, "the first turn")
        for number in range(3):
            begun.append(threads.submit(patient, number))
            wait_until(lambda: len(permits._waiting) == len(begun) - 1, "the wait for a turn")
        others_wait.set()
        for future in begun:
            future.result(DEADLINE_SECONDS)
    assert order == ["first", 0, 1, 2, "last"]


def test_without_a_permit_there_is_none_to_give_back(permits):
    mine = session()
    with permits.given_back():
        assert session() == mine


def test_of_a_lane_only_so_many_work_and_the_others_have_no_permit_meanwhile(permits):
    lane, counted, all_wait = threading.BoundedSemaphore(1), Counted(), threading.Barrier(13)

    def work():
        with permits.at_work():
            permits.join_lane(lane)
            with counted:
                before = session()
            with permits.given_back():
                all_wait.wait(DEADLINE_SECONDS)
            with counted:
                return {before, session()}

    def another():
        # eleven of them wait for the lane, none with a permit
        with permits.at_work():
            return {session()}

    with ThreadPoolExecutor(1) as other:
        first = other.submit(lambda: (another(), all_wait.wait(DEADLINE_SECONDS), another()))
        sessions = set().union(*run(12, work))
        assert first.result(DEADLINE_SECONDS)
    assert counted.most == 1
    assert len(sessions) <= 2
    assert lane.acquire(blocking=False)
    lane.release()


def test_a_lane_is_left_with_the_work(permits):
    lane, both_work = threading.BoundedSemaphore(1), threading.Barrier(2)

    def work():
        with permits.at_work():
            permits.join_lane(lane)
        with permits.at_work():
            both_work.wait(DEADLINE_SECONDS)

    run(2, work)


def test_who_comes_back_from_a_wait_finds_a_connection_that_works(permits):
    both, healed, taken, done = (threading.Barrier(2), threading.Event(), threading.Event(), threading.Event())

    def opened(_):
        with permits.at_work():
            both.wait(DEADLINE_SECONDS)
            close_old_connections()
            return session()

    def payer():
        with permits.at_work():
            close_old_connections()  # as a request begins
            session()
            with permits.given_back():
                healed.set()
                assert taken.wait(DEADLINE_SECONDS)
            try:
                return session()
            finally:
                done.set()

    def other():
        assert healed.wait(DEADLINE_SECONDS)
        with permits.at_work():
            taken.set()
            assert done.wait(DEADLINE_SECONDS)

    with ThreadPoolExecutor(2) as threads:
        pids = list(threads.map(opened, range(2)))
        with connection.cursor() as cursor:  # the roles may end their own sessions
            cursor.execute("SELECT pg_terminate_backend(pid, 5000) FROM unnest(%s::int[]) AS pid", [pids])
        answer, _ = [future.result() for future in (threads.submit(payer), threads.submit(other))]
    assert answer not in pids
