"""A Redis that is away: a worker and the periodic loop wait for it, say so once, and go on when it is back."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from rq import Worker

from tests.support import redis_database
from tests.support.processes import Process, queue, wait_until

# as often as it must have asked in vain, each time without a word
SECONDS_AWAY = 3


class Way:
    """A way to this test's Redis that can be opened and closed: a link to its socket."""

    def __init__(self, folder: Path) -> None:
        self.link = folder / "redis.sock"
        there = urlsplit(settings.REDIS_URL)
        if there.scheme != "unix":
            pytest.skip("a way over the network can't be closed here")
        self.there = there.path
        self.url = f"unix://{self.link}?{there.query}"

    def open(self) -> None:
        self.link.symlink_to(self.there)

    def close(self) -> None:
        """No new connection gets through, and those that are there end."""
        self.link.unlink()
        with redis_database.connect() as redis:
            number, own = redis.client_info()["db"], redis.client_id()
            for client in redis.client_list():
                if int(client["db"]) == number and int(client["id"]) != own:
                    redis.client_kill_filter(_id=client["id"])


@pytest.fixture
def way(tmp_path: Path, database_name: str) -> Iterator[Way]:
    redis_database.flush()
    yield Way(tmp_path)
    redis_database.flush()


@pytest.fixture(params=[("work", "holds"), ("run_periodic",)], ids=["worker", "loop"])
def process(request: pytest.FixtureRequest, way: Way) -> Iterator[Process]:
    process = Process(*request.param, REDIS_URL=way.url)
    yield process
    process.end()


def works(process: Process) -> bool:
    """Whether it has asked for sweeps, or done them and waits for more."""
    assert process.lives, process.log()
    if "work" in process.popen.args:
        return queue().count == 0 and [worker.get_state() for worker in Worker.all(queue=queue())] == ["idle"]
    return queue().count > 0


def lines_with(process: Process, word: str) -> int:
    return sum(word in line for line in process.log().splitlines())


def test_it_waits_for_redis_says_so_once_and_goes_on(way, process):
    wait_until(lambda: lines_with(process, "redis_is_away"), "the first word")
    with pytest.raises(TimeoutError):
        wait_until(lambda: not process.lives or process.log().count("\n") > 1, "another word", SECONDS_AWAY)
    assert process.lives, process.log()
    assert "Traceback" not in process.log()
    way.open()
    queue().enqueue("reservations.jobs.sweep")
    wait_until(lambda: lines_with(process, "redis_is_back"), "its return")
    wait_until(lambda: works(process), "its work")


def test_it_outlives_a_redis_that_goes_while_it_waits_for_work(way, process):
    way.open()
    wait_until(lambda: works(process), "its work")
    words = lines_with(process, "redis_is_away")
    way.close()
    wait_until(lambda: lines_with(process, "redis_is_away") > words, "a word")
    way.open()
    wait_until(lambda: "redis_is_back" in process.log().splitlines()[-1], "its return")
    assert lines_with(process, "redis_is_away") == words + 1
    assert process.lives
    assert "Traceback" not in process.log()


def test_it_ends_when_it_is_told_to_while_redis_is_away(way, process):
    wait_until(lambda: lines_with(process, "redis_is_away"), "the first word")
    process.popen.terminate()
    process.popen.wait(60)
    assert "Traceback" not in process.log()
