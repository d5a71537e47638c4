"""HTTP: one connection's requests, and the faults that a charge's method asks for."""

import os
import select
import socket
import sqlite3
import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, urlsplit

import orjson

from holdfast.mock_psp.methods import NEVER_SECONDS, Fault, method_of
from holdfast.mock_psp.requests import Refused, read_charge, read_filter, read_refund

if TYPE_CHECKING:
    from holdfast.mock_psp.server import MockServer

BODY_BYTES_MAX = 64 * 1024
# between two requests, and for the rest of one that has begun
IDLE_SECONDS = 75.0


class Handler(BaseHTTPRequestHandler):
    """`http.server` calls the methods by their names."""

    protocol_version = "HTTP/1.1"
    server_version = "mock-psp"
    timeout = IDLE_SECONDS
    # head and body leave together, at once
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answered(self._get)

    def do_POST(self) -> None:
        self._answered(self._post)

    def log_message(self, *args: Any) -> None:
        """Nobody reads it; HoldFast's own log has each call."""

    def _answered(self, handle: Any) -> None:
        try:
            handle()
        except Refused as refused:
            self._say(refused.status, {"error": {"code": refused.code, "detail": str(refused)}})

    def _get(self) -> None:
        address = urlsplit(self.path)
        query = parse_qs(address.query, keep_blank_values=True)
        match address.path.split("/")[1:]:
            case ["healthz"]:
                self._say(HTTPStatus.OK, {"status": "ok"})
            case ["charges"]:
                chosen = read_filter(query)
                rows = self._ledger.charges(chosen)
                following = rows[-1]["number"] if len(rows) == chosen.limit else None
                self._say(HTTPStatus.OK, {"data": [_charge(row) for row in rows], "next": following})
            case ["charges", charge_id]:
                charge = self._ledger.charge_by_id(charge_id)
                if charge is None:
                    raise Refused(HTTPStatus.NOT_FOUND, "unknown_charge", charge_id)
                self._say(HTTPStatus.OK, _charge(charge))
            case ["refunds"]:
                rows = self._ledger.refunds_of(query.get("charge", [""])[-1])
                self._say(HTTPStatus.OK, {"data": [_refund(row) for row in rows], "next": None})
            case _:
                raise Refused(HTTPStatus.NOT_FOUND, "not_found", address.path)

    def _post(self) -> None:
        body = self._body()
        key = self.headers.get("Idempotency-Key")
        match self.path:
            case "/charges":
                self._charge(body, key)
            case "/refunds":
                refund = self._ledger.refund(read_refund(body, key))
                self._ledger.deliveries.wake()
                self._say(HTTPStatus.CREATED, _refund(refund))
            case _:
                raise Refused(HTTPStatus.NOT_FOUND, "not_found", self.path)

    def _charge(self, body: bytes, key: str | None) -> None:
        order = read_charge(body, key)
        method = method_of(order.method)
        if method.before is not None:
            self._fail(method.before)
            return
        charge = self._ledger.charge(order, method)
        self._ledger.deliveries.wake()
        if method.after is not None:
            self._fail(method.after)
        elif not self._caller_left_within(method.answer_after_seconds):
            self._say(HTTPStatus.CREATED, _charge(charge))

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()):
            self.close_connection = True
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "length_required", "Content-Length")
        if len(length) > len(str(BODY_BYTES_MAX)) or int(length) > BODY_BYTES_MAX:
            self.close_connection = True
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", f"at most {BODY_BYTES_MAX} bytes")
        return self.rfile.read(int(length))

    def _fail(self, fault: Fault) -> None:
        match fault:
            case Fault.ERROR:
                self._say(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": {"code": "internal", "detail": "on request"}})
            case Fault.SILENCE:
                self._caller_left_within(NEVER_SECONDS)
                self.close_connection = True
            case Fault.RESET:
                self._reset()

    def _caller_left_within(self, seconds: float) -> bool:
        """Wait, but no longer than somebody waits for the answer."""
        left = bool(seconds and select.select([self.connection], [], [], seconds)[0])
        self.close_connection = self.close_connection or left
        return left

    def _reset(self) -> None:
        """Close so that the kernel sends a reset in place of an orderly end."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())

    def _say(self, status: HTTPStatus, what: Mapping[str, Any]) -> None:
        body = orjson.dumps(what)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    @property
    def _ledger(self) -> Any:
        return cast("MockServer", self.server).ledger


_CHARGE = ("id", "merchant", "amount", "currency", "status", "refunded", "decline_code")
_REFUND = ("id", "charge", "merchant", "amount", "currency", "status", "failure_code")


def _charge(row: sqlite3.Row) -> Mapping[str, Any]:
    return _shown(row, _CHARGE) | {"reference": row["key"]}


def _refund(row: sqlite3.Row) -> Mapping[str, Any]:
    return _shown(row, _REFUND) | {"key": row["key"]}


def _shown(row: sqlite3.Row, names: Sequence[str]) -> dict[str, Any]:
    made = datetime.fromtimestamp(row["created_at"] / 1_000_000, UTC)
    return {name: row[name] for name in names} | {"created_at": made.isoformat()}
