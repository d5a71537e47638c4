"""What is sent, to where, and what each answer is called; with real sockets."""

import socket
from http.client import parse_headers
from io import BytesIO

import h11
import pytest

from tests.support.processes import wait_until
from tests.webhooks.egress.conftest import BODY, PATIENT, send
from tests.webhooks.egress.listener import answer
from webhooks.egress import Outcome, Policy, Sender
from webhooks.egress.policy import Limits


def test_the_body_is_sent_as_it_is_with_the_callers_headers_and_few_others(listen):
    listener = listen(answer("204 No Content"))
    sent = send(listener.url + "?a=b%20c", headers={"webhook-id": "1", "user-agent": "HoldFast"})
    assert (sent.outcome, sent.status_code, sent.response) == (Outcome.DELIVERED, 204, b"")
    head, body = listener.requests[0].split(b"\r\n\r\n", 1)
    assert body == BODY
    line, *_ = head.split(b"\r\n")
    assert line == b"POST /hooks?a=b%20c HTTP/1.1"
    headers = {
        name.lower(): value for name, value in parse_headers(BytesIO(head.split(b"\r\n", 1)[1] + b"\r\n\r\n")).items()
    }
    assert headers == {
        "host": f"127.0.0.1:{listener.port}",
        "user-agent": "HoldFast",
        "accept": "*/*",
        "accept-encoding": "identity",
        "connection": "close",
        "content-length": str(len(BODY)),
        "webhook-id": "1",
    }


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("200 OK", Outcome.DELIVERED),
        ("202 Accepted", Outcome.DELIVERED),
        ("299 Odd", Outcome.DELIVERED),
        ("300 Multiple Choices", Outcome.REDIRECTED),
        ("304 Not Modified", Outcome.REDIRECTED),
        ("308 Permanent Redirect", Outcome.REDIRECTED),
        ("400 Bad Request", Outcome.REJECTED),
        ("401 Unauthorized", Outcome.REJECTED),
        ("404 Not Found", Outcome.REJECTED),
        ("410 Gone", Outcome.GONE),
        ("429 Too Many Requests", Outcome.REJECTED),
        ("500 Internal Server Error", Outcome.REJECTED),
        ("503 Service Unavailable", Outcome.REJECTED),
        ("999 Odd", Outcome.REJECTED),
    ],
)
def test_an_answer_is_called_by_its_status(listen, status, outcome):
    sent = send(listen(answer(status)).url)
    assert (sent.outcome, sent.status_code) == (outcome, int(status[:3]))


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes", b"yes"),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.0 200 OK\r\n\r\nold", b"old"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nye\r\n1;ext\r\ns\r\n0\r\nA: b\r\n\r\n", b"yes"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" + answer(body=b"yes"), b"yes"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: \xe9\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbroken", b"broken"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyes\r\nnonsense\r\n", b"yes"),
    ],
)
def test_an_answer_is_read_in_each_form_of_http_1(listen, raw, body):
    sent = send(listen(raw).url)
    assert (sent.outcome, sent.response) == (Outcome.DELIVERED, body)


def test_the_first_4_kib_of_an_answer_are_kept(listen):
    sent = send(listen(answer("500 No", b"a" * 4096 + b"b" * 10_000)).url)
    assert sent.response == b"a" * 4096


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect"])
def test_a_redirect_is_an_answer_and_never_followed(listen, status):
    elsewhere = listen(answer())
    sent = send(listen(answer(status, Location=elsewhere.url)).url)
    assert (sent.outcome, sent.status_code) == (Outcome.REDIRECTED, int(status[:3]))
    assert elsewhere.connections == 0


def test_what_asks_to_wait_is_heard_where_it_counts(listen):
    for status, seconds in (("429 Too Many Requests", 7), ("503 Service Unavailable", 7), ("500 No", None)):
        assert send(listen(answer(status, Retry_After="7")).url).retry_after_seconds == seconds
    assert send(listen(answer("503 Service Unavailable")).url).retry_after_seconds is None
    assert send(listen(answer("503 Service Unavailable", Retry_After="soon")).url).retry_after_seconds is None


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"\x16\x03\x01\x00\x02",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 000 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
    ],
)
def test_what_is_no_http_is_a_protocol_error(listen, raw):
    sent = send(listen(raw).url)
    assert (sent.outcome, sent.status_code, sent.response) == (Outcome.PROTOCOL_ERROR, None, b"")


def reset(connected: socket.socket) -> None:
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


@pytest.mark.parametrize("beginning", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\nContent-Le"])
def test_a_connection_that_ends_before_its_answer_is_reset(listen, beginning):
    assert send(listen(beginning).url).outcome == Outcome.RESET


def test_a_connection_that_is_reset_is_reset(listen):
    assert send(listen(reset).url).outcome == Outcome.RESET


def test_what_is_said_before_the_request_was_read_is_heard(listen):
    def refuse(connected: socket.socket) -> None:
        connected.sendall(answer("413 Content Too Large"))
        connected.shutdown(socket.SHUT_WR)

    sent = send(listen(refuse, reads=False).url, body=b"a" * 8_000_000)
    assert (sent.outcome, sent.status_code) == (Outcome.REJECTED, 413)


def test_where_nobody_listens_there_is_no_connection():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        sent = send(f"http://127.0.0.1:{bound.getsockname()[1]}/")
    assert (sent.outcome, sent.status_code) == (Outcome.CONNECT_FAILED, None)


def test_localhost_is_loopback_of_either_kind(listen):
    for listener in (listen(answer()), listen(answer(), host="::1")):
        assert send(f"http://localhost:{listener.port}/").outcome == Outcome.DELIVERED


def test_in_production_loopback_is_not_sent_to(listen):
    listener = listen(answer())
    production = Sender(Policy({listener.port}, loopback_allowed=False), PATIENT)
    assert production.send(listener.url, BODY, {}).outcome == Outcome.REFUSED_URL
    https = listener.url.replace("http:", "https:")
    assert production.send(https, BODY, {}).outcome == Outcome.REFUSED_ADDRESS
    assert listener.connections == 0


def test_no_proxy_and_no_netrc_comes_into_it(listen, monkeypatch, tmp_path):
    listener, proxy = listen(answer()), listen(answer("500 A proxy"))
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    (tmp_path / ".netrc").write_text("default login ada password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    assert send(listener.url).outcome == Outcome.DELIVERED
    assert proxy.connections == 0
    assert b"authorization" not in listener.requests[0].lower()


@pytest.mark.parametrize("value", ["1\r\nX-Evil: 1", "1\n", "1\0", "\N{SNOWMAN}"])
def test_a_header_that_is_two_is_our_own_fault_and_not_sent(listen, value):
    listener = listen(answer())
    with pytest.raises((h11.LocalProtocolError, ValueError)):
        send(listener.url, headers={"webhook-id": value})
    assert listener.connections == 0


def test_a_url_that_is_two_lines_is_not_sent(listen):
    listener = listen(answer())
    assert send(f"{listener.url}\r\nX-Evil:1").outcome == Outcome.REFUSED_URL
    assert listener.connections == 0


def test_no_connection_is_left_open(listen):
    ended = []
    listener = listen(lambda connected: (connected.sendall(answer()), ended.append(connected.recv(1))))
    for number in range(5):
        send(listener.url)
        wait_until(lambda: len(ended) > number, "the end of the connection")  # noqa: B023 - asked at once
    assert set(ended) == {b""}


def test_how_long_it_took_is_told(listen):
    listener = listen(b"")
    listener.treat = listener.drip([b"", answer()], pause_seconds=0.2)
    assert 200 <= send(listener.url).duration_ms < 1000


def test_the_limits_are_those_that_are_promised():
    assert Sender(Policy({443}, loopback_allowed=False)).limits == Limits(
        resolve_seconds=3,
        connect_seconds=5,
        idle_seconds=10,
        total_seconds=15,
        answer_bytes_max=65_536,
        kept_bytes_max=4096,
    )
