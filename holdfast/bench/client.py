"""The load: many keep-alive connections in one process, each with one request in flight.

Run as `python -m holdfast.bench.client`, with a `Load` as JSON on standard input and a `Tally` on standard output. It
shares the cores with the server that it measures, so it is one loop over raw sockets that reads no more of an answer
than it must.
"""

import re
import selectors
import socket
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass

import orjson

from holdfast.bench.figures import percentile
from holdfast.bench.load import Load, Tally

# after the last request was sent, answers get this long
DRAIN_SECONDS = 15.0
READ_BYTES = 65_536
ERRORS_FROM = 400
_CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


@dataclass(slots=True, eq=False)
class _Connection:
    socket: socket.socket
    sent_at: float = 0.0
    received: bytes = b""


class _Run:
    """One load, from its first request to its last answer."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._requests = load.requests()
        self._selector = selectors.DefaultSelector()
        self._statuses: Counter[str] = Counter()
        self._problems: Counter[str] = Counter()
        self._granted_ms: list[float] = []
        self._unanswered = 0

    def tally(self) -> Tally:
        connections = [self._connect() for _ in range(self._load.connections)]
        began_at = time.perf_counter()
        self._last_request_at = began_at + self._load.seconds if self._load.seconds is not None else float("inf")
        for connection in connections:
            self._send_next(connection)
        ended_at = self._answers(began_at)
        return Tally(
            dict(self._statuses),
            dict(self._problems),
            self._unanswered,
            ended_at - began_at,
            percentile(self._granted_ms, 50),
            percentile(self._granted_ms, 95),
        )

    def _answers(self, began_at: float) -> float:
        """Receive until nobody waits; answers when that was. A silence of DRAIN_SECONDS ends it, too."""
        ended_at = began_at
        while waiting := self._selector.get_map():
            ready = self._selector.select(DRAIN_SECONDS)
            if not ready:
                self._unanswered += len(waiting)
                break
            for key, _ in ready:
                self._receive(key.data)
            ended_at = time.perf_counter()
        self._selector.close()
        return ended_at

    def _connect(self) -> _Connection:
        made = socket.create_connection((self._load.host, self._load.port), timeout=DRAIN_SECONDS)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = _Connection(made)
        self._selector.register(made, selectors.EVENT_READ, connection)
        return connection

    def _send_next(self, connection: _Connection) -> None:
        now = time.perf_counter()
        request = next(self._requests, None) if now < self._last_request_at else None
        if request is None:
            self._leave(connection)
            return
        connection.sent_at = now
        connection.received = b""
        connection.socket.sendall(request)

    def _receive(self, connection: _Connection) -> None:
        try:
            part = connection.socket.recv(READ_BYTES)
        except OSError:
            part = b""
        if not part:  # the server went away, or sent this connection away: its request has no answer
            self._unanswered += 1
            self._leave(connection)
            return
        connection.received += part
        head, found, body = connection.received.partition(b"\r\n\r\n")
        length = _CONTENT_LENGTH.search(head) if found else None
        if length is not None and len(body) >= int(length[1]):
            self._note(head, body, (time.perf_counter() - connection.sent_at) * 1000)
            self._send_next(connection)

    def _note(self, head: bytes, body: bytes, took_ms: float) -> None:
        status = head[9:12].decode()
        self._statuses[status] += 1
        if status == "201":
            self._granted_ms.append(took_ms)
        elif int(status) >= ERRORS_FROM:
            self._problems[_problem(body)] += 1

    def _leave(self, connection: _Connection) -> None:
        self._selector.unregister(connection.socket)
        connection.socket.close()


def _problem(body: bytes) -> str:
    """The problem's type, or its title where a peer gives no type."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return "unreadable"
    known = document if isinstance(document, dict) else {}
    return str(known.get("type") or known.get("title") or "unnamed").removeprefix("/problems/")


def run_load(load: Load) -> Tally:
    """Send it all, and wait for the answers. Raises OSError where nobody listens."""
    return _Run(load).tally()


if __name__ == "__main__":
    sys.stdout.buffer.write(orjson.dumps(asdict(run_load(Load(**orjson.loads(sys.stdin.buffer.read()))))))
