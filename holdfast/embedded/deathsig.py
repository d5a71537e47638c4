"""Let no process outlive the one that started it, even when that one is killed with SIGKILL.

Linux can send a process a signal when its parent ends (`PR_SET_PDEATHSIG`). "Parent" is the *thread* that forked, so
start children from the main thread. The kernel forgets the signal when a process changes its user: ask again after.
Elsewhere than on Linux both functions do nothing, and the keeper's and the supervisor's orderly stops remain.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1

# Loaded once here: between fork and exec only the call itself should be left to do.
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent(signal_number: int = signal.SIGKILL) -> None:
    """Ask for `signal_number` when the parent ends; end at once if it already has.

    SIGKILL by default: granian's workers can stay after a SIGTERM when their master is gone, and by then nobody is
    left to insist. The database holds every promise, so a killed process loses nothing.
    """
    parent = multiprocessing.parent_process()
    _ask(signal_number, expected_parent=parent.pid if parent is not None else None)


def tied_to_this_process(signal_number: int = signal.SIGKILL) -> Callable[[], None]:
    """A `preexec_fn` for subprocess: the child gets `signal_number` when the calling process ends."""
    parent_pid = os.getpid()

    def ask() -> None:
        _ask(signal_number, expected_parent=parent_pid)

    return ask


def _ask(signal_number: int, expected_parent: int | None) -> None:
    if _libc is None:
        return
    _libc.prctl(PR_SET_PDEATHSIG, int(signal_number), 0, 0, 0)
    # The parent may have ended before the request: then init, or a subreaper, is the parent by now and no signal comes.
    orphaned = os.getppid() != expected_parent if expected_parent is not None else os.getppid() == 1
    if orphaned:
        os.kill(os.getpid(), signal.SIGKILL)
