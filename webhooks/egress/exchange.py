"""One request over a connection, and its answer.

By h11, which knows HTTP and no socket: how long is waited for each byte, and how many are read, is what the loop here
says. http.client and urllib3 read for themselves, heads above all, and would have to be given sockets that know the
time. Nothing is decoded: what is kept of a body is its bytes.
"""

import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from socket import socket

import h11

from webhooks.egress.outcome import NoAnswer, Outcome
from webhooks.egress.policy import Deadline, Limits
from webhooks.egress.urls import Target

READ_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Head:
    """`retry_after` is the header as it came, empty where there is none."""

    status_code: int
    retry_after: str


class Exchange:
    """A request, ready to be sent once. Raises h11.LocalProtocolError or ValueError for headers that are none."""

    def __init__(self, target: Target, body: bytes, headers: Mapping[str, str]) -> None:
        ours = {
            "Host": target.authority,
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            "Connection": "close",
            "Content-Length": str(len(body)),
        }
        self._http = h11.Connection(h11.CLIENT)
        request = h11.Request(method="POST", target=target.path, headers=[*ours.items(), *headers.items()])
        events = (request, h11.Data(data=body), h11.EndOfMessage())
        self._bytes = b"".join(self._http.send(event) or b"" for event in events)
        self._head: Head | None = None
        self._kept = b""

    def run(self, connected: socket, deadline: Deadline, limits: Limits) -> tuple[Head, bytes]:
        """The answer's head, and the beginning of its body. Raises NoAnswer.

        Once the head is there it is the answer: a body that drips, has no end or breaks off is left at that.
        """
        try:
            self._send(connected, deadline.left(limits.idle_seconds))
            self._read(connected, deadline, limits)
        except (OSError, h11.RemoteProtocolError) as error:
            if self._head is None:
                raise NoAnswer(_outcome_of(error)) from error
        if self._head is None:
            raise NoAnswer(Outcome.PROTOCOL_ERROR)
        return self._head, self._kept

    def _send(self, connected: socket, timeout: float) -> None:
        connected.settimeout(timeout)
        try:
            connected.sendall(self._bytes)
        except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
            # whoever refuses without reading all of it may have said so before it closed: read on
            return

    def _read(self, connected: socket, deadline: Deadline, limits: Limits) -> None:
        bytes_left = limits.answer_bytes_max
        while bytes_left > 0:
            connected.settimeout(deadline.left(limits.idle_seconds))
            received = connected.recv(min(READ_BYTES, bytes_left))
            if not received and self._head is None:
                raise ConnectionResetError
            bytes_left -= len(received)
            self._http.receive_data(received)
            for event in self._events():
                match event:
                    case h11.Response():
                        self._head = _head(event)
                    case h11.Data():
                        self._kept += bytes(event.data[: limits.kept_bytes_max - len(self._kept)])
                    case h11.EndOfMessage():
                        return

    def _events(self) -> Iterator[object]:
        """What the bytes that came so far say."""
        while (event := self._http.next_event()) is not h11.NEED_DATA:
            yield event


def _head(response: h11.Response) -> Head:
    retry_after = dict(response.headers).get(b"retry-after", b"")
    return Head(response.status_code, retry_after.decode("latin-1"))


def _outcome_of(error: Exception) -> Outcome:
    match error:
        case TimeoutError():
            return Outcome.TIMED_OUT
        case h11.RemoteProtocolError():
            return Outcome.PROTOCOL_ERROR
        case ssl.SSLError():
            return Outcome.TLS_FAILED
        case _:
            return Outcome.RESET
