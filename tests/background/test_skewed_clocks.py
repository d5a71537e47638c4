"""Machines whose clock is five minutes wrong: a hold ends when the database says so, neither earlier nor later."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connections

from holdfast.kernel.clock import database_now
from holdfast.kernel.jobs import heartbeat_key
from tests.contract import expect
from tests.support import database, feed, redis_database
from tests.support.processes import background, queue, wait_until
from tests.support.skew import skewed
from tests.support.web import Web, granian

EXPIRE, SWEEP = "reservations.jobs.expire_holds", "reservations.jobs.sweep"
# the times of RQ's delayed jobs
SCHEDULED = "rq:scheduled:holds"
TERM_SECONDS = 600
A_SECOND = timedelta(seconds=1)
NEAR_SECONDS = 15

pytestmark = pytest.mark.parametrize("skew_seconds", [300, -300], ids=["five minutes ahead", "five minutes behind"])


@pytest.fixture(autouse=True)
def empty_redis(database_name: str) -> Iterator[None]:
    redis_database.flush()
    yield
    redis_database.flush()


@pytest.fixture
def web(database_name: str, skew_seconds: int) -> Iterator[Web]:
    """A web process whose clock is wrong."""
    with granian(1, 2, **skewed(skew_seconds)) as web:
        yield web


@pytest.fixture
def place(tenant: Any, make_event: Any, make_units: Any, web: Web) -> Any:
    """`place("A-1")`: that process holds the unit, in an event with holds of TERM_SECONDS, and answers the hold."""
    event = make_event(tenant, hold_ttl_seconds=TERM_SECONDS)
    make_units(tenant, event, labels=["A-1", "A-2", "A-3"])

    def hold(label: str, **fields: Any) -> Any:
        asked = {"event": str(event.id), "customer": label, "labels": [label], **fields}
        return expect.body(web.api(tenant).post("/v1/holds", asked), 201)

    return hold


def row_of(hold: Any) -> str:
    """The status that is written, whatever time it is."""
    with connections["maintenance"].cursor() as cursor:
        cursor.execute("SELECT status FROM reservations_hold WHERE id = %s", [hold["id"]])
        return str(cursor.fetchone()[0])


def end_of(hold: Any) -> datetime:
    return expect.moment(hold["expires_at"])


def done(function: str, *args: Any) -> Any:
    """Have the worker do it; what it answered."""
    job = queue().enqueue(function, *args)
    wait_until(lambda: job.get_status().value in ("finished", "failed"), function)
    assert job.is_finished, job.exc_info
    return job.return_value()


def delayed_jobs() -> list[datetime]:
    with redis_database.connect() as redis:
        return [datetime.fromtimestamp(at, tz=UTC) for _, at in redis.zrange(SCHEDULED, 0, -1, withscores=True)]


def test_a_hold_lasts_as_long_as_promised_and_not_a_second_more_or_less(
    tenant: Any, place: Any, web: Web, shift_clock: Any, api: Any, skew_seconds: int
) -> None:
    before = database_now()
    by_job, by_sweep = place("A-1"), place("A-2")
    after = database_now()
    for hold in (by_job, by_sweep):
        assert before <= expect.moment(hold["created_at"]) <= after
        assert end_of(hold) - expect.moment(hold["created_at"]) == timedelta(seconds=TERM_SECONDS)
        assert hold["seconds_left"] == TERM_SECONDS
    # its job is asked for at the end by the database's clock, in whole seconds
    assert [round(moment.timestamp()) for moment in delayed_jobs()] == [
        int((end_of(hold) + A_SECOND).timestamp()) for hold in (by_job, by_sweep)
    ]
    with background() as programs:
        programs.worker(**skewed(skew_seconds))
        with redis_database.connect() as redis:  # its clock is as wrong as it was to be
            told_ago = time.time() - float(redis.get(heartbeat_key("holds")) or 0)
        assert 0 <= told_ago + skew_seconds < NEAR_SECONDS
        ends = sorted(map(end_of, (by_job, by_sweep)))
        database.stop_clock(ends[0] - A_SECOND)
        assert done(EXPIRE, str(tenant.id), [by_job["id"], by_sweep["id"]]) == 0
        done(SWEEP)
        assert (row_of(by_job), row_of(by_sweep)) == ("active", "active")
        shown = expect.body(web.api(tenant).get(f"/v1/holds/{by_job['id']}"))
        assert (shown["status"], shown["seconds_left"]) == ("active", 1)
        database.stop_clock(ends[1] + A_SECOND)
        assert expect.body(web.api(tenant).get(f"/v1/holds/{by_job['id']}"))["status"] == "expired"
        assert (row_of(by_job), row_of(by_sweep)) == ("active", "active")
        assert done(EXPIRE, str(tenant.id), [by_job["id"]]) == 1
        assert (row_of(by_job), row_of(by_sweep)) == ("expired", "active")
        assert done(SWEEP) >= 1
        assert row_of(by_sweep) == "expired"
    told = feed.read(api(tenant), "type=hold.expired")
    assert [message["subject"]["id"] for message in told] == [by_job["id"], by_sweep["id"]]


def test_a_job_that_comes_too_early_or_too_late_ends_nothing_and_the_sweep_ends_the_rest(
    tenant: Any, place: Any, web: Web, shift_clock: Any, skew_seconds: int
) -> None:
    # so that a hold's end, at which its job is asked for, lies between the right time and that of these processes
    shift_clock(skew_seconds / 2 - TERM_SECONDS)
    hold, lapsed_before = place("A-1"), place("A-2", ttl_seconds=5)
    (of_lapsed_before, of_hold) = delayed_jobs()
    assert of_lapsed_before < of_hold
    with background() as programs:
        programs.worker(**skewed(skew_seconds))
        loop = programs.periodic(**skewed(skew_seconds))
        wait_until(lambda: of_lapsed_before not in delayed_jobs(), "the job whose time has come for both")
        early = skew_seconds > 0
        wait_until(lambda: (of_hold not in delayed_jobs()) == early, "the other job, if it is early")
        wait_until(nothing_to_do, "what was asked for by now")
        assert row_of(hold) == "active"
        loop.end()
        database.stop_clock(end_of(hold) - A_SECOND)
        loop = programs.periodic(**skewed(skew_seconds))  # which asks for a sweep as it starts
        wait_until(lambda: row_of(lapsed_before) == "expired", "the sweep, which ends what is over")
        wait_until(nothing_to_do, "all of the sweep")
        assert row_of(hold) == "active"
        assert expect.body(web.api(tenant).get(f"/v1/holds/{hold['id']}"))["status"] == "active"
        loop.end()
        database.stop_clock(end_of(hold) + A_SECOND)
        programs.periodic(**skewed(skew_seconds))
        wait_until(lambda: row_of(hold) == "expired", "the sweep after the end")
        # the early job came to nothing long ago, the late one is still to come
        assert (of_hold in delayed_jobs()) == (not early)
    assert queue().failed_job_registry.count == 0


def nothing_to_do() -> bool:
    # without a look for jobs that are overdue: by the right clock, all of a worker that is behind are
    return queue().count == queue().started_job_registry.get_job_count(cleanup=False) == 0
