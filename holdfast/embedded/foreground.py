"""Run one command with the terminal's input and output, as if it had been started directly."""

import os
import signal
import subprocess
from collections.abc import Sequence

from holdfast.embedded.deathsig import tied_to_this_process
from holdfast.embedded.state import CHECKOUT

FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def run_in_foreground(command: Sequence[str], environment: dict[str, str]) -> int:
    """The command's exit code; 128 and the signal's number if a signal ended it."""
    process = subprocess.Popen(
        command,
        cwd=CHECKOUT,
        env=environment,
        preexec_fn=tied_to_this_process(),  # noqa: PLW1509 - this process has one thread
    )

    def forward(signal_number: int, _frame: object) -> None:
        # Ctrl-C reaches everyone in the terminal's foreground, the command too: a second one would cut its cleaning up
        if signal_number != signal.SIGINT or not _in_terminal_foreground():
            process.send_signal(signal_number)

    before = {number: signal.signal(number, forward) for number in FORWARDED}
    try:
        code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def _in_terminal_foreground() -> bool:
    try:
        fd = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(fd)
