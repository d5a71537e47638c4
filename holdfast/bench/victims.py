"""Whom `chaos` kills: the processes and services of one running HoldFast, found anew each time."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from redis import Redis, RedisError


class Victims:
    """The parts of the HoldFast that `supervisor_pid` runs on the services in the `state` folder."""

    def __init__(self, supervisor_pid: int, state: Path) -> None:
        self._supervisor_pid = supervisor_pid
        self._state = state

    @property
    def blows(self) -> Mapping[str, Callable[[], bool]]:
        """Each way to hurt it; answers whether there was anything to hurt."""
        return {
            "web killed": lambda: self._kill("granian"),
            "worker of holds killed": lambda: self._kill("work holds"),
            "worker of watch killed": lambda: self._kill("work watch"),
            "periodic runner killed": lambda: self._kill("run_periodic"),
            "Redis emptied": self._empty_redis,
            "PostgreSQL stopped at once": self._stop_postgres,
        }

    def _kill(self, words: str) -> bool:
        found = [pid for pid in _descendants(self._supervisor_pid) if words in _command(pid)]
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return bool(found)

    def _empty_redis(self) -> bool:
        with suppress(RedisError, OSError):
            return bool(Redis(unix_socket_path=str(self._state / "dev" / "run" / "valkey.sock")).flushall())
        return False

    def _stop_postgres(self) -> bool:
        """As `pg_ctl stop -m immediate`: every session ends, nothing is written."""
        with suppress(OSError, ValueError):
            first_line = (self._state / "dev" / "postgres" / "data" / "postmaster.pid").read_text().splitlines()[0]
            os.kill(int(first_line), signal.SIGQUIT)
            return True
        return False


def _descendants(pid: int) -> Iterator[int]:
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield int(child)
            yield from _descendants(int(child))


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""
