"""The Express peer: the same core on Express, node-postgres and Drizzle, on the same PostgreSQL."""

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from holdfast.bench.ground import WEB_PROCESSES, send
from holdfast.bench.load import Load, Tally
from holdfast.bench.processes import CantRun, free_port, last_words, run, running, wait_until
from holdfast.bench.scripts import load_schema

PATH = "/holds"
INSTALL_WITHIN_SECONDS = 300.0
WARM_UP = 400
_LIBPQ = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE"}


@dataclass(frozen=True, slots=True)
class Express:
    """A running peer."""

    port: int
    folder: Path
    environment: Mapping[str, str]

    def stock(self, *, events: int = 1, units_each: int) -> None:
        """Its tables anew, with as many units as HoldFast gets."""
        load_schema(self.environment["DATABASE_URL"], self.folder / "schema.sql", events=events, units=units_each)

    def hold(self, bodies: Sequence[Any], connections: int, seconds: float | None = None) -> Tally:
        """Ask for holds. Raises CantRun when the peer breaks down: there is nothing to compare with then."""
        tally = send(Load(self.port, PATH, bodies, connections, seconds=seconds), self.environment)
        if not tally.granted:
            raise CantRun(f"the peer granted nothing: {tally.statuses}, {tally.unanswered} without an answer")
        return tally


def any_bodies(events: int, count: int) -> list[dict[str, int]]:
    """One unit, whichever; the events in turn."""
    return [{"tenant": 1, "event": 1 + number % events, "quantity": 1} for number in range(count)]


def named_bodies(units: int, count: int) -> list[dict[str, Any]]:
    """One unit of the one event by its id; the ids in turn."""
    return [{"tenant": 1, "event": 1, "units": [1 + number % units]} for number in range(count)]


@contextmanager
def express(source: Path, environment: Mapping[str, str]) -> Iterator[Express]:
    """Install a copy, start it with as many processes as HoldFast's web has, stop and remove it. Raises CantRun."""
    if not (source / "server.mjs").is_file():
        raise CantRun(f"--peer {source} has no server.mjs")
    node, npm = _program("node"), _program("npm")
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as scratch:
        folder = Path(scratch) / source.name
        shutil.copytree(source, folder)
        if not (folder / "node_modules").exists():
            install = [npm, "install", "--no-audit", "--no-fund", "--loglevel=error"]
            run(install, environment, cwd=folder, within_seconds=INSTALL_WITHIN_SECONDS)
        peer = Express(free_port(), folder, environment)
        peer.stock(units_each=WARM_UP)
        with _started(peer, node):
            peer.hold(any_bodies(1, WARM_UP), connections=WEB_PROCESSES * 8)
            yield peer


@contextmanager
def _started(peer: Express, node: str) -> Iterator[None]:
    log = peer.folder / "output.log"
    with (
        log.open("wb") as output,
        running([node, "server.mjs"], _environment(peer), cwd=peer.folder, output=output) as process,
    ):
        try:
            wait_until(lambda: _listens(peer.port), process, "the peer")
        except CantRun as error:
            raise CantRun(f"{error}: {last_words(log.read_bytes())}") from error
        yield


def _environment(peer: Express) -> dict[str, str]:
    login = conninfo_to_dict(peer.environment["DATABASE_URL"])
    names = {variable: str(login[key]) for key, variable in _LIBPQ.items() if login.get(key)}
    return {**os.environ, **names, "WORKERS": str(WEB_PROCESSES), "PORT": str(peer.port)}


def _program(name: str) -> str:
    if found := shutil.which(name):
        return found
    raise CantRun(f"--peer needs {name} on PATH")


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2.0).close()
    except OSError:
        return False
    return True
