"""The embedded Valkey, which speaks Redis' protocol: a unix socket only, nothing evicted."""

import signal
import socket
from functools import cached_property
from pathlib import Path
from typing import override
from urllib.parse import quote

from holdfast.embedded.binaries import find_valkey
from holdfast.embedded.server import Process, Server
from holdfast.embedded.state import Place

SOCKET_NAME = "valkey.sock"
ANSWER_WITHIN_SECONDS = 2.0
# Jobs survive a crash but for the last second. Tests start empty, so theirs need not.
PROFILE_OPTIONS = {
    "dev": ["--appendonly", "yes", "--appendfsync", "everysec"],
    "test": ["--appendonly", "no"],
}


def redis_url(place: Place) -> str:
    """The address for Django and RQ."""
    return f"unix://{quote(str(place.sockets / SOCKET_NAME))}?db=0"


class Valkey(Server):
    """One server with its append-only file."""

    name = "Valkey"
    stop_signals = ((signal.SIGTERM, 10.0),)

    @cached_property
    def program(self) -> Path:
        """The server's binary."""
        return find_valkey(self.site, self.account)

    @override
    def prepare(self) -> None:
        self.account.make_private_folder(self.place.data)

    @override
    def command(self) -> list[str]:
        return [
            str(self.program),
            *("--port", "0"),
            *("--unixsocket", str(self.place.sockets / SOCKET_NAME)),
            *("--unixsocketperm", "700"),
            *("--dir", str(self.place.data)),
            *("--daemonize", "no"),
            *("--maxmemory-policy", "noeviction"),
            *("--save", ""),
            *PROFILE_OPTIONS[self.place.profile],
        ]

    @override
    def answers(self, process: Process) -> bool:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(ANSWER_WITHIN_SECONDS)
            try:
                connection.connect(str(self.place.sockets / SOCKET_NAME))
                connection.sendall(b"PING\r\n")
                # -LOADING while it reads its file
                return connection.recv(64).startswith(b"+PONG") and process.poll() is None
            except OSError:
                return False
