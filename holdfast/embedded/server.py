"""What PostgreSQL and Valkey have in common: how a server process is started, told from strangers, and stopped."""

import os
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

from holdfast.embedded.account import Account, server_account
from holdfast.embedded.deathsig import tied_to_this_process
from holdfast.embedded.errors import Refusal
from holdfast.embedded.state import Place

# Nothing of the user's environment: a locale or a PG* variable of theirs must not change the server.
SERVER_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
READY_WITHIN_SECONDS = 60.0
LOG_BYTES_MAX = 5_000_000
POLL_SECONDS = 0.02

Process = subprocess.Popen[bytes]


class Server(ABC):
    """One embedded server in its place."""

    name: str
    stop_signals: Sequence[tuple[signal.Signals, float]]  # each with the seconds it is given

    def __init__(self, place: Place) -> None:
        self.place = place
        self.account: Account = server_account()

    @abstractmethod
    def prepare(self) -> None:
        """Make what the server needs to start: once, and whole or not at all."""

    @abstractmethod
    def command(self) -> list[str]:
        """The server's command line; it names the data folder."""

    @abstractmethod
    def answers(self, process: Process) -> bool:
        """Whether this very process takes connections."""

    @property
    def site(self) -> Path:
        """Where copies of packages go."""
        return self.place.folder.parents[1] / "site"

    def start(self, abandoned: Callable[[], bool]) -> Process:
        """Start the server and wait until it answers; give up when nobody wants it any more."""
        rotate(self.place.server_log)
        with self.place.server_log.open("ab") as log:
            log_start = log.tell()
            process = subprocess.Popen(
                self.command(),
                cwd="/",
                env=SERVER_ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=tied_to_this_process(self.stop_signals[0][0]),  # noqa: PLW1509 - the keeper has one thread
                **self.account.run_as,
            )
        # put in place whole: whoever reads it must never see half of it
        draft = self.place.folder / "server.pid.new"
        draft.write_text(str(process.pid))
        draft.replace(self.place.folder / "server.pid")
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while not self.answers(process):
            if process.poll() is not None:
                raise Refusal(f"{self.name} did not start: {self._last_words(log_start)} (see {self.place.server_log})")
            if abandoned() or time.monotonic() > deadline:
                self.stop(process)
                raise Refusal(f"{self.name} was not ready in {READY_WITHIN_SECONDS:.0f} s: see {self.place.server_log}")
            time.sleep(POLL_SECONDS)
        return process

    def stop(self, process: Process) -> None:
        """Stop in order, then by force."""
        for signal_number, patience_seconds in (*self.stop_signals, (signal.SIGKILL, 5.0)):
            process.send_signal(signal_number)
            try:
                process.wait(patience_seconds)
            except subprocess.TimeoutExpired:
                continue
            return

    def end_orphan(self) -> None:
        """Wait for a server that a killed keeper left behind, then end it.

        Where the kernel knows death signals it is stopping already; elsewhere it must be told.
        """
        try:
            pid = int((self.place.folder / "server.pid").read_text())
        except (FileNotFoundError, ValueError):
            return
        for signal_number, patience_seconds in (*self.stop_signals, (signal.SIGKILL, 5.0)):
            if not self.is_ours(pid):
                return
            signal_process(pid, signal_number)
            deadline = time.monotonic() + patience_seconds
            while self.is_ours(pid) and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)

    def is_ours(self, pid: int) -> bool:
        """Whether `pid` is a server on our data folder: a process number from a file may be anyone's by now."""
        return str(self.place.data) in command_line(pid)

    def _last_words(self, log_start: int) -> str:
        with self.place.server_log.open("rb") as log:
            log.seek(log_start)
            lines = log.read().decode(errors="replace").splitlines()
        fatal = [line for line in lines if "FATAL" in line or "PANIC" in line]
        return next(iter((fatal or lines)[-1:]), "it said nothing").strip()


def command_line(pid: int) -> str:
    """The command line of a living process, or an empty string."""
    if Path("/proc/self/cmdline").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""
    answer = subprocess.run(["/bin/ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return answer.stdout


def signal_process(pid: int, signal_number: int) -> None:
    """Send a signal to a process that may have ended."""
    try:
        os.kill(pid, signal_number)
    except ProcessLookupError:
        return


def rotate(log: Path) -> None:
    """Keep one old log of a bounded size beside the current one."""
    if log.exists() and log.stat().st_size > LOG_BYTES_MAX:
        log.replace(log.with_suffix(".log.1"))
