"""Whatever bytes come back, an attempt ends with one of the outcomes, and raises nothing."""

import socket

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.webhooks.egress.conftest import BODY
from webhooks.egress import Policy
from webhooks.egress.exchange import Exchange
from webhooks.egress.outcome import NoAnswer
from webhooks.egress.policy import Deadline, Limits
from webhooks.egress.urls import parse

TARGET = parse("https://hooks.example.org/", Policy({443}, loopback_allowed=False))
WORDS = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.0 301 \xff\r\n",
        b"Content-Length: 5\r\n",
        b"Content-Length: -5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: upgrade\r\nUpgrade: h2c\r\n",
        b"Retry-After: \xff\r\n",
        b" folded\r\n",
        b"\r\n",
        b"5\r\nhello\r\n",
        b"0\r\n\r\n",
        b"ffffffffffffffffffff\r\n",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS | st.binary(max_size=50), max_size=12))
def test_no_bytes_break_it(pieces):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"".join(pieces))
        theirs.shutdown(socket.SHUT_WR)
        try:
            head, kept = Exchange(TARGET, BODY, {}).run(ours, Deadline(5), Limits())
        except NoAnswer:
            return
        assert 200 <= head.status_code <= 999
        assert len(kept) <= Limits().kept_bytes_max
