"""A hold's end is found by a job, by the sweeper or by the next buyer, and each is enough alone."""

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.db import transaction
from django.test import override_settings
from rq.job import Job
from rq.registry import ScheduledJobRegistry
from rq.serializers import JSONSerializer

from holdfast.kernel import jobs as wake_ups
from holdfast.kernel.ids import new_id
from reservations import expiry, jobs
from reservations.allocation.allocator import allocate
from reservations.allocation.attempt import attempt
from reservations.allocation.requests import Granted, HoldRequest
from reservations.models import Hold, Unit
from reservations.operations.holds import extend_hold, release_hold
from tenants.scope import tenant_transaction
from tests.reservations.state import sell
from tests.support import redis_database
from tests.support.acts import buy
from tests.support.processes import background, queue, wait_until
from webhooks.models import Message


@pytest.fixture(autouse=True)
def empty_redis(database_name: str) -> Iterator[None]:
    redis_database.flush()
    yield
    redis_database.flush()


@pytest.fixture
def event(tenant: Any, make_event: Any, make_units: Any) -> Any:
    event = make_event(tenant)
    make_units(tenant, event, labels=["A-1", "A-2", "A-3"])
    return event


@pytest.fixture
def hold(tenant: Any, event: Any) -> Callable[..., UUID]:
    """`hold("A-1", ttl_seconds=None)`"""

    def make(*labels: str, ttl_seconds: int | None = None) -> UUID:
        return UUID(buy(tenant.id, str(event.id), "ada", labels=labels, ttl_seconds=ttl_seconds))

    return make


@pytest.fixture
def row(tenant: Any) -> Callable[[UUID], Hold]:
    def read(hold: UUID) -> Hold:
        with tenant_transaction(tenant.id):
            return Hold.objects.get(id=hold)

    return read


@pytest.fixture
def told(tenant: Any) -> Callable[[UUID], list[str]]:
    def read(hold: UUID) -> list[str]:
        with tenant_transaction(tenant.id):
            messages = Message.objects.filter(subject_id=hold).order_by("sequence")
            return [name.removeprefix("hold.") for name in messages.values_list("type", flat=True)]

    return read


def scheduled() -> list[tuple[datetime, list[Any]]]:
    """When which arguments are to be worked on."""
    registry = ScheduledJobRegistry(queue=queue())
    found = []
    for name in registry.get_job_ids():
        job = Job.fetch(name, connection=registry.connection, serializer=JSONSerializer)
        assert job.func_name == "reservations.jobs.expire_holds"
        found.append((registry.get_scheduled_time(job).astimezone(UTC), list(job.args)))
    return sorted(found)


# --- each way alone


def test_the_job_alone_expires_a_hold(tenant, event, hold, row, told):
    earlier = hold("A-1", ttl_seconds=1)
    wait_until(lambda: row(earlier).expires_at <= datetime.now(tz=UTC), "its end")
    with background() as programs:
        programs.worker()
        programs.periodic()
        # the loop's first sweep; the next is 15 s away
        wait_until(lambda: row(earlier).status == "expired", "the first sweep")
        later = hold("A-2", ttl_seconds=1)
        assert len(scheduled()) == 1
        wait_until(lambda: row(later).status == "expired", "the job")
    ended = row(later)
    assert 0 <= (ended.ended_at - ended.expires_at).total_seconds() < 12
    assert told(later) == ["created", "expired"]
    assert queue().failed_job_registry.count == 0
    with tenant_transaction(tenant.id):
        assert set(Unit.objects.values_list("status", flat=True)) == {"available"}


def test_the_sweeper_alone_expires_a_hold_after_redis_was_emptied(hold, row, told, shift_clock):
    lost = hold("A-1", "A-2")
    redis_database.flush()
    shift_clock(601)
    with background() as programs:
        programs.worker()
        programs.periodic()
        wait_until(lambda: row(lost).status == "expired", "the sweep")
    assert scheduled() == []
    assert told(lost) == ["created", "expired"]


def test_the_next_buyer_alone_expires_a_hold(tenant, event, hold, row, told, shift_clock):
    lost = hold("A-1")
    redis_database.flush()
    shift_clock(601)
    assert UUID(buy(tenant.id, str(event.id), "bob", labels=["A-1"]))
    assert (row(lost).status, told(lost)) == ("expired", ["created", "expired"])


def test_nobody_at_all_and_it_reads_as_expired(tenant, event, hold, row, told, shift_clock, api):
    lost = hold("A-1")
    shift_clock(601)
    assert api(tenant).get(f"/v1/holds/{lost}").json()["status"] == "expired"
    units = {unit["label"]: unit["status"] for unit in api(tenant).get(f"/v1/events/{event.id}/units").json()["data"]}
    assert units["A-1"] == "available"
    assert (row(lost).status, told(lost)) == ("active", ["created"])


# --- which jobs are asked for


def test_a_hold_asks_for_one_job_shortly_after_its_end(tenant, hold, row):
    made = hold("A-1", "A-2")
    ((moment, arguments),) = scheduled()
    assert arguments == [str(tenant.id), [str(made)]]
    assert 0 <= (moment - row(made).expires_at).total_seconds() <= 1


def test_a_batch_asks_for_one_job_for_all_holds_that_end_together(tenant, event):
    requests = [HoldRequest(event.id, f"c-{n}", labels=(f"A-{n}",), ttl_seconds=60) for n in (1, 2)]
    requests.append(HoldRequest(event.id, "c-3", labels=("A-3",), ttl_seconds=90))
    outcomes = allocate(tenant_id=tenant.id, requests=requests)
    assert all(isinstance(outcome, Granted) for outcome in outcomes)
    ids = [str(outcome.hold.id) for outcome in outcomes]
    found = [names for _, (_, names) in scheduled()]
    assert sorted(name for names in found for name in names) == sorted(ids)
    assert len(found) <= 3


def test_a_refused_hold_asks_for_none(tenant, event, hold):
    hold("A-1")
    assert len(scheduled()) == 1
    assert buy(tenant.id, str(event.id), "bob", labels=["A-1"]) == "units-unavailable"
    assert len(scheduled()) == 1


def test_a_job_is_asked_for_after_the_commit_and_not_before(tenant, event):
    with tenant_transaction(tenant.id):
        attempt(tenant.id, [HoldRequest(event.id, "ada", labels=("A-1",), ttl_seconds=1)])
        assert scheduled() == []
    assert len(scheduled()) == 1


def test_a_hold_that_is_rolled_back_asks_for_none_and_its_job_would_do_nothing(tenant, event, told):
    with tenant_transaction(tenant.id):
        (outcome,) = attempt(tenant.id, [HoldRequest(event.id, "ada", labels=("A-1",), ttl_seconds=1)])
        transaction.set_rollback(True)
    assert scheduled() == []
    assert jobs.expire_holds(str(tenant.id), [str(outcome.hold.id)]) == 0
    assert told(outcome.hold.id) == []


def test_an_extension_that_is_rolled_back_asks_for_none(tenant, hold, row):
    made = hold("A-1")
    with tenant_transaction(tenant.id):
        extend_hold(tenant_id=tenant.id, hold_id=made)
        transaction.set_rollback(True)
    assert len(scheduled()) == 1
    assert row(made).extensions_used == 0


# --- what jobs do and leave


def test_the_old_job_of_an_extended_hold_does_nothing_and_the_new_one_ends_it(tenant, hold, row, told, shift_clock):
    made = hold("A-1")
    shift_clock(300)
    extend_hold(tenant_id=tenant.id, hold_id=made)
    (first, arguments), (second, again) = scheduled()
    assert arguments == again == [str(tenant.id), [str(made)]]
    assert 299 < (second - first).total_seconds() < 302
    shift_clock(302)
    assert jobs.expire_holds(*arguments) == 0
    assert row(made).status == "active"
    shift_clock(300)
    assert jobs.expire_holds(*arguments) == 1
    assert jobs.expire_holds(*arguments) == 0
    assert told(made) == ["created", "extended", "expired"]


def test_a_job_that_comes_too_early_does_nothing(tenant, hold, row, shift_clock):
    made = hold("A-1")
    shift_clock(598)
    assert jobs.expire_holds(str(tenant.id), [str(made)]) == 0
    assert row(made).status == "active"


def test_a_job_of_an_unknown_hold_or_tenant_does_nothing(tenant, make_tenant, hold, row, shift_clock):
    made = hold("A-1")
    shift_clock(601)
    assert jobs.expire_holds(str(tenant.id), [str(new_id())]) == 0
    assert jobs.expire_holds(str(new_id()), [str(new_id())]) == 0
    assert jobs.expire_holds(str(new_id()), [str(made)]) == 0
    assert jobs.expire_holds(str(make_tenant().id), [str(made)]) == 0
    assert jobs.expire_holds(str(tenant.id), []) == 0
    assert row(made).status == "active"


def test_a_job_leaves_what_has_ended_otherwise(tenant, event, hold, row, told, shift_clock):
    released, sold = hold("A-1"), hold("A-2")
    release_hold(tenant_id=tenant.id, hold_id=released)
    sell(tenant.id, sold)
    next_owner = buy(tenant.id, str(event.id), "bob", labels=["A-1"])
    extend_hold(tenant_id=tenant.id, hold_id=UUID(next_owner))
    shift_clock(599)
    extend_hold(tenant_id=tenant.id, hold_id=UUID(next_owner))
    shift_clock(2)
    assert jobs.expire_holds(str(tenant.id), [str(released), str(sold), next_owner]) == 0
    assert [row(each).status for each in (released, sold, UUID(next_owner))] == ["released", "converted", "active"]
    with tenant_transaction(tenant.id):
        assert dict(Unit.objects.values_list("label", "status")) == {"A-1": "held", "A-2": "sold", "A-3": "available"}


# --- Redis away


@contextmanager
def redis_at(url: str) -> Iterator[None]:
    """The product asks for Redis there."""
    elsewhere = {name: {**options, "URL": url} for name, options in settings.RQ_QUEUES.items()}
    wake_ups._queue.cache_clear()
    wake_ups._given_up_until = 0.0
    try:
        with override_settings(REDIS_URL=url, RQ_QUEUES=elsewhere):
            yield
    finally:
        wake_ups._queue.cache_clear()
        wake_ups._given_up_until = 0.0


@contextmanager
def black_hole() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken: list[socket.socket] = []

        def take() -> None:
            while True:
                try:
                    taken.append(listener.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(60)
        for connection in taken:
            connection.close()


@contextmanager
def nobody_there() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    yield f"redis://127.0.0.1:{port}/0"


@pytest.mark.parametrize("away", [nobody_there, black_hole])
def test_without_redis_holds_go_on_and_nobody_waits_for_it_twice(tenant, hold, row, shift_clock, caplog, away):
    release_hold(tenant_id=tenant.id, hold_id=hold("A-3"))  # the database's connection is open
    redis_database.flush()
    with away() as url, redis_at(url), caplog.at_level(logging.WARNING):
        began = time.monotonic()
        first = hold("A-1")
        first_took = time.monotonic() - began
        began = time.monotonic()
        second = hold("A-2")
        second_took = time.monotonic() - began
        extend_hold(tenant_id=tenant.id, hold_id=second)
        third_took = time.monotonic() - began - second_took
    given_up = [record for record in caplog.records if "wake_up_given_up" in str(record.msg)]
    assert len(given_up) == 1
    assert max(second_took, third_took) < settings.REDIS_TIMEOUT_SECONDS
    assert first_took < 10
    assert scheduled() == []
    shift_clock(1300)
    assert expiry.sweep_tenant(tenant.id) == 2
    assert {row(first).status, row(second).status} == {"expired"}


def test_once_redis_is_back_jobs_are_asked_for_again(hold, monkeypatch):
    with nobody_there() as url, redis_at(url):
        monkeypatch.setattr(wake_ups, "GIVEN_UP_SECONDS", 0.05)
        hold("A-1")
    until = time.monotonic() + 0.05
    wait_until(lambda: time.monotonic() > until, "the end of the silence")
    hold("A-2")
    assert len(scheduled()) == 1
