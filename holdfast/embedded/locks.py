"""Kernel file locks.

The kernel drops a lock when its last holder dies, however it dies, so a lock file that lies around means nothing and
no lock is ever stale. Lock files are never deleted: two processes could then hold "the same" lock on two files.
Python's descriptors close on exec, so no server or command inherits a lock.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def open_lock(path: Path) -> int:
    """A descriptor to lock; the file is made when absent."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def share(fd: int) -> None:
    """Wait for a shared lock."""
    fcntl.flock(fd, fcntl.LOCK_SH)


def try_share(fd: int) -> bool:
    """A shared lock at once, or False."""
    return _try(fd, fcntl.LOCK_SH)


def try_exclusive(fd: int) -> bool:
    """The only lock at once, or False."""
    return _try(fd, fcntl.LOCK_EX)


def unlock(fd: int) -> None:
    """Give the lock back and keep the descriptor."""
    fcntl.flock(fd, fcntl.LOCK_UN)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the only lock on `path`, waiting for it as long as it takes."""
    fd = open_lock(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _try(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
