"""A receiver of HoldFast's webhooks, with nothing but Python's standard library:

    WEBHOOK_SECRET=whsec_… python docs/examples/receiver.py 9000 inbox.db

It does what a receiver should: check the signature of the bytes that came, keep each message once, let no old news
undo newer, answer at once. The work that a message causes is for another program, which reads the inbox.
"""

import base64
import hmac
import json
import os
import sqlite3
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOLERANCE_SECONDS = 5 * 60
BODY_BYTES_MAX = 1024 * 1024


class Unsigned(Exception):
    """Whoever sent this does not know the secret, or it is an old recording."""


def verify(body: bytes, headers: Message, secret: str, now: float) -> str:
    """The message's id, where it was signed with the secret within the last minutes. Raises Unsigned."""
    message_id, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (at.isascii() and at.isdecimal() and len(at) <= len("9999999999")):
        raise Unsigned("no time")
    if abs(now - int(at)) > TOLERANCE_SECONDS:
        raise Unsigned("too old, or our clock is wrong")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    wanted = b"v1," + base64.b64encode(hmac.digest(key, f"{message_id}.{at}.".encode() + body, "sha256"))
    # several while a secret is being replaced; as bytes, for a header may hold anything
    signatures = headers.get("webhook-signature", "").encode().split(b" ")
    if not any(hmac.compare_digest(wanted, signature) for signature in signatures):
        raise Unsigned("no signature by our secret")
    return message_id


class Inbox:
    """Messages, each once, and of each subject the latest. A file, so that what was answered 204 survives a crash."""

    def __init__(self, path: str) -> None:
        self.path = path
        with closing(self._open()) as database:
            database.executescript(
                """
                PRAGMA journal_mode = WAL;
                CREATE TABLE IF NOT EXISTS messages (id TEXT PRIMARY KEY, type TEXT, body TEXT);
                CREATE TABLE IF NOT EXISTS subjects (id TEXT PRIMARY KEY, sequence INTEGER, data TEXT);
                """
            )

    def take(self, message_id: str, message: Mapping[str, Any]) -> bool:
        """False where it was there already. What was not written down raises, and will be sent again."""
        with closing(self._open()) as database, database:
            new = database.execute(
                "INSERT INTO messages VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (message_id, message["type"], json.dumps(message)),
            )
            if not new.rowcount:
                return False
            database.execute(
                """
                INSERT INTO subjects VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE
                SET sequence = excluded.sequence, data = excluded.data WHERE excluded.sequence > subjects.sequence
                """,
                (message["subject"]["id"], message["sequence"], json.dumps(message["data"])),
            )
            return True

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=5)


class Receiver(BaseHTTPRequestHandler):
    """Answers 204 for what is in the inbox, 401 for what nobody we know has signed."""

    inbox: Inbox
    secret: str
    timeout = 10

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        if not (length.isascii() and length.isdecimal() and len(length) <= len(str(BODY_BYTES_MAX))):
            return self._answer(411)
        if int(length) > BODY_BYTES_MAX:
            return self._answer(413)
        body = self.rfile.read(int(length))
        try:
            message_id = verify(body, self.headers, self.secret, time.time())
        except Unsigned:
            return self._answer(401)
        message = json.loads(body)
        is_new = self.inbox.take(message_id, message)
        print(message["type"], message["subject"]["id"], "" if is_new else "(again)", flush=True)
        return self._answer(204)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Requests are not logged: what came is printed."""


def main() -> None:
    port, path = sys.argv[1:]
    Receiver.secret, Receiver.inbox = os.environ["WEBHOOK_SECRET"], Inbox(path)
    with ThreadingHTTPServer(("127.0.0.1", int(port)), Receiver) as server:
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
