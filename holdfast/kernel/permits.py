"""Many threads of a web process, and few of them at work.

A thread that waits for a payment provider needs neither the interpreter nor the database, so there can be many such;
those at work take turns at both, and more of them would only get into each other's way. So a request is worked on under
a permit, which is given back while it waits for the world outside. The database connections go with the permits: there
are as many as requests at work, however many threads there are.
"""

import queue
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import connections

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper


class Permit:
    """The right to work, with the connections that go with it: opened by one holder, kept for the next."""

    def __init__(self) -> None:
        self._connections: list[BaseDatabaseWrapper] = []

    def take_up(self) -> None:
        """Make its connections this thread's; those that the server has closed meanwhile are opened anew."""
        for connection in self._connections:
            connections[connection.alias] = connection
            # has the next statement look first: one who comes back from a wait had no request begin
            connection.close_if_unusable_or_obsolete()

    def lay_down(self) -> None:
        """Leave this thread without connections."""
        for connection in connections.all(initialized_only=True):
            if connection not in self._connections:
                # more threads than one will have it, one at a time
                connection.inc_thread_sharing()
                self._connections.append(connection)
            del connections[connection.alias]


class Permits:
    """So many may work at once, and of a lane only so many of these. Whoever has no permit waits for one, and who has
    waited longest has the next."""

    def __init__(self, count: int) -> None:
        self._choosing = threading.Lock()
        # the last one that was given back goes out first: its connections are the likeliest to be alive and warm
        self._free = [Permit() for _ in range(count)]
        # a permit is handed over: one that was free for a moment would go to whoever runs just then, and under a rush
        # the same few would be overtaken again and again
        self._waiting: deque[queue.SimpleQueue[Permit]] = deque()
        self._mine = _Mine()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Work under a permit."""
        self._take()
        try:
            yield
        finally:
            self._give_back()
            self._mine.lane = None

    @contextmanager
    def given_back(self) -> Iterator[None]:
        """Wait for somebody else, while others work; nothing for a thread that works without a permit. No transaction
        may be open."""
        if self._mine.permit is None:
            yield
            return
        self._give_back()
        try:
            yield
        finally:
            self._take()

    def join_lane(self, lane: threading.Semaphore) -> None:
        """Go on, until the work is done, as one of those whom the lane lets work at once; nothing for a thread that
        works without a permit. No transaction may be open."""
        if self._mine.permit is not None:
            self._give_back()
            self._mine.lane = lane
            self._take()

    def _take(self) -> None:
        if self._mine.lane is not None:
            # first, so that nobody waits for it with a permit in hand
            self._mine.lane.acquire()
        self._mine.permit = self._next()
        self._mine.permit.take_up()

    def _give_back(self) -> None:
        permit, self._mine.permit = self._mine.permit, None
        if permit is not None:
            permit.lay_down()
            self._hand_over(permit)
        if self._mine.lane is not None:
            self._mine.lane.release()

    def _next(self) -> Permit:
        with self._choosing:
            if self._free:
                return self._free.pop()
            handed: queue.SimpleQueue[Permit] = queue.SimpleQueue()
            self._waiting.append(handed)
        return handed.get()

    def _hand_over(self, permit: Permit) -> None:
        with self._choosing:
            if not self._waiting:
                self._free.append(permit)
                return
            handed = self._waiting.popleft()
        handed.put(permit)


class _Mine(threading.local):
    """What this thread has."""

    permit: Permit | None = None
    lane: threading.Semaphore | None = None


# of this process; only the web's threads work under them
WORK = Permits(settings.WEB_PERMITS)
