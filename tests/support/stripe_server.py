"""The part of Stripe's API that the adapter uses, over real HTTP.

A fault of one request, whatever it asks, is put into `faults` before; the payment methods `pm_reset_…` are faults, too.
"""

import contextlib
import hashlib
import hmac
import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support.stripe_books import Answer, Books, Refused, refusal

KEY, WEBHOOK_SECRET = "sk_test_0123456789abcdef", "whsec_0123456789abcdefghij"


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: "Server"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.take("GET", parts.path, dict(parse_qsl(parts.query)))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.take("POST", self.path, dict(parse_qsl(body.decode())))

    def take(self, method: str, path: str, sent: dict[str, str]) -> None:
        books = self.server.books
        books.asked.append((method, path, {name.lower(): value for name, value in self.headers.items()}, sent))
        fault = self.server.faults.popleft() if self.server.faults else ""
        if fault in ("reset", "hang") or sent.get("payment_method") == "pm_reset_before_charge":
            self.end_badly(fault)
            return
        if isinstance(fault, bytes):
            self.wfile.write(fault)
            self.close_connection = True
            return
        with books.lock:
            status, answer = self.answer(method, path, sent)
        if fault == "reset_after" or sent.get("payment_method") == "pm_reset_after_charge":
            self.end_badly(fault)
            return
        self.say(status, json.dumps(answer).encode(), drip=fault == "drip")

    def answer(self, method: str, path: str, sent: dict[str, str]) -> Answer:
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            return refusal(401, "invalid_request_error")
        try:
            if method == "POST":
                return self.posted(path, sent)
            return 200, self.found(path, sent)
        except Refused as refused:
            return refused.answer

    def posted(self, path: str, sent: dict[str, str]) -> Answer:
        books, key = self.server.books, self.headers["Idempotency-Key"]
        make = {"/v1/payment_intents": books.make_intent, "/v1/refunds": books.make_refund}[path]
        return books.once(key, sent, make)

    def found(self, path: str, wanted: dict[str, str]) -> dict[str, Any]:
        match path.split("/")[2:]:
            case ["payment_intents"]:
                return self.server.books.list_intents(wanted)
            case ["refunds"]:
                return self.server.books.list_refunds(wanted)
            case ["payment_intents", identity]:
                return self.server.books.intent(identity)
        raise Refused(404, "invalid_request_error")

    def say(self, status: int, body: bytes, *, drip: bool) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not drip:
            self.wfile.write(body)
            return
        with contextlib.suppress(OSError):
            for byte in body:
                self.wfile.write(bytes([byte]))
                if self.server.stopping.wait(0.2):
                    break
        self.close_connection = True

    def end_badly(self, fault: str) -> None:
        if fault == "hang":
            self.server.stopping.wait(30)
        # no lingering: the other side sees a reset, not an end
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has there
        """Nothing: the tests say what happened."""


class Server(ThreadingHTTPServer):
    """Listens on a free port of loopback."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.books = Books()
        self.faults: deque[str | bytes] = deque()
        self.stopping = threading.Event()

    def begin_anew(self) -> None:
        """With empty books, and nothing that goes wrong."""
        self.books = Books()
        self.faults.clear()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


def signed(body: bytes, *, age_seconds: int = 0, secret: str = WEBHOOK_SECRET) -> dict[str, str]:
    """The headers of an event, as the documentation says they are made."""
    at = int(time.time()) - age_seconds
    signature = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return {"stripe-signature": f"t={at},v1={signature}", "content-type": "application/json"}


def event(kind: str, about: dict[str, Any], identity: str = "evt_1") -> bytes:
    """The body of an event."""
    return json.dumps({"id": identity, "object": "event", "type": kind, "data": {"object": about}}).encode()


@contextlib.contextmanager
def stripe_server() -> Iterator[Server]:
    """Start it; end it and its threads."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        server.shutdown()
        thread.join()
        server.server_close()
