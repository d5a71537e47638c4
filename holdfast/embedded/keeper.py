"""The keeper: a detached process that runs one server for as long as anyone uses it.

Clients share `clients.lock` for as long as they live. The keeper keeps trying to get that lock alone: once it does, no
client is left, not even one that was killed, and it stops the server and ends. It still holds the lock then, so that
a client who comes now waits, and starts a new keeper.

The server is the keeper's child and is told to stop if the keeper is killed; a client that watches starts another one.
"""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

from holdfast.embedded.errors import Refusal
from holdfast.embedded.locks import open_lock, try_exclusive
from holdfast.embedded.postgres import Postgres
from holdfast.embedded.server import Process, Server
from holdfast.embedded.state import Place
from holdfast.embedded.status import Phase, Status, write_status
from holdfast.embedded.valkey import Valkey

SERVERS: dict[str, type[Server]] = {"postgres": Postgres, "valkey": Valkey}

POLL_SECONDS = 0.2
# A client that looks whether a keeper lives holds the lock for an instant.
LOCK_WITHIN_SECONDS = 2.0
# What a killed server leaves (old backends, a socket) can take some seconds to go away.
RETRY_AFTER_SECONDS = (0.2, 0.5, 1.0, 2.0)
# A server that ran this long was well: its next failure starts a new count.
WELL_AFTER_SECONDS = 60.0


class Keeper:
    """Starts one server, starts it again when it dies, and stops it when nobody is left."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.place = server.place
        self._clients_fd = open_lock(self.place.clients_lock)
        self._told_to_stop = False

    def run(self) -> int:
        """Keep the server until nobody uses it; the exit code says whether that went well."""
        try:
            self._keep()
        except (Refusal, OSError) as error:
            self._say("failed", problem=str(error))
            return 1
        return 0

    def say_starting(self) -> None:
        """The first word: what an earlier keeper said no longer counts."""
        self._say("starting")

    def _keep(self) -> None:
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signal_number, self._stop_soon)
        self.server.end_orphan()
        self.server.prepare()
        process = self._start()
        started_at = time.monotonic()
        while not self._unwanted():
            if process.poll() is not None:
                self._say("starting")
                if time.monotonic() - started_at < WELL_AFTER_SECONDS:
                    time.sleep(RETRY_AFTER_SECONDS[0])
                process = self._start()
                started_at = time.monotonic()
            time.sleep(POLL_SECONDS)
        self._say("stopping", process)
        self.server.stop(process)

    def _start(self) -> Process:
        """Start with some patience; a broken test cluster is made anew, since nothing in it is worth keeping."""
        try:
            process = self._start_patiently()
        except Refusal:
            if self.place.profile != "test" or self._unwanted():
                raise
            shutil.rmtree(self.place.data, ignore_errors=True)
            self.server.prepare()
            process = self.server.start(self._unwanted)
        self._say("ready", process)
        return process

    def _start_patiently(self) -> Process:
        for delay_seconds in RETRY_AFTER_SECONDS:
            try:
                return self.server.start(self._unwanted)
            except Refusal:
                if self._unwanted():
                    raise
                time.sleep(delay_seconds)
        return self.server.start(self._unwanted)

    def _unwanted(self) -> bool:
        """Whether no client is left; true for good once it was, because we then hold the lock alone."""
        return self._told_to_stop or try_exclusive(self._clients_fd)

    def _stop_soon(self, *_: object) -> None:
        self._told_to_stop = True

    def _say(self, phase: Phase, process: Process | None = None, problem: str | None = None) -> None:
        write_status(self.place, Status(phase, os.getpid(), process.pid if process else None, problem))


def main(profile: str, service: str, folder: str, sockets: str) -> int:
    """Take the keeper's lock, detach, and keep; the caller waits only for the detaching."""
    os.umask(0o022)
    place = Place(profile, service, Path(folder), Path(sockets))
    lock_fd = open_lock(place.keeper_lock)
    deadline = time.monotonic() + LOCK_WITHIN_SECONDS
    while not try_exclusive(lock_fd):
        if time.monotonic() > deadline:
            return 1
        time.sleep(0.01)
    keeper = Keeper(SERVERS[service](place))
    keeper.say_starting()
    # The lock belongs to the open file, which the child keeps open: it is held without a gap.
    if os.fork():
        os._exit(0)
    return keeper.run()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
