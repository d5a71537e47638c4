"""What a single client can make us spend."""

import socket
import threading
import time
from urllib.parse import urlsplit

import pytest
from django.db import Error, connections

from tests.support.web import granian

HEAD = b"POST /v1/holds HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize("path", ["holds", "units"])
def test_a_list_of_many_wrong_items_costs_little(make_sale, path):
    """60,000 zeros: each would have its own fault in the answer, and a second of work."""
    sale = make_sale(1)
    body = b'{"units":[' + b",".join([b"0"] * 60_000) + b"]}"
    began = time.monotonic()
    answer = sale.api.post("/v1/holds" if path == "holds" else f"{sale.path}/units", body)
    assert answer.status_code == 422
    assert len(answer.content) < 10 * len(body), f"{len(answer.content):,} bytes in {time.monotonic() - began:.1f} s"


def test_bodies_of_strangers_that_never_end_do_not_stop_everyone(tenant):
    """A thread that waits for a body serves nobody else: a client without a key gets its answer before that."""
    with granian(workers=1, blocking_threads=4) as web:
        place = urlsplit(web.url)
        slow = [socket.create_connection((place.hostname, place.port), timeout=5) for _ in range(8)]
        try:
            for connection in slow:
                connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab")
            api = web.api(tenant)
            assert api.get("/healthz").status_code == 200  # SocketApi gives up after 20 s
        finally:
            for connection in slow:
                connection.close()


def test_a_database_that_accepts_and_says_nothing_is_away_soon(database_name):
    """A network that swallows packets: connect_timeout is not set, so a thread waits for minutes and not for 503."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(5)
        connection = connections["default"].copy()
        connection.settings_dict = {
            **connection.settings_dict,
            "HOST": "127.0.0.1",
            "PORT": str(silent.getsockname()[1]),
        }
        ended = threading.Event()

        def connect():
            try:
                connection.ensure_connection()
            except Error:
                ended.set()

        thread = threading.Thread(target=connect, daemon=True)
        thread.start()
        soon = ended.wait(60)
    thread.join(5)  # the closed listener ends it
    assert soon
