"""A client's claim on one server: while the lease is held, a keeper runs the server.

See `keeper` for the other side.
"""

import os
import subprocess
import sys
import time

from holdfast.embedded.errors import Refusal
from holdfast.embedded.locks import exclusive, open_lock, share, try_exclusive, try_share, unlock
from holdfast.embedded.server import rotate
from holdfast.embedded.state import CHECKOUT, Place
from holdfast.embedded.status import read_status

POLL_SECONDS = 0.02
# The keeper's own limits (60 s for a start, with a few tries; initdb before) end first.
READY_WITHIN_SECONDS = 300.0
STOPPED_WITHIN_SECONDS = 30.0
REVIVALS_MAX = 5
REVIVALS_WITHIN_SECONDS = 60.0


class Lease:
    """Hold it for as long as the server is needed. Other processes may hold leases on the same server."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._clients_fd = open_lock(place.clients_lock)
        self._keeper_fd = open_lock(place.keeper_lock)
        self._revivals: list[float] = []

    def take(self) -> None:
        """Claim the server and wait until it answers. Raises Refusal with the keeper's reason."""
        # Waits here while a keeper is stopping its server: it has the lock alone until it ends.
        share(self._clients_fd)
        if self._ready():
            return
        with exclusive(self.place.start_lock):
            self._start_and_wait()

    def look_after(self) -> None:
        """Start a keeper if none lives, and don't wait for its server. Raises Refusal when keepers keep failing."""
        if self._keeper_lives():
            return
        now = time.monotonic()
        self._revivals = [at for at in self._revivals if now - at < REVIVALS_WITHIN_SECONDS]
        if len(self._revivals) == REVIVALS_MAX:
            raise Refusal(self._problem())
        self._revivals.append(now)
        start_fd = open_lock(self.place.start_lock)
        try:
            # Another client has the lock: it is starting a keeper.
            if try_exclusive(start_fd) and not self._keeper_lives():
                self._start_keeper()
        finally:
            os.close(start_fd)

    def release(self) -> None:
        """Give the claim back; if it was the last one, wait until the server has stopped."""
        was_last = try_exclusive(self._clients_fd)
        unlock(self._clients_fd)
        deadline = time.monotonic() + STOPPED_WITHIN_SECONDS
        while was_last and self._keeper_lives() and time.monotonic() < deadline:
            if self._has_new_client():
                break
            time.sleep(POLL_SECONDS)
        os.close(self._clients_fd)
        os.close(self._keeper_fd)

    def _start_and_wait(self) -> None:
        started = False
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while not self._ready():
            if not self._keeper_lives():
                if started:
                    raise Refusal(self._problem())
                self._start_keeper()
                started = True
            if time.monotonic() > deadline:
                raise Refusal(f"{self.place.service} is not ready: see {self.place.keeper_log}")
            time.sleep(POLL_SECONDS)

    def _start_keeper(self) -> None:
        """Returns when the keeper holds its lock and has detached."""
        rotate(self.place.keeper_log)
        with self.place.keeper_log.open("ab") as log:
            arguments = [self.place.profile, self.place.service, str(self.place.folder), str(self.place.sockets)]
            subprocess.run(
                [sys.executable, "-m", "holdfast.embedded.keeper", *arguments],
                cwd=CHECKOUT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                check=False,
            )

    def _ready(self) -> bool:
        status = read_status(self.place)
        return status is not None and status.phase == "ready" and self._keeper_lives()

    def _keeper_lives(self) -> bool:
        """Whether somebody holds the keeper's lock."""
        if try_share(self._keeper_fd):
            unlock(self._keeper_fd)
            return False
        return True

    def _has_new_client(self) -> bool:
        """Whether another client took the server over while we waited for its end.

        Alone we could still get the lock for ourselves; with a client, share it; from a stopping keeper, neither.
        """
        alone = try_exclusive(self._clients_fd)
        shared = alone or try_share(self._clients_fd)
        unlock(self._clients_fd)
        return shared and not alone

    def _problem(self) -> str:
        status = read_status(self.place)
        if status is not None and status.problem is not None:
            return status.problem
        return f"{self.place.service} did not start: see {self.place.keeper_log}"
