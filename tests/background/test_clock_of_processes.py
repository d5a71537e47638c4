"""One clock decides, the database's: no process and no session has a zone that changes anything."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connections
from psycopg import sql

from holdfast.kernel.clock import database_now
from tests.contract import expect
from tests.support import redis_database
from tests.support.processes import background, queue, wait_until
from tests.support.racer import Racers
from tests.support.web import granian

ZONES = ("America/Los_Angeles", "Australia/Brisbane", "Pacific/Kiritimati", "Asia/Kathmandu")
HOUR = 3600
# the times of RQ's delayed jobs
SCHEDULED = "rq:scheduled:holds"


@pytest.fixture
def a_session_zone(database_name: str) -> Iterator[None]:
    """Every new session of this database is in the zone that is farthest ahead."""
    connections["default"].close()
    with connections["owner"].cursor() as cursor:
        name = sql.Identifier(database_name).as_string(None)
        cursor.execute(f"ALTER DATABASE {name} SET timezone = 'Pacific/Kiritimati'")
        yield
        cursor.execute(f"ALTER DATABASE {name} RESET timezone")
    for alias in ("default", "maintenance"):
        connections[alias].close()


@pytest.fixture(autouse=True)
def empty_redis(database_name: str) -> Iterator[None]:
    redis_database.flush()
    yield
    redis_database.flush()


@pytest.fixture
def event(tenant: Any, make_event: Any, make_units: Any) -> Any:
    """Holds of an hour."""
    event = make_event(tenant, hold_ttl_seconds=HOUR, units_per_hold_max=20)
    make_units(tenant, event, labels=[f"A-{number}" for number in range(8)])
    return event


@pytest.mark.parametrize("session", ["as it is", "in another zone"])
def test_holds_of_an_hour_last_an_hour_in_every_zone(
    tenant: Any, event: Any, shift_clock: Callable[[float], None], session: str, request: Any, api: Any
) -> None:
    if session == "in another zone":
        request.getfixturevalue("a_session_zone")
    everyone = {"tenant": str(tenant.id)}
    asks = [
        {"act": "buy", **everyone, "event": str(event.id), "customer": zone, "labels": [f"A-{number}"]}
        for number, zone in enumerate(ZONES[:3])
    ]
    sweeps = [{"act": "sweep", **everyone}] * 3
    began = datetime.now(tz=UTC)
    with Racers(3, *({"TZ": zone, "PGTZ": zone} for zone in ZONES)) as racers:
        holds = racers.race(asks)
        moments = job_times()
        assert racers.race(sweeps) == ["0"] * 3
        ends = [expect.moment(api(tenant).get(f"/v1/holds/{hold}").json()["expires_at"]) for hold in holds]
        shift_clock((min(ends) - database_now()).total_seconds() - 1)
        assert racers.race(sweeps) == ["0"] * 3
        shift_clock((max(ends) - database_now()).total_seconds() + 1)
        assert sum(map(int, racers.race(sweeps))) == 3
    for hold in holds:
        shown = api(tenant).get(f"/v1/holds/{hold}").json()
        assert shown["status"] == "expired"
        lasted = expect.moment(shown["expires_at"]) - expect.moment(shown["created_at"])
        assert lasted == timedelta(seconds=HOUR)
        assert began - timedelta(seconds=2) < expect.moment(shown["created_at"]) < began + timedelta(seconds=30)
    # and their jobs were asked for at the same moment, whatever the zone of who asked
    assert len(moments) == 3
    assert all(
        began + timedelta(seconds=HOUR - 2) < moment < began + timedelta(seconds=HOUR + 30) for moment in moments
    )


def job_times() -> list[datetime]:
    with redis_database.connect() as redis:
        return [datetime.fromtimestamp(at, tz=UTC) for _, at in redis.zrange(SCHEDULED, 0, -1, withscores=True)]


def test_a_web_in_the_west_a_worker_in_the_east_and_a_loop_elsewhere_agree(
    tenant: Any, event: Any, shift_clock: Callable[[float], None], api: Any
) -> None:
    west, east, elsewhere = ({"TZ": zone, "PGTZ": zone} for zone in ZONES[:3])
    with granian(1, 2, **west) as web, background() as programs:
        programs.worker(**east)
        programs.periodic(**elsewhere)
        asked = {"event": str(event.id), "customer": "ada", "labels": ["A-1"]}
        hold = expect.body(web.api(tenant).post("/v1/holds", asked), 201)
        swept_before = expect.body(
            web.api(tenant).post("/v1/holds", asked | {"labels": ["A-2"], "ttl_seconds": 5}), 201
        )
        assert hold["seconds_left"] == HOUR

        def status(which: Any) -> str:
            return str(expect.body(api(tenant).get(f"/v1/holds/{which['id']}"))["status"])

        def rows() -> int:
            with connections["maintenance"].cursor() as cursor:
                cursor.execute(
                    "SELECT count(*) FROM reservations_hold WHERE id = %s AND status = 'expired'", [swept_before["id"]]
                )
                return int(cursor.fetchone()[0])

        shift_clock(HOUR - 30)
        queue().enqueue("reservations.jobs.sweep")
        wait_until(rows, "a sweep, which ends what is over")
        assert (status(hold), status(swept_before)) == ("active", "expired")
        assert 0 < expect.body(web.api(tenant).get(f"/v1/holds/{hold['id']}"))["seconds_left"] <= 30
        shift_clock(31)
        assert status(hold) == "expired"
        expect.body(web.api(tenant).post("/v1/holds", asked | {"customer": "bob"}), 201)
