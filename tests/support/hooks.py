"""A server on loopback that takes deliveries. Each test has a place of its own there, and says how it answers."""

import contextlib
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

from tests.support.processes import DEADLINE_SECONDS, wait_until

HANGS_SECONDS_MAX = 60


@dataclass(frozen=True)
class Hook:
    """One request as it came; header names in lower case."""

    body: bytes
    headers: Mapping[str, str]

    @property
    def message(self) -> Any:
        return orjson.loads(self.body)

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


@dataclass
class Place:
    """`url` takes deliveries. `answers(...)` says how from now on; `hangs()` keeps them waiting until `go_on()`."""

    url: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    received: list[Hook] = field(default_factory=list)
    at_once: int = 0
    at_once_max: int = 0
    _goes_on: threading.Event = field(default_factory=threading.Event)
    _counting: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._goes_on.set()

    def answers(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.status, self.body = status, body
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def hangs(self) -> None:
        self._goes_on.clear()

    def go_on(self) -> None:
        self._goes_on.set()

    @property
    def ids(self) -> list[str]:
        return [hook.id for hook in self.received]

    def wait_for(self, count: int, deadline_seconds: float = DEADLINE_SECONDS) -> Sequence[Hook]:
        """At least so many."""
        wait_until(lambda: len(self.received) >= count, f"{count} deliveries", deadline_seconds)
        return self.received

    def take(self, hook: Hook) -> None:
        with self._counting:
            self.received.append(hook)
            self.at_once += 1
            self.at_once_max = max(self.at_once, self.at_once_max)
        self._goes_on.wait(HANGS_SECONDS_MAX)
        with self._counting:
            self.at_once -= 1


class Hooks:
    """`hooks.place()` is one that nobody else uses."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.places: dict[str, Place] = {}

    def place(self) -> Place:
        path = f"/{secrets.token_hex(8)}"
        self.places[path] = Place(f"http://127.0.0.1:{self._port}{path}")
        return self.places[path]


@contextlib.contextmanager
def receiving_hooks() -> Iterator[Hooks]:
    """Listens until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            place = hooks.places[self.path]
            place.take(Hook(body, {name.lower(): value for name, value in self.headers.items()}))
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.send_response(place.status)
                for name, value in {**place.headers, "Content-Length": str(len(place.body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(place.body)

        def log_message(self, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 128

        def handle_error(self, *args: Any) -> None:
            """Whoever was killed has gone."""

    with Server(("127.0.0.1", 0), Handler) as server:
        hooks = Hooks(server.server_port)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield hooks
        finally:
            for place in hooks.places.values():
                place.go_on()
            server.shutdown()
            thread.join(60)
