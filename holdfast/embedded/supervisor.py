"""Keep a set of processes running, and end all of them together.

Each child leads a session of its own: Ctrl-C in the terminal reaches the supervisor alone, which stops the children in
order, and whatever a child leaves behind is still in its group and is swept away. If the supervisor itself is killed,
the kernel kills the children.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from holdfast.embedded.console import say
from holdfast.embedded.deathsig import tied_to_this_process
from holdfast.embedded.errors import Refusal
from holdfast.embedded.state import CHECKOUT

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POLL_SECONDS = 0.2
STOP_WITHIN_SECONDS = 10.0
# A child that lived this long was well: its next end starts a new count.
WELL_AFTER_SECONDS = 30.0
RESTART_AFTER_SECONDS = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Program:
    """One process to keep running; its output goes to standard error."""

    name: str
    command: Sequence[str]


class Child:
    """A program's current process, and how often it failed lately.

    One that never ran well is given up after a few failures; one that did is started again and again.
    """

    def __init__(self, program: Program, environment: dict[str, str]) -> None:
        self.program = program
        self._environment = environment
        self._failures = 0
        self._was_well = False
        self.start()

    def start(self) -> None:
        """Start the program, for the first time or again."""
        self._started_at = time.monotonic()
        self._restart_at: float | None = None
        self.process = subprocess.Popen(
            self.program.command,
            cwd=CHECKOUT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            start_new_session=True,
            preexec_fn=tied_to_this_process(),  # noqa: PLW1509 - this process has one thread
        )

    def tend(self) -> None:
        """Start the program again if it ended. Raises Refusal when it keeps ending right after its start."""
        if self._restart_at is None and self.process.poll() is not None:
            self.sweep()
            self._plan_restart()
        if self._restart_at is not None and time.monotonic() >= self._restart_at:
            self.start()

    def sweep(self) -> None:
        """Kill what the ended process left in its group."""
        # PermissionError is macOS' answer for a group of zombies
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def _plan_restart(self) -> None:
        now, code = time.monotonic(), self.process.returncode
        if now - self._started_at > WELL_AFTER_SECONDS:
            self._was_well, self._failures = True, 0
        if self._failures == len(RESTART_AFTER_SECONDS):
            if not self._was_well:
                raise Refusal(
                    f"{self.program.name} ended {self._failures + 1} times soon after its start: the reason is above"
                )
            self._failures -= 1  # it has worked: what it misses now may come back
        say(f"{self.program.name} ended with {code}: starting it again")
        self._restart_at = now + RESTART_AFTER_SECONDS[self._failures]
        # killed from outside is no sign that it can't run
        self._failures += code != -signal.SIGKILL


class Supervisor:
    """The children, the wish to stop, and what else must be looked after meanwhile."""

    def __init__(self, environment: dict[str, str], look_after: Callable[[], None]) -> None:
        self._environment = environment | {"HOLDFAST_SUPERVISED": "1"}
        self._look_after = look_after
        self._children: list[Child] = []
        self._wake = threading.Event()
        self._stop_requests = 0

    @property
    def stopping(self) -> bool:
        """Whether somebody asked for the end."""
        return self._stop_requests > 0

    @contextmanager
    def running(self, programs: Sequence[Program]) -> Iterator[None]:
        """Start the programs, and stop them on leaving, whatever the reason."""
        handlers = {number: signal.signal(number, self._request_stop) for number in STOP_SIGNALS}
        try:
            for program in programs:
                self._children.append(Child(program, self._environment))
            yield
        finally:
            self._stop_all()
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def tend_until(self, done: Callable[[], bool]) -> None:
        """Keep everything running until `done` or a request to stop."""
        while not self.stopping and not done():
            self._look_after()
            for child in self._children:
                child.tend()
            self._wake.wait(POLL_SECONDS)

    def _request_stop(self, *_: object) -> None:
        self._stop_requests += 1
        self._wake.set()

    def _stop_all(self) -> None:
        """SIGTERM to all, then SIGKILL to those that are late; a second request to stop does not wait."""
        requests_before = max(self._stop_requests, 1)
        for child in self._children:
            with suppress(ProcessLookupError):
                child.process.terminate()
        deadline = time.monotonic() + STOP_WITHIN_SECONDS
        while any(child.process.poll() is None for child in self._children):
            if time.monotonic() > deadline or self._stop_requests > requests_before:
                break
            time.sleep(POLL_SECONDS / 10)
        for child in self._children:
            child.sweep()
            child.process.kill()
            child.process.wait()
