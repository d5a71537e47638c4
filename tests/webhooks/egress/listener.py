"""A server on loopback that treats its callers as a test says, with or without TLS; and certificates for it."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PEM = serialization.Encoding.PEM


def answer(status: str = "200 OK", body: bytes = b"", **headers: str) -> bytes:
    """A whole answer as bytes; `Retry_After="5"` is a header."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Listener:
    """Calls `treat(connection)` for one connection after the other, having read the request where `reads`."""

    def __init__(
        self,
        treat: Callable[[socket.socket], object] | bytes,
        tls: ssl.SSLContext | None = None,
        *,
        host: str = "127.0.0.1",
        reads: bool = True,
    ) -> None:
        self.treat = (lambda connection: connection.sendall(treat)) if isinstance(treat, bytes) else treat
        self.tls, self.reads = tls, reads
        self.connections, self.requests = 0, []
        self.stopped = threading.Event()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.listening = socket.create_server((host, 0), family=family)
        self.port = self.listening.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks"

    def serve(self) -> None:
        while not self.stopped.is_set():
            try:
                connected, _ = self.listening.accept()
            except OSError:
                return
            self.connections += 1
            try:
                self.speak(connected)
            except (OSError, ValueError):
                continue
            finally:
                connected.close()

    def speak(self, connected: socket.socket) -> None:
        connected.settimeout(60)
        if self.tls:
            connected = self.tls.wrap_socket(connected, server_side=True)
        with connected:
            if self.reads:
                self.requests.append(whole_request(connected))
            self.treat(connected)

    def drip(self, pieces, pause_seconds: float = 0.05) -> Callable[[socket.socket], None]:
        """Treats a caller to one piece after the other, for as long as it stays."""

        def treat(connected: socket.socket) -> None:
            for piece in pieces:
                connected.sendall(piece)
                if self.stopped.wait(pause_seconds):
                    return

        return treat

    def keep_waiting(self, connected: socket.socket) -> None:
        """Treats a caller to silence, until it goes."""
        connected.recv(1)

    def stop(self) -> None:
        self.stopped.set()
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        self.thread.join(60)


@contextlib.contextmanager
def full_server(host: str, port: int = 0) -> Iterator[int]:
    """A server that takes no more connections: whoever tries hears nothing. Its port."""
    with contextlib.ExitStack() as open_sockets:
        full = open_sockets.enter_context(socket.create_server((host, port), backlog=0))
        for _ in range(3):
            waiting = open_sockets.enter_context(socket.socket())
            waiting.settimeout(0)
            waiting.connect_ex(full.getsockname())
        yield full.getsockname()[1]


def whole_request(connected: socket.socket) -> bytes:
    received = b""
    while b"\r\n\r\n" not in received:
        received += connected.recv(65_536) or fail()
    head, body = received.split(b"\r\n\r\n", 1)
    length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    while len(body) < length:
        body += connected.recv(65_536) or fail()
    return head + b"\r\n\r\n" + body


def fail() -> bytes:
    raise ConnectionResetError


@dataclass
class Authority:
    """Signs certificates; `file` is what a machine that trusts it has."""

    file: Path

    def __post_init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "An authority of tests")])
        made = self._builder(self.name, self.key, days=(-30, 30)).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        usage = dict.fromkeys(
            (
                "digital_signature",
                "content_commitment",
                "key_encipherment",
                "data_encipherment",
                "key_agreement",
                "encipher_only",
                "decipher_only",
            ),
            False,
        )
        made = made.add_extension(x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usage), critical=True)
        self.file.write_bytes(made.sign(self.key, hashes.SHA256()).public_bytes(PEM))

    def server(
        self, *names: str, days: tuple[int, int] = (-1, 1), common_name: str = "A server of tests"
    ) -> ssl.SSLContext:
        """A context for a server with a certificate for these names, good from and to these days from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        made = self._builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)]), key, days)
        if names:
            made = made.add_extension(
                x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False
            )
        plain = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        file = self.file.with_name(f"server-{x509.random_serial_number()}.pem")
        file.write_bytes(made.sign(self.key, hashes.SHA256()).public_bytes(PEM) + plain)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _builder(self, name: x509.Name, key: ec.EllipticCurvePrivateKey, days: tuple[int, int]):
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder(self.name, name, key.public_key(), x509.random_serial_number())
            .not_valid_before(now + timedelta(days=days[0]))
            .not_valid_after(now + timedelta(days=days[1]))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
        )
