"""A server that says what it is told to, byte by byte if need be, to whoever connects."""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator


class Scripted:
    """A server that says the same to everybody, a piece at a time."""

    def __init__(self):
        self.pieces, self.pause_seconds = [b""], 0.0
        self.connections = 0
        self.stopped = threading.Event()

    def says(self, *pieces, pause_seconds=0.0):
        self.pieces, self.pause_seconds = pieces, pause_seconds

    def answers(self, status, what):
        body = what if isinstance(what, bytes) else json.dumps(what).encode()
        self.says(b"HTTP/1.1 %d X\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body))

    def serve(self, listener):
        while not self.stopped.is_set():
            with contextlib.suppress(OSError):
                connected, _ = listener.accept()
                threading.Thread(target=self.talk, args=(connected,), daemon=True).start()

    def talk(self, connected):
        self.connections += 1
        with connected, contextlib.suppress(OSError):
            connected.settimeout(5)
            connected.recv(65536)
            for piece in self.pieces:
                connected.sendall(piece)
                if self.stopped.wait(self.pause_seconds):
                    return


@contextlib.contextmanager
def scripted_server() -> Iterator[Scripted]:
    """Listens on loopback until the block ends."""
    server = Scripted()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        server.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread = threading.Thread(target=server.serve, args=(listener,))
        thread.start()
        try:
            yield server
        finally:
            server.stopped.set()
            thread.join(60)
