"""Nobody keeps us waiting past the deadline, or makes us hold more than a little; whatever they do in the meantime."""

import contextlib
import gzip
import itertools
import socket
import time
import tracemalloc
from collections.abc import Iterator

import pytest

from tests.webhooks.egress.conftest import BUSY_SECONDS, PATIENT, SHORT_CONNECT, SHORT_IDLE, SHORT_TOTAL, send
from tests.webhooks.egress.listener import full_server
from webhooks.egress import Outcome

MEMORY_BYTES_MAX = 1_000_000
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert seconds <= time.monotonic() - began < seconds + BUSY_SECONDS


@contextlib.contextmanager
def in_little_memory() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MEMORY_BYTES_MAX
    finally:
        tracemalloc.stop()


def test_a_silent_server_is_left_when_it_has_said_nothing_for_long(listen):
    listener = listen(b"")
    listener.treat = listener.keep_waiting
    with within(SHORT_IDLE.idle_seconds):
        sent = send(listener.url, limits=SHORT_IDLE)
    assert (sent.outcome, sent.status_code) == (Outcome.TIMED_OUT, None)
    assert 1000 * SHORT_IDLE.idle_seconds <= sent.duration_ms < 1000 * BUSY_SECONDS


@pytest.mark.parametrize(
    "pieces",
    [
        [bytes([byte]) for byte in HEAD * 10],
        [b"HTTP/1.1 200 OK\r\n", *([b"X: y\r\n"] * 1000)],
        [b"HTTP/1.1 100 Continue\r\n\r\n"] * 1000,
    ],
    ids=["bytes", "headers", "interim answers"],
)
def test_a_head_that_drips_is_cut_off(listen, pieces):
    listener = listen(b"")
    listener.treat = listener.drip(pieces)
    with within(SHORT_TOTAL.total_seconds):
        sent = send(listener.url, limits=SHORT_TOTAL)
    assert (sent.outcome, sent.status_code) == (Outcome.TIMED_OUT, None)
    assert sent.duration_ms >= 1000 * SHORT_TOTAL.total_seconds


@pytest.mark.parametrize("head", [HEAD + b"\r\n", HEAD + b"Content-Length: 1000\r\n\r\n"])
def test_a_body_that_drips_is_cut_off_and_the_status_holds(listen, head):
    listener = listen(b"")
    listener.treat = listener.drip([head, *([b"a"] * 1000)])
    with within(SHORT_TOTAL.total_seconds):
        sent = send(listener.url, limits=SHORT_TOTAL)
    assert (sent.outcome, sent.status_code) == (Outcome.DELIVERED, 200)
    assert 0 < len(sent.response) < 100


def test_a_server_that_reads_nothing_is_left(listen):
    listener = listen(b"", reads=False)
    listener.treat = lambda _: listener.stopped.wait(60)
    with within(SHORT_TOTAL.total_seconds):
        assert send(listener.url, body=b"a" * 8_000_000, limits=SHORT_TOTAL).outcome == Outcome.TIMED_OUT


def test_a_server_that_takes_no_connection_is_left():
    with full_server("127.0.0.1") as port, within(SHORT_CONNECT.connect_seconds):
        sent = send(f"http://127.0.0.1:{port}/", limits=SHORT_CONNECT)
    assert sent.outcome == Outcome.TIMED_OUT
    assert 1000 * SHORT_CONNECT.connect_seconds <= sent.duration_ms < 1000 * BUSY_SECONDS


def endless(head: bytes, piece: bytes):
    def treat(connected: socket.socket) -> None:
        connected.sendall(head)
        for _ in itertools.count():
            connected.sendall(piece)

    return treat


@pytest.mark.parametrize(
    ("treat", "outcome"),
    [
        (endless(HEAD + b"\r\n", b"a" * 10_000), Outcome.DELIVERED),
        (endless(CHUNKED, b"3e8\r\n" + b"a" * 1000 + b"\r\n"), Outcome.DELIVERED),
        (endless(CHUNKED + b"1;", b"a" * 1000), Outcome.DELIVERED),
        (endless(CHUNKED + b"0\r\n", b"X: y\r\n" * 100), Outcome.DELIVERED),
        (endless(CHUNKED, b"1\r\na\r\n" * 100), Outcome.DELIVERED),
        (endless(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 100), Outcome.PROTOCOL_ERROR),
        (endless(b"HTTP/1.1 ", b"2" * 1000), Outcome.PROTOCOL_ERROR),
        (endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 10), Outcome.PROTOCOL_ERROR),
    ],
    ids=["body", "chunks", "chunk extension", "trailers", "tiny chunks", "headers", "status line", "interim answers"],
)
def test_what_has_no_end_is_left_after_64_kib_in_little_memory(listen, treat, outcome):
    listener = listen(treat)
    with within(0), in_little_memory():
        sent = send(listener.url)
    assert sent.outcome == outcome
    assert len(sent.response) <= PATIENT.kept_bytes_max


def test_a_gzip_bomb_is_so_many_bytes(listen):
    bomb = gzip.compress(b"\0" * 50_000_000)
    listener = listen(HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb) + bomb)
    with in_little_memory():
        sent = send(listener.url)
    assert (sent.outcome, sent.response) == (Outcome.DELIVERED, bomb[: PATIENT.kept_bytes_max])
