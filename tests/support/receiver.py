"""A small server that takes callbacks as HoldFast would, keeps them, and can be told to refuse."""

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

from tests.support.processes import wait_until


@dataclass(frozen=True)
class Received:
    """One request as it came; header names in lower case."""

    path: str
    body: bytes
    headers: Mapping[str, str]


@dataclass
class Receiver:
    """`url` takes callbacks; `answer` is the status it answers with."""

    url: str
    answer: int = 200
    received: list[Received] = field(default_factory=list)

    def about(self, key: str) -> Sequence[Received]:
        """What came so far about this key."""
        return [one for one in self.received if orjson.loads(one.body)["reference"] == key]

    def wait_for(self, key: str, count: int = 1) -> Sequence[Received]:
        """At least so many."""
        wait_until(lambda: len(self.about(key)) >= count, f"{count} callbacks about {key}")
        return self.about(key)


@contextlib.contextmanager
def receiver(port: int = 0) -> Iterator[Receiver]:
    """Listens on loopback until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiving.received.append(Received(self.path, body, headers))
            self.send_response(receiving.answer)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        receiving = Receiver(f"http://127.0.0.1:{server.server_port}/v1/payments/callbacks/mock/account")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield receiving
        finally:
            server.shutdown()
            thread.join(60)
