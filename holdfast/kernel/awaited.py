"""How many requests at work may wait for bodies that are on their way.

The server hands a request over as soon as its head is there, and the thread that reads the body waits for as long as
the client takes: nothing ends that wait but the client. So only so many of a process may wait at once,
strangers apart from those who are known, and whoever comes while slow ones have these places is told at once to come
again.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any

from django.conf import settings
from django.http import HttpRequest

from holdfast.kernel.errors import Malformed, Unavailable
from holdfast.kernel.room import Full, Room

# A body that has arrived is read in microseconds, but then its reader may wait some milliseconds for the interpreter.
# So whoever finds no place waits for that; a reader who takes longer than this is slow.
SLOW_AFTER_SECONDS = 0.25
STRANGERS_AT_ONCE = 1
KNOWN = "holdfast.known"


STRANGERS = Room(STRANGERS_AT_ONCE, slow_after_seconds=SLOW_AFTER_SECONDS)
# with the strangers at most half of those at work
THE_KNOWN = Room(max(1, settings.WEB_PERMITS // 2 - STRANGERS_AT_ONCE), slow_after_seconds=SLOW_AFTER_SECONDS)


def known(request: HttpRequest) -> None:
    """Say that the request has a good key or session: its body is awaited among theirs."""
    request.META[KNOWN] = True


class AwaitedBody:
    """In place of the server's `wsgi.input`: every read needs a place among strangers or among the known."""

    def __init__(self, environ: dict[str, Any]) -> None:
        self._environ = environ
        self._input: IO[bytes] = environ["wsgi.input"]

    def read(self, size: int) -> bytes:
        """So many bytes; fewer at the end of a body without a length.

        Raises Unavailable where there is no place to wait, Malformed where a body ends before its Content-Length.
        """
        with self._place():
            data = self._input.read(size)
        if len(data) < size and self._environ.get("CONTENT_LENGTH"):
            raise Malformed("The body is shorter than its Content-Length says.")
        return data

    def readline(self, size: int = -1) -> bytes:
        """The next line. Raises Unavailable where there is no place to wait."""
        with self._place():
            return self._input.readline(size)

    @contextmanager
    def _place(self) -> Iterator[None]:
        room = THE_KNOWN if self._environ.get(KNOWN) else STRANGERS
        with ExitStack() as stack:
            try:
                stack.enter_context(room.place())
            except Full as full:
                told = "Too many bodies are on their way and do not arrive: send yours with its head."
                raise Unavailable(told) from full
            yield
