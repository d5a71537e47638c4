"""The time that processes had on the cores, as Linux tells it."""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from django.db import connections

POSTGRES = "PostgreSQL"
_BACKENDS = (
    # of other roles' sessions no more than these columns is shown; those of autovacuum have no user
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND usename IS NOT NULL "
    "AND pid <> pg_backend_pid()"
)


class Meter:
    """Since it was made, by these processes (`worker=pid`) and by PostgreSQL's that serve this run's database.

    What PostgreSQL does for all at once (checkpoints, its log, autovacuum) is not among it. Nothing is told of what
    can't be seen from here.
    """

    def __init__(self, **pids: int) -> None:
        self._pids = pids
        self._before = dict(self._seconds())

    def seconds(self) -> Mapping[str, float]:
        spent: dict[str, float] = defaultdict(float)
        for (name, pid), seconds in self._seconds():
            spent[name] += seconds - self._before.get((name, pid), 0)
        return spent

    def _seconds(self) -> Iterator[tuple[tuple[str, int], float]]:
        for name, pid in [*self._pids.items(), *((POSTGRES, pid) for pid in _backends())]:
            if (seconds := _cpu_seconds(pid, "postgres" if name == POSTGRES else "")) is not None:
                yield (name, pid), seconds


def _backends() -> list[int]:
    with connections["owner"].cursor() as cursor:
        cursor.execute(_BACKENDS)
        return [pid for (pid,) in cursor.fetchall()]


def _cpu_seconds(pid: int, name: str) -> float | None:
    """User and system time; None where there is no such process here, or one whose name begins otherwise."""
    try:
        before, _, after = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except OSError:
        return None
    if not before.partition("(")[2].startswith(name):
        return None
    fields = after.split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
