"""The web server as a program to supervise: its command line, its port, and when it is ready."""

import errno
import http
import http.client
import socket
import sys
from contextlib import closing
from dataclasses import dataclass

from holdfast.embedded.errors import BadSetting, Refusal
from holdfast.embedded.supervisor import Program

APPLICATION = "holdfast.wsgi:application"
# Nearly all of them only ever wait for payment providers: few are at work at once (settings.WEB_PERMITS).
BLOCKING_THREADS = 128
# Connections a process accepts at once; the others wait in the listen queue. A waiting connection costs some memory and
# no thread, so it is far above the clients of a rush, who each keep theirs open.
CONNECTIONS_MAX = 2048
# When the server stops, a connection between two requests is closed at once; one in the middle of a request gets this
# long, which is what the longest statement may take, and the supervisor waits longer. granian's time limit for a
# request's head is no way to a shorter end: it also closes connections that wait for their next request.
WORKER_KILL_SECONDS = 5
# /readyz asks twice for a Redis that may be away, a second each
ANSWER_WITHIN_SECONDS = 5.0


@dataclass(frozen=True)
class Address:
    """Where the server listens."""

    host: str
    port: int

    @property
    def local_host(self) -> str:
        """A host that reaches the server from this machine: "every address" is not one."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - compared, not bound

    @property
    def url(self) -> str:
        """The server's address on this machine."""
        host = self.local_host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def web_program(address: Address, workers: int) -> Program:
    """Run granian with synchronous workers."""
    options = {
        "--interface": "wsgi",
        "--host": address.host,
        "--port": str(address.port),
        "--http": "1",
        "--workers": str(workers),
        "--blocking-threads": str(BLOCKING_THREADS),
        "--backpressure": str(CONNECTIONS_MAX),
        "--backlog": str(CONNECTIONS_MAX),
        "--workers-kill-timeout": str(WORKER_KILL_SECONDS),
        "--log-level": "error",  # it warns of many threads, which are as they shall be
    }
    words = [word for option in options.items() for word in option]
    flags = ["--no-ws", "--respawn-failed-workers"]
    return Program("web", [sys.executable, "-m", "granian", *words, *flags, APPLICATION])


def reserve(host: str, port: int) -> socket.socket:
    """Take the port, or one that is free for port 0; keep the socket open while the server runs.

    granian's workers share the port among themselves, and would silently share it with another HoldFast, too. So look
    first without sharing, then stay bound: the next one's look fails. A socket that doesn't listen gets no connection.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            port = probe.getsockname()[1]
        held = socket.socket(family, socket.SOCK_STREAM)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind((host, port))
    except socket.gaierror as error:
        raise BadSetting("HOLDFAST_HOST", f"is {host!r}: {error.strerror}") from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise BadSetting(f"port {port}", "is in use: choose another with --port or HOLDFAST_PORT") from error
        raise BadSetting("HOLDFAST_HOST", f"can't listen on {host} port {port}: {error.strerror}") from error
    return held


def answers(address: Address, path: str = "/readyz") -> bool:
    """Whether the server says that it and all it needs are ready."""
    status, _ = _get(address, path)
    return status == http.HTTPStatus.OK


def lacks_only_redis(address: Address) -> bool:
    """Whether the server could serve, and lacks nothing but Redis, and therefore workers."""
    status, lines = _get(address, "/readyz")
    failing = {line.partition(":")[0] for line in lines if line.endswith(": failing")}
    return status is not None and "redis" in failing and failing <= {"redis", "workers"}


def not_ready_reason(address: Address, path: str = "/readyz", name: str = "web server") -> Refusal:
    """What the server says about itself, for the person who waited."""
    status, _ = _get(address, path)
    said = "does not answer" if status is None else f"answers {status} on {address.url}{path}"
    return Refusal(f"the {name} {said}: the reason is above")


def _get(address: Address, path: str) -> tuple[int | None, list[str]]:
    """The status and the lines of an answer; None and no lines where there is none."""
    connection = http.client.HTTPConnection(address.local_host, address.port, timeout=ANSWER_WITHIN_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace").splitlines()
    except (OSError, http.client.HTTPException):
        return None, []
    finally:
        connection.close()
