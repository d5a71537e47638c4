"""Looking a host up: once an attempt, in bounded time, and all or nothing.

The system's resolver can't be told when to stop, so it is asked in a thread that is left behind where it hangs. It ends
by itself, as the resolver does at long last; how many there are is bounded, so that no names can fill a process, and
for each sender, so that the names of one can't keep those of all others waiting.
"""

import queue
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from ipaddress import IPv4Address, IPv6Address, ip_address

from webhooks.egress.outcome import NoAnswer, Outcome
from webhooks.egress.policy import Deadline
from webhooks.egress.urls import LOCALHOST, Target

Address = IPv4Address | IPv6Address
Lookup = Callable[[str], Sequence[str]]

LOOKUPS_MAX = 256
LOOKUPS_OF_ONE_MAX = 16
_sender: ContextVar[str] = ContextVar("sender", default="")


@contextmanager
def on_behalf_of(sender: str) -> Iterator[None]:
    """Lookups within the block are counted together with others of this sender."""
    token = _sender.set(sender)
    try:
        yield
    finally:
        _sender.reset(token)


class Places:
    """For so many at once, and so many of one sender."""

    def __init__(self, count_max: int, of_one_max: int) -> None:
        self._count_max, self._of_one_max = count_max, of_one_max
        self._changed = threading.Condition()
        self._taken: Counter[str] = Counter()

    def take(self, sender: str, *, within_seconds: float) -> bool:
        """Whether there was one in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._has_room(sender), within_seconds):
                return False
            self._taken[sender] += 1
            return True

    def give_back(self, sender: str) -> None:
        with self._changed:
            self._taken -= Counter([sender])  # forgets who has none left
            self._changed.notify_all()

    def _has_room(self, sender: str) -> bool:
        return self._taken.total() < self._count_max and self._taken[sender] < self._of_one_max


_under_way = Places(LOOKUPS_MAX, LOOKUPS_OF_ONE_MAX)


def system_lookup(name: str) -> Sequence[str]:
    """Addresses of a full name, the best first. Raises OSError."""
    # the dot at the end keeps the machine's search domains out of it
    found = socket.getaddrinfo(f"{name}.".encode(), None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [str(place[0]) for *_, place in found]


def addresses_of(target: Target, lookup: Lookup, *, within_seconds: float) -> Sequence[Address]:
    """Every address of the host, each of which may be connected to. Raises NoAnswer."""
    if target.address:
        found: Sequence[Address] = [target.address]
    elif target.is_local and target.host == LOCALHOST:
        # loopback, whatever a resolver says (RFC 6761)
        found = [IPv4Address("127.0.0.1"), IPv6Address("::1")]
    else:
        found = _look_up(target.host, lookup, Deadline(within_seconds))
    if not all(map(target.may_be_at, found)):
        raise NoAnswer(Outcome.REFUSED_ADDRESS)
    return found


def _look_up(name: str, lookup: Lookup, deadline: Deadline) -> Sequence[Address]:
    answers: queue.SimpleQueue[Sequence[str]] = queue.SimpleQueue()
    sender = _sender.get()

    def ask() -> None:
        try:
            answers.put(lookup(name))
        except OSError:
            answers.put([])
        finally:
            _under_way.give_back(sender)

    if not _under_way.take(sender, within_seconds=deadline.left()):
        raise NoAnswer(Outcome.UNRESOLVABLE)
    try:
        threading.Thread(target=ask, daemon=True).start()
    except RuntimeError:  # no thread to be had; nobody else would give the place back
        _under_way.give_back(sender)
        raise
    try:
        texts = answers.get(timeout=deadline.left())
        found = list(dict.fromkeys(map(ip_address, texts)))
    except (queue.Empty, TimeoutError, ValueError):
        found = []
    if not found:
        raise NoAnswer(Outcome.UNRESOLVABLE)
    return found
