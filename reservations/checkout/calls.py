"""Calls to a provider over HTTP that end in time, whatever the other side does. While one waits, others work.

The usual time-outs count anew with every byte, so that a server which sends one now and then keeps its caller for
hours. Here a deadline bounds the whole call, from connecting to the last byte.
Connections are kept open and shared by all threads. There are no retries, no redirects, no proxies from the environment
and no encodings.
"""

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connections
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection
from urllib3.exceptions import HTTPError

from holdfast.kernel.permits import WORK

CONNECTIONS_KEPT_MAX = 64
SERVERS_MAX = 16


class NoAnswer(Exception):
    """No answer came that can be read: whether the request took effect is not known."""


class CallInTransaction(RuntimeError):
    """A fault of ours: a transaction, and with it locked rows, would have waited for somebody else's server."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    status: int
    body: bytes


def call(  # noqa: PLR0913 - what a request is made of
    method: str,
    url: str,
    *,
    deadline_seconds: float,
    answer_bytes_max: int,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
) -> Answer:
    """Send one request and read its answer. Raises NoAnswer, and CallInTransaction."""
    for connection in connections.all(initialized_only=True):
        if connection.in_atomic_block:
            raise CallInTransaction(f"{method} {url} inside a transaction on {connection.alias}")
    if not url.startswith(("http://", "https://")):
        raise NoAnswer(f"{url!r} is no address")
    _this_thread.ends_at = time.monotonic() + deadline_seconds
    try:
        with WORK.given_back():
            response = _servers.request(
                method,
                url,
                body=body,
                headers={**(headers or {}), "Accept-Encoding": "identity"},
                timeout=deadline_seconds,
                retries=False,
                redirect=False,
                preload_content=False,
                decode_content=False,
            )
            return Answer(response.status, _read(response, answer_bytes_max))
    # ValueError: a number or a name in the answer's head that is none
    except (HTTPError, http.client.HTTPException, OSError, ValueError) as error:
        raise NoAnswer(f"{method} {url}: {type(error).__name__}") from error


def _read(response: BaseHTTPResponse, bytes_max: int) -> bytes:
    try:
        body = response.read(bytes_max)
        # also finds an answer that was cut off
        is_whole = not response.read(1)
    finally:
        # read to its end, its connection is back among those that are kept; else nobody may have it
        response.close()
    if not is_whole:
        raise NoAnswer(f"more than {bytes_max} bytes")
    return body


class _Call(threading.local):
    """When the call of this thread must be over, by the monotonic clock."""

    ends_at: float = 0.0


_this_thread = _Call()


def _time_left() -> float:
    left = _this_thread.ends_at - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class _TimedSocket(socket.socket):
    """Waits for each byte no longer than the call of the thread that uses it may take."""

    def recv_into(self, *args: Any) -> int:
        self.settimeout(_time_left())
        return super().recv_into(*args)

    def sendall(self, *args: Any) -> None:
        self.settimeout(_time_left())
        super().sendall(*args)


class _TimedTlsSocket(ssl.SSLSocket):
    """The same over TLS, which puts a socket of its own in place of ours."""

    def recv_into(self, *args: Any) -> int:
        self.settimeout(_time_left())
        return super().recv_into(*args)

    def send(self, *args: Any) -> int:
        self.settimeout(_time_left())
        return super().send(*args)


class _TimedConnection(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return _TimedSocket(fileno=super()._new_conn().detach())


class _TimedPool(HTTPConnectionPool):
    ConnectionCls = _TimedConnection


def _shared_connections() -> PoolManager:
    tls = ssl.create_default_context()
    tls.sslsocket_class = _TimedTlsSocket
    manager = PoolManager(SERVERS_MAX, maxsize=CONNECTIONS_KEPT_MAX, ssl_context=tls)
    manager.pool_classes_by_scheme = {"http": _TimedPool, "https": HTTPSConnectionPool}
    return manager


_servers = _shared_connections()
