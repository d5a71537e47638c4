"""A body that can't be read as it was announced is not a body that was left out."""

import socket
from typing import Any

import pytest

from tests.contract import expect
from tests.contract.sale import Sale

HEAD = "{call} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n"
HEAD += "Content-Type: application/json\r\n{framing}\r\n"
UNREADABLE = {
    "no chunk at all": ("chunked", b"zz\r\n"),
    "an empty body": ("chunked", b"0\r\n\r\n"),
    "no second chunk": ("chunked", b'5\r\n{"rea\r\nzz\r\n'),
    "compressed": ("gzip, chunked", b"2\r\n{}\r\n0\r\n\r\n"),
    "chunks of chunks": ("chunked, chunked", b"2\r\n{}\r\n0\r\n\r\n"),
}
WITHOUT_A_BODY = ["release", "extend"]


def status_of(web: Any, sale: Sale, call: str, framing: str, sent: bytes) -> int:
    """What a raw request is answered with."""
    place = web.api(None).place
    with socket.create_connection((place.hostname, place.port), timeout=60) as connection:
        connection.sendall(HEAD.format(call=call, key=sale.tenant.key, framing=framing).encode() + sent)
        return int(connection.recv(65_536).split()[1])


@pytest.mark.parametrize("call", WITHOUT_A_BODY)
@pytest.mark.parametrize("name", UNREADABLE)
def test_a_body_that_can_not_be_read_changes_nothing(web: Any, sale: Sale, call: str, name: str) -> None:
    coding, sent = UNREADABLE[name]
    hold = sale.hold(quantity=1)
    path = f"/v1/holds/{hold['id']}"
    assert status_of(web, sale, f"POST {path}/{call}", f"Transfer-Encoding: {coding}\r\n", sent) == 400
    now = expect.body(sale.api.get(path))
    assert (now["status"], now["extensions_left"]) == ("active", hold["extensions_left"])


@pytest.mark.parametrize("call", WITHOUT_A_BODY)
@pytest.mark.parametrize("framing", ["", "Content-Length: 0\r\n", "Content-Length: 00\r\n"])
def test_a_body_of_no_length_is_none_however_that_is_written(web: Any, sale: Sale, call: str, framing: str) -> None:
    hold = sale.hold(quantity=1)
    assert status_of(web, sale, f"POST /v1/holds/{hold['id']}/{call}", framing, b"") == 200
    assert status_of(web, sale, "POST /v1/holds", framing, b"") == 400


def test_chunks_that_can_be_read_are_a_body_like_any_other(web: Any, sale: Sale) -> None:
    hold = sale.hold(quantity=1)
    path = f"/v1/holds/{hold['id']}"
    sent = b'8\r\n{"reason\r\n9\r\n": "late"\r\n1\r\n}\r\n0\r\n\r\n'
    assert status_of(web, sale, f"POST {path}/release", "Transfer-Encoding: Chunked\r\n", sent) == 200
    assert expect.body(sale.api.get(path))["status"] == "released"
