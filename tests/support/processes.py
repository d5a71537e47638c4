"""The product's own processes on this test's database and Redis: workers, the periodic loop."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from django.db import connections
from rq import Queue
from rq.serializers import JSONSerializer

from holdfast.kernel.jobs import heartbeat_key
from tests.support import redis_database
from tests.support.web import CHECKOUT, environment

# it costs nothing where all is well, and a busy machine takes its time
DEADLINE_SECONDS = 60


def wait_until(is_so: Callable[[], Any], what: str, deadline_seconds: float = DEADLINE_SECONDS) -> float:
    """Ask until it is so; answers how long that took."""
    began = time.monotonic()
    while not is_so():
        if time.monotonic() - began > deadline_seconds:
            raise TimeoutError(f"{what}: not within {deadline_seconds} s")
        time.sleep(0.02)
    return time.monotonic() - began


class Process:
    """`manage.py WORDS`, in a session of its own."""

    def __init__(self, *words: str, **variables: str) -> None:
        self.output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self.popen = subprocess.Popen(
            [sys.executable, "manage.py", *words],
            cwd=CHECKOUT,
            env={**environment(), **variables},
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def lives(self) -> bool:
        return self.popen.poll() is None

    def kill(self) -> None:
        """As a machine that loses its power would."""
        os.kill(self.pid, signal.SIGKILL)
        self.popen.wait(DEADLINE_SECONDS)

    def log(self) -> str:
        self.output.seek(0)
        return self.output.read().decode(errors="replace")

    def end(self) -> None:
        if self.lives:
            self.popen.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.popen.wait(DEADLINE_SECONDS / 4)
        if self.lives:
            self.kill()
        self.output.close()


class Background:
    """Starts processes and ends them all; each method returns once its process is at work."""

    def __init__(self) -> None:
        self.started: list[Process] = []

    def worker(self, queue: str = "holds", **variables: str) -> Process:
        with redis_database.connect() as redis:
            redis.delete(heartbeat_key(queue))
            process = self._start("work", queue, **variables)
            self._wait(process, lambda: redis.exists(heartbeat_key(queue)), f"a worker of {queue}")
        return process

    def periodic(self, **variables: str) -> Process:
        """Where there are two, only the first holds the scheduler's lock."""
        process = self._start("run_periodic", **variables)
        with redis_database.connect() as redis:
            self._wait(process, lambda: redis.exists("rq:scheduler-lock:holds"), "the periodic loop")
        return process

    def _start(self, *words: str, **variables: str) -> Process:
        process = Process(*words, **variables)
        self.started.append(process)
        return process

    def _wait(self, process: Process, is_so: Callable[[], Any], what: str) -> None:
        wait_until(lambda: is_so() or not process.lives, what)
        assert process.lives, process.log()[-3000:]


@contextlib.contextmanager
def background() -> Iterator[Background]:
    """`with background() as programs: programs.worker()`"""
    programs = Background()
    try:
        yield programs
    finally:
        for process in programs.started:
            process.end()


def queue(name: str = "holds") -> Queue:
    return Queue(name, connection=redis_database.connect(), serializer=JSONSerializer)


def terminate_backends(where: str = "true") -> int:
    """End the server's processes of the product's connections, but for this test's own; answers how many there were."""
    with connections["default"].cursor() as cursor:
        cursor.execute(
            f"""
            SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
            WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid() AND {where}
            """  # noqa: S608 - conditions of our own
        )
        return len(cursor.fetchall())
