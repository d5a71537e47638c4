"""A real web process (granian, two workers) on the test database."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.conf import settings
from psycopg.conninfo import make_conninfo

from tests.support.client import SocketApi

START_SECONDS = 90
STOP_SECONDS = 60
CHECKOUT = Path(__file__).resolve().parents[2]

# The death signal is asked for by the child itself and kept over exec: a fork with a hook would warn of our threads.
TIED = """
import os, sys
from holdfast.embedded.deathsig import die_with_parent
die_with_parent()
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@dataclass(frozen=True)
class Web:
    """Where it listens, and who it is."""

    url: str
    pid: int

    def api(self, key: object) -> SocketApi:
        """A client of it; takes a key's text or what `make_tenant` gave."""
        return SocketApi(self.url, getattr(key, "key", key))  # type: ignore[arg-type]


def environment() -> dict[str, str]:
    """That of a process on this test's database and Redis, with the real logins of all three roles."""
    return {
        **os.environ,
        "DATABASE_URL": _address("owner"),
        "HOLDFAST_APP_DATABASE_URL": _address("default"),
        "HOLDFAST_MAINTENANCE_DATABASE_URL": _address("maintenance"),
        "REDIS_URL": settings.REDIS_URL,
        "HOLDFAST_SUPERVISED": "1",
        "PYTHONUNBUFFERED": "1",
    }


def _address(alias: str) -> str:
    login = settings.DATABASES[alias]
    parts = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    return make_conninfo("", **{key: login[name] for key, name in parts.items() if login[name]})


@contextlib.contextmanager
def granian(workers: int = 2, blocking_threads: int = 4, **variables: str) -> Iterator[Web]:
    """Start it, wait until it answers, and end it and its workers."""
    port = free_port()
    command = [sys.executable, "-c", TIED, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--workers", str(workers), "--blocking-threads", str(blocking_threads)]
    command += ["holdfast.wsgi:application"]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=CHECKOUT,
            env={**environment(), **variables},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait_for_an_answer(process, port, output)
            yield Web(f"http://127.0.0.1:{port}", process.pid)
        finally:
            _end(process)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


def _wait_for_an_answer(process: "subprocess.Popen[bytes]", port: int, output: IO[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        except OSError:
            time.sleep(0.05)
        else:
            return
        finally:
            connection.close()
    output.seek(0)
    raise RuntimeError(f"no answer on port {port}:\n{output.read().decode(errors='replace')[-4000:]}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)
    with contextlib.suppress(ProcessLookupError):  # its session is its own: whoever is left of it
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(STOP_SECONDS)
