"""The mock provider over plain HTTP: what it refuses, and that nobody keeps it from the others."""

import contextlib
import http.client
import json
import socket

import pytest

from holdfast.mock_psp.handler import BODY_BYTES_MAX
from holdfast.mock_psp.server import CONNECTIONS_MAX
from reservations.checkout.provider import ChargeOrder, RefundOrder
from tests.support.processes import wait_until
from tests.support.psp import mock_psp

NOWHERE = "http://127.0.0.1:9/callbacks"
GOOD = {"merchant": "account", "amount": 100, "currency": "EUR", "method": "tok_no_callback", "callback_url": NOWHERE}


@pytest.fixture
def line(psp):
    """One connection that stays open."""
    connection = http.client.HTTPConnection("127.0.0.1", psp.port, timeout=60)
    yield connection
    connection.close()


def ask(line, method, path, body=None, **headers):
    line.request(method, path, body if body is None or isinstance(body, bytes) else json.dumps(body), headers)
    answer = line.getresponse()
    return answer.status, json.loads(answer.read())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("amount", value) for value in (None, "100", 1.0, True, 0, -1, 2**62 + 1, [])],
        *[("currency", value) for value in (None, "eur", "EURO", 978)],
        *[("method", value) for value in (None, "", 1, "tok ok", "x" * 256)],
        *[("merchant", value) for value in (None, "", "a b", "x" * 101)],
        *[("callback_url", value) for value in (None, "", "ftp://x", "http://x y", 1)],
    ],
)
def test_a_charge_of_another_form_is_refused_and_not_made(psp, line, key, name, value):
    status, said = ask(line, "POST", "/charges", GOOD | {name: value}, **{"Idempotency-Key": key})
    assert (status, said["error"]) == (422, {"code": "invalid", "detail": name})
    assert psp.charges(key) == []


@pytest.mark.parametrize("bad", [None, "", "a b", "x" * 101])
def test_a_charge_needs_a_key(line, bad):
    headers = {} if bad is None else {"Idempotency-Key": bad}
    assert ask(line, "POST", "/charges", GOOD, **headers)[0] == 422


def test_what_is_no_json_object_is_refused(line, key):
    for body in (b"", b"{", b"[]", b"null", b"\xff", b"[" * 5000):
        assert ask(line, "POST", "/charges", body, **{"Idempotency-Key": key})[0] == 400


def test_a_body_has_a_length_and_a_bound(psp, line):
    assert ask(line, "POST", "/charges", b"x" * (BODY_BYTES_MAX + 1))[0] == 413
    with socket.create_connection(("127.0.0.1", psp.port), timeout=60) as connected:
        connected.sendall(b"POST /charges HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b" 411 " in connected.recv(65536)


def test_the_same_charge_again_is_the_same_answer_and_another_a_conflict(line, key):
    first = ask(line, "POST", "/charges", GOOD, **{"Idempotency-Key": key})
    assert first[0] == 201
    assert ask(line, "POST", "/charges", GOOD, **{"Idempotency-Key": key}) == first
    for name, value in (("amount", 101), ("currency", "USD"), ("method", "tok_ok")):
        status, said = ask(line, "POST", "/charges", GOOD | {name: value}, **{"Idempotency-Key": key})
        assert (status, said["error"]["code"]) == (409, "key_reused")


def test_everything_can_be_read(line, provider, account, key):
    charge = provider.charge(ChargeOrder(key, 100, "EUR", "tok_no_callback", NOWHERE))
    refund = provider.refund(RefundOrder(f"{key}-back", charge.reference, 40, "EUR", NOWHERE))

    status, shown = ask(line, "GET", f"/charges/{charge.reference}")
    assert (status, shown["reference"], shown["merchant"], shown["refunded"]) == (200, key, account, 40)
    assert ask(line, "GET", f"/charges?reference={key}") == (200, {"data": [shown], "next": None})
    (listed,) = ask(line, "GET", f"/refunds?charge={charge.reference}")[1]["data"]
    assert (listed["id"], listed["amount"], listed["status"]) == (refund.reference, 40, "succeeded")
    assert ask(line, "GET", "/refunds?charge=none")[1]["data"] == []
    assert ask(line, "GET", "/charges?reference=none")[1]["data"] == []
    assert ask(line, "GET", "/charges/none")[0] == 404
    assert ask(line, "GET", "/nothing")[0] == 404
    assert ask(line, "POST", "/nothing", {})[0] == 404
    assert ask(line, "GET", "/healthz") == (200, {"status": "ok"})


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=501",
        "limit=x",
        "after=-1",
        "created_from=yesterday",
        "created_to=2026-01-01T00:00:00",
    ],
)
def test_a_filter_of_another_form_is_refused(line, query):
    assert ask(line, "GET", f"/charges?{query}")[0] == 422


def test_connections_past_the_bound_are_closed_and_the_others_served(tmp_path):
    with mock_psp(tmp_path) as psp, contextlib.ExitStack() as lines:
        address = ("127.0.0.1", psp.port)
        held = [lines.enter_context(socket.create_connection(address, timeout=60)) for _ in range(CONNECTIONS_MAX)]
        held[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b" 200 " in held[-1].recv(65536)
        with socket.create_connection(address, timeout=60) as one_more:
            assert one_more.recv(1) == b""
        held[0].close()
        wait_until(lambda: answers(address), "a place")


def answers(address):
    with socket.create_connection(address, timeout=60) as connected, contextlib.suppress(OSError):
        connected.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        return b" 200 " in connected.recv(65536)
    return False
