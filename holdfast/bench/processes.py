"""Processes of a run: each in a session of its own, none outlives the block that it was started for."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO

from holdfast.embedded.deathsig import tied_to_this_process
from holdfast.embedded.state import CHECKOUT

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOP_WITHIN_SECONDS = 10.0
READY_WITHIN_SECONDS = 30.0
POLL_SECONDS = 0.05


class CantRun(RuntimeError):
    """A part of the run can't be started, or failed; the message is one line."""


@contextmanager
def stoppable() -> Iterator[None]:
    """The first request to stop raises KeyboardInterrupt; later ones don't cut the cleaning up short."""

    def stop(*_: object) -> None:
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def running(
    command: Sequence[str], environment: Mapping[str, str], *, cwd: Path = CHECKOUT, output: IO[bytes] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """The process, for as long as the block runs; its output goes to standard error unless it is given a file."""
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=output or sys.stderr,
        stderr=output or sys.stderr,
        start_new_session=True,
        preexec_fn=tied_to_this_process(),  # noqa: PLW1509 - this process has one thread
    )
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_WITHIN_SECONDS)
        _sweep(process)
        process.wait()


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    within_seconds: float,
    text: bytes = b"",
    cwd: Path = CHECKOUT,
) -> bytes:
    """Run to the end; what it wrote to standard output. Raises CantRun with its last words."""
    name = Path(command[0]).name if command[0] != sys.executable else " ".join(command[1:3])
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=tied_to_this_process(),  # noqa: PLW1509 - this process has one thread
        )
    except OSError as error:
        raise CantRun(f"{name} can't be run: {error.strerror}") from error
    with process:
        try:
            output, errors = process.communicate(text, within_seconds)
        except subprocess.TimeoutExpired as error:
            raise CantRun(f"{name} took more than {within_seconds:.0f} s") from error
        finally:
            _sweep(process)
    if process.returncode != 0:
        raise CantRun(f"{name} failed: {last_words(errors or output)}")
    return output


def _sweep(process: subprocess.Popen[bytes]) -> None:
    """Kill whoever is left of the process's session."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def last_words(output: bytes) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def wait_until(ready: Callable[[], bool], process: subprocess.Popen[bytes], name: str) -> None:
    """Raises CantRun when the process ends first, or takes longer than READY_WITHIN_SECONDS."""
    deadline = time.monotonic() + READY_WITHIN_SECONDS
    while not ready():
        if process.poll() is not None:
            raise CantRun(f"{name} ended with {process.returncode} at its start")
        if time.monotonic() > deadline:
            raise CantRun(f"{name} was not ready in {READY_WITHIN_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)


def is_so_within(seconds: float, is_so: Callable[[], bool]) -> bool:
    """Ask until it is so, for so long at the most; whether it became so."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def free_port() -> int:
    """A port that nobody on this machine uses at this moment."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
