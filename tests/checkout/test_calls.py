"""However slowly and whatever the other side sends: the call ends in time, and says no more than it knows."""

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reservations.checkout.calls import CallInTransaction, NoAnswer, call
from reservations.checkout.mock import MockProvider
from reservations.checkout.provider import Charge, ChargeOrder, ChargeOutcome
from tenants.scope import tenant_transaction
from tests.support.scripted import scripted_server

ORDER = ChargeOrder("hf-1", 2500, "EUR", "tok_ok", "http://127.0.0.1:9/")


@pytest.fixture(scope="module")
def scripted():
    with scripted_server() as server:
        yield server


@pytest.fixture
def provider(scripted):
    return MockProvider(scripted.url, "account", deadline_seconds=2)


def ask(scripted, deadline_seconds=0.4, answer_bytes_max=1000):
    return call("GET", scripted.url, deadline_seconds=deadline_seconds, answer_bytes_max=answer_bytes_max)


@pytest.mark.parametrize(
    "before",
    [b"", b"HTTP/1.1 200 OK\r\nX-Long: ", b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"],
    ids=["status line", "header", "body"],
)
def test_a_drip_of_bytes_ends_with_the_deadline(scripted, before):
    scripted.says(before or b"H", *[b"x"] * 300, pause_seconds=0.05)
    began = time.monotonic()
    with pytest.raises(NoAnswer):
        ask(scripted)
    assert 0.3 < time.monotonic() - began < 10


def test_a_drip_of_interim_answers_and_of_chunks_ends_with_the_deadline(scripted):
    for piece in (b"HTTP/1.1 100 Continue\r\n\r\n", b"1\r\nx\r\n"):
        first = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" if piece.startswith(b"1") else piece
        scripted.says(first, *[piece] * 300, pause_seconds=0.05)
        began = time.monotonic()
        with pytest.raises(NoAnswer):
            ask(scripted)
        assert time.monotonic() - began < 10


def test_the_next_call_on_a_kept_connection_has_its_own_time(psp):
    for _ in range(3):
        assert call("GET", f"{psp.url}/healthz", deadline_seconds=5, answer_bytes_max=100).status == 200
    slow = MockProvider(psp.url, "account", deadline_seconds=5)
    order = ChargeOrder("hf-slow-and-kept", 1, "EUR", "tok_slow_400", "http://127.0.0.1:9/")
    assert slow.charge(order).outcome == ChargeOutcome.SUCCEEDED


@pytest.mark.parametrize("length", [b"Content-Length: 1001", b"Transfer-Encoding: chunked"])
def test_an_answer_that_is_too_long_is_none(scripted, length):
    chunk = b"" if length.startswith(b"C") else b"3e9\r\n"
    scripted.says(b"HTTP/1.1 200 OK\r\n" + length + b"\r\n\r\n" + chunk + b"x" * 1001 + b"\r\n0\r\n\r\n")
    with pytest.raises(NoAnswer):
        ask(scripted)


GARBAGE = [
    b"",
    b"\x00" * 100,
    b"SSH-2.0-OpenSSH\r\n",
    b"HTTP/1.1\r\n\r\n",
    b"HTTP/1.1 abc\r\n\r\n",
    b"HTTP/1.1 99999 X\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n",
    b"HTTP/1.1 200 OK\r\nA: " + b"x" * 100_000 + b"\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nx",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
]


@pytest.mark.parametrize("said", GARBAGE)
def test_what_is_no_http_is_no_answer(scripted, said):
    scripted.says(said)
    with pytest.raises(NoAnswer):
        ask(scripted, deadline_seconds=2)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.booleans())
def test_no_bytes_are_more_than_no_answer(scripted, noise, starts_well):
    scripted.says(b"HTTP/1.1 200 OK\r\n" * starts_well + noise)
    with contextlib.suppress(NoAnswer):
        ask(scripted, deadline_seconds=2)


@pytest.mark.parametrize(
    "url", ["", "/charges", "http://", "http://[::1", "ftp://127.0.0.1/", "http://127.0.0.1:99999"]
)
def test_an_address_that_is_none_is_no_answer(url):
    with pytest.raises(NoAnswer):
        call("GET", url, deadline_seconds=1, answer_bytes_max=10)


def test_a_redirect_is_not_followed(scripted):
    scripted.says(
        b"HTTP/1.1 307 X\r\nLocation: %b/other\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        % scripted.url.encode()
    )
    before = scripted.connections
    assert ask(scripted).status == 307
    assert scripted.connections == before + 1


def test_a_proxy_of_the_environment_is_not_asked(scripted, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    scripted.answers(200, {})
    assert ask(scripted).status == 200


def test_a_failure_is_not_tried_again(scripted, provider):
    scripted.says(b"")
    before = scripted.connections
    assert provider.charge(ORDER) == Charge(ChargeOutcome.UNKNOWN)
    assert scripted.connections == before + 1


def test_nobody_is_called_inside_a_transaction(scripted, provider, tenant):
    before = scripted.connections
    with tenant_transaction(tenant.id), pytest.raises(CallInTransaction):
        provider.charge(ORDER)
    assert scripted.connections == before
