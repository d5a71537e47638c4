"""Workers and the periodic loop as real processes, which are killed, doubled and cut off from the database."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import connections

from holdfast.embedded.background import QUEUES, background_programs
from holdfast.kernel.jobs import heartbeat_key
from holdfast.periodic import PERIODIC
from holdfast.worker import SEEN_WITHIN_SECONDS
from reservations.invariants.checker import breaches
from reservations.models import Hold
from tenants.scope import tenant_transaction
from tests.reservations.state import OthersLock
from tests.support import redis_database
from tests.support.acts import buy
from tests.support.processes import Background, background, queue, terminate_backends, wait_until
from webhooks.models import Message

EXPIRE, SWEEP = "reservations.jobs.expire_holds", "reservations.jobs.sweep"


@pytest.fixture
def programs(database_name: str) -> Iterator[Background]:
    redis_database.flush()
    with background() as programs:
        yield programs
    redis_database.flush()


@pytest.fixture
def lapsed(tenant: Any, make_event: Any, make_units: Any, shift_clock: Callable[[float], None]) -> Callable[[], Any]:
    """`lapsed()`: a hold of one unit whose time has passed, and the unit."""

    def make() -> tuple[UUID, Any]:
        event = make_event(tenant)
        (unit,) = make_units(tenant, event)
        hold = UUID(buy(tenant.id, str(event.id), "ada", labels=[unit.label]))
        shift_clock(601)
        return hold, unit

    return make


@pytest.fixture
def status(tenant: Any) -> Callable[[UUID], str]:
    def read(hold: UUID) -> str:
        with tenant_transaction(tenant.id):
            return str(Hold.objects.get(id=hold).status)

    return read


def expired_times(tenant: Any, hold: UUID) -> int:
    with tenant_transaction(tenant.id):
        return Message.objects.filter(subject_id=hold, type="hold.expired").count()


def somebody_waits(count: int = 1) -> bool:
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return bool(cursor.fetchone()[0] >= count)


def test_a_worker_that_is_killed_in_a_job_loses_nothing(tenant, programs, lapsed, status):
    hold, unit = lapsed()
    worker = programs.worker()
    with OthersLock(tenant.id, unit.id):
        queue().enqueue(EXPIRE, str(tenant.id), [str(hold)])
        wait_until(somebody_waits, "the job in its middle")
        worker.kill()
        assert status(hold) == "active"
    # the job is lost, and found by the sweep
    programs.worker()
    programs.periodic()
    wait_until(lambda: status(hold) == "expired", "the sweep")
    assert expired_times(tenant, hold) == 1
    assert not any(breaches(tenant.id).values())


def test_a_worker_whose_connections_the_server_ends_goes_on_with_the_next_job(tenant, programs, lapsed, status):
    worker = programs.worker()
    for _ in range(2):  # idle, after a job has opened a connection
        hold, _ = lapsed()
        queue().enqueue(EXPIRE, str(tenant.id), [str(hold)])
        wait_until(lambda hold=hold: status(hold) == "expired", "the job")
        terminate_backends()
    assert queue().failed_job_registry.count == 0
    # in the middle of a job
    hold, unit = lapsed()
    with OthersLock(tenant.id, unit.id):
        queue().enqueue(EXPIRE, str(tenant.id), [str(hold)])
        wait_until(somebody_waits, "the job in its middle")
        assert terminate_backends("wait_event_type = 'Lock'") == 1
        wait_until(lambda: queue().failed_job_registry.count == 1, "the job's failure")
    assert status(hold) == "active"
    queue().enqueue(SWEEP)
    wait_until(lambda: status(hold) == "expired", "the next job")
    assert expired_times(tenant, hold) == 1
    assert queue().failed_job_registry.count == 1
    assert worker.lives


def test_two_loops_and_two_workers_do_everything_once(tenant, programs, lapsed, status):
    holds = [lapsed()[0] for _ in range(3)]
    for _ in range(2):
        programs.worker()
    for _ in range(2):
        programs.periodic()
    wait_until(lambda: all(status(hold) == "expired" for hold in holds), "the sweeps")
    wait_until(lambda: queue().count == 0, "the last of them")
    assert [expired_times(tenant, hold) for hold in holds] == [1, 1, 1]
    assert queue().failed_job_registry.count == 0
    assert all(process.lives for process in programs.started)


def test_when_the_loop_that_holds_the_lock_is_killed_the_other_goes_on_sweeping(tenant, programs, lapsed, status):
    programs.worker()
    first = programs.periodic()
    second = programs.periodic()
    hold, _ = lapsed()
    wait_until(lambda: status(hold) == "expired", "a sweep")
    first.kill()
    hold, _ = lapsed()
    wait_until(lambda: status(hold) == "expired", "a sweep of the other")
    assert second.lives
    assert expired_times(tenant, hold) == 1


def test_a_loop_and_a_worker_outlive_a_redis_that_forgets_everything(tenant, programs, lapsed, status):
    programs.worker()
    loop = programs.periodic()
    redis_database.flush()
    hold, _ = lapsed()
    with redis_database.connect() as redis:
        wait_until(lambda: redis.exists("rq:scheduler-lock:holds"), "the loop's lock again")
    queue().enqueue(EXPIRE, str(tenant.id), [str(hold)])
    wait_until(lambda: status(hold) == "expired", "the job")
    assert loop.lives


def readiness(api: Any) -> tuple[int, dict[str, str]]:
    answer = api(None).get("/readyz")
    assert (answer.status_code == 503) == ("retry-after" in answer.headers), answer.headers
    return answer.status_code, dict(line.split(": ") for line in answer.content.decode().splitlines())


def test_it_is_ready_while_each_queue_has_a_worker_and_not_otherwise(programs, api):
    assert readiness(api) == (503, {"database": "ok", "redis": "ok", "migrations": "ok", "workers": "failing"})
    workers = {name: programs.worker(name) for name in QUEUES}
    assert readiness(api) == (200, dict.fromkeys(("database", "redis", "migrations", "workers"), "ok"))
    with redis_database.connect() as redis:
        for name in QUEUES:  # it ends by itself when nobody renews it
            assert 0 < redis.ttl(heartbeat_key(name)) <= SEEN_WITHIN_SECONDS
        for name in QUEUES:
            workers[name].kill()
            redis.delete(heartbeat_key(name))
            status, parts = readiness(api)
            assert (status, parts["workers"]) == (503, "failing")
            workers[name] = programs.worker(name)
            assert readiness(api)[0] == 200


def test_every_queue_has_a_worker_and_every_periodic_job_a_queue(settings):
    commands = [tuple(program.command[1:]) for program in background_programs()]
    worked_on = {command[2] for command in commands if command[1] == "work"}
    assert worked_on == set(QUEUES) == set(settings.RQ_QUEUES)
    assert {periodic.queue for periodic in PERIODIC} <= worked_on
    assert ("manage.py", "run_periodic") in commands
    assert len({program.name for program in background_programs()}) == len(commands)
