"""A room where threads wait for somebody else: only so many places, so that the others stay free."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Full(Exception):
    """Slow ones have all places."""


class Room:
    """`places` threads may be inside at once; one that stays for less than `slow_after_seconds` is quick. Whoever finds
    no place waits for the quick ones, as long as the last that left was one."""

    def __init__(self, places: int, *, slow_after_seconds: float) -> None:
        self._places = places
        self._slow_after_seconds = slow_after_seconds
        self._entered: list[float] = []  # when each thread that is inside got its place
        self._last_stay = 0.0
        self._changed = threading.Condition()

    @contextmanager
    def place(self) -> Iterator[None]:
        """Be inside. Raises Full where slow ones have all places, or none falls free for `slow_after_seconds`."""
        entered = self._enter(time.monotonic())
        try:
            yield
        finally:
            with self._changed:
                self._entered.remove(entered)
                self._last_stay = time.monotonic() - entered
                self._changed.notify()

    def _enter(self, came: float) -> float:
        with self._changed:
            while len(self._entered) >= self._places:
                left = min(came, max(self._entered)) + self._slow_after_seconds - time.monotonic()
                if left <= 0 or self._last_stay >= self._slow_after_seconds:
                    raise Full
                self._changed.wait(left)
            entered = time.monotonic()
            self._entered.append(entered)
            return entered
