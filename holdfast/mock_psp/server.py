"""The server: a thread for each connection, up to a bound."""

import socket
import sys
import threading
from http.server import ThreadingHTTPServer
from typing import Any

from holdfast.mock_psp.handler import Handler
from holdfast.mock_psp.ledger import Ledger
from holdfast.mock_psp.sender import start_senders

# HoldFast keeps a few open from each of its processes; more than this is a fault
CONNECTIONS_MAX = 256


class MockServer(ThreadingHTTPServer):
    """Listens from the start. Raises OSError where it can't."""

    daemon_threads = True
    request_queue_size = CONNECTIONS_MAX

    def __init__(self, host: str, port: int, ledger: Ledger, *, shares_port: bool) -> None:
        self.ledger = ledger
        # whoever reserved the port for us stays bound to it, and does not listen
        self.allow_reuse_port = shares_port
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._free = threading.BoundedSemaphore(CONNECTIONS_MAX)
        super().__init__((host, port), Handler)

    def run(self) -> None:
        """Serve and send callbacks until the process ends."""
        start_senders(self.ledger.deliveries)
        self.serve_forever()

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that went away is its own business; anything else belongs on standard error."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)
