"""A receiver of webhooks that notes which came when. It answers at once, never, or a byte a second.

Run as `python -m holdfast.bench.receiver PORT`. The first word of a POST's path says how it is answered: /fast/…,
/hang/… or /drip/…; `GET /arrivals` tells what came to each path, `GET /counts` only how many. It shares the cores with
the workers that it measures, so it is one loop over raw sockets, as the client is.
"""

import re
import selectors
import socket
import sys
import time
from collections import defaultdict
from contextlib import suppress
from typing import NoReturn

import orjson

BACKLOG = 1024
READ_BYTES = 65_536
DRIP_EVERY_SECONDS = 1.0
_REQUEST_LINE = re.compile(rb"(GET|POST) (/\S*) ")
_CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_WEBHOOK_ID = re.compile(rb"\r\nwebhook-id: *(\S+)", re.IGNORECASE)
_TAKEN = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
# a head that never ends
_DRIPPED = b"HTTP/1.1 200 OK\r\nDrip: "


class _Receiver:
    def __init__(self, port: int) -> None:
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server(("127.0.0.1", port), backlog=BACKLOG)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._received: dict[socket.socket, bytes] = {}
        self._arrivals: dict[str, list[tuple[str, float]]] = defaultdict(list)
        # how many bytes each was given
        self._dripping: dict[socket.socket, int] = {}
        self._drip_at = time.monotonic()

    def run(self) -> NoReturn:
        while True:
            for key, _ in self._selector.select(DRIP_EVERY_SECONDS / 10 if self._dripping else None):
                if key.fileobj is self._listener:
                    self._accept()
                else:
                    self._receive(key.data)
            if time.monotonic() >= self._drip_at:
                self._drip()

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        self._received[connection] = b""
        self._selector.register(connection, selectors.EVENT_READ, connection)

    def _receive(self, connection: socket.socket) -> None:
        try:
            part = connection.recv(READ_BYTES)
        except OSError:
            part = b""
        if not part:
            self._leave(connection)
            return
        self._received[connection] += part
        head, found, body = self._received[connection].partition(b"\r\n\r\n")
        length = _CONTENT_LENGTH.search(head)
        if found and len(body) >= (int(length[1]) if length else 0):
            self._answer(connection, head)

    def _answer(self, connection: socket.socket, head: bytes) -> None:
        request = _REQUEST_LINE.match(head)
        method, path = (request[1], request[2].decode()) if request else (b"", "")
        if method == b"GET":
            self._end(connection, self._told(path))
            return
        webhook_id = _WEBHOOK_ID.search(head)
        self._arrivals[path].append((webhook_id[1].decode() if webhook_id else "", time.monotonic()))
        if path.startswith("/fast/"):
            self._end(connection, _TAKEN)
        elif path.startswith("/drip/"):
            self._dripping[connection] = 0

    def _told(self, path: str) -> bytes:
        told = self._arrivals if path == "/arrivals" else {place: len(came) for place, came in self._arrivals.items()}
        body = orjson.dumps(told)
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(body), body)

    def _drip(self) -> None:
        self._drip_at = time.monotonic() + DRIP_EVERY_SECONDS
        for connection, given in self._dripping.items():
            with suppress(OSError):  # it has gone, which is read soon
                connection.send(_DRIPPED[given : given + 1] or b"-")
            self._dripping[connection] += 1

    def _end(self, connection: socket.socket, answer: bytes) -> None:
        with suppress(OSError):
            connection.sendall(answer)
        self._leave(connection)

    def _leave(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        self._dripping.pop(connection, None)
        del self._received[connection]
        connection.close()


if __name__ == "__main__":
    _Receiver(int(sys.argv[1])).run()
