"""How many checkouts and refunds of a web process go on at once: few at work, and more that wait for a provider. The
rest is left to a worker."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from django.conf import settings

from holdfast.kernel.errors import Unavailable
from holdfast.kernel.permits import WORK
from holdfast.kernel.room import Full, Room

# so that threads stay for holds, however slow a provider is and however many pay
THREADS_MAX = settings.WEB_THREADS * 3 // 4
WAITS_MAX = settings.WEB_THREADS // 2
# a provider that answers sooner than this is worth a wait for a place
SLOW_AFTER_SECONDS = 0.5
# many answers of a provider may come at once, and each is as much work as three holds: one after the other is no
# slower for checkouts (measured), and leaves the interpreter to holds
AT_WORK_MAX = 1

_waiting = Room(WAITS_MAX, slow_after_seconds=SLOW_AFTER_SECONDS)
_threads = threading.BoundedSemaphore(THREADS_MAX)
_lane = threading.BoundedSemaphore(AT_WORK_MAX)


@contextmanager
def place_to_wait() -> Iterator[bool]:
    """A place among those who wait, for the time of the block; False where slow ones have all places. Either way the
    request goes on in the lane of checkouts. Raises Unavailable where so many are in it that none may be added."""
    if not _threads.acquire(blocking=False):
        raise Unavailable("Too many checkouts are under way: try again.")
    with ExitStack() as stack:
        stack.callback(_threads.release)
        with WORK.given_back():
            has_place = _found(stack)
        WORK.join_lane(_lane)
        yield has_place


def _found(stack: ExitStack) -> bool:
    try:
        stack.enter_context(_waiting.place())
    except Full:
        return False
    return True
