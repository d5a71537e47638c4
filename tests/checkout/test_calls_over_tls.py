"""The deadline of a call holds over TLS, too, where each byte comes in time and all of them would not."""

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from reservations.checkout import calls
from reservations.checkout.calls import NoAnswer, call

HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\n"


def certificate(folder: Path) -> Path:
    """One for loopback that signs itself, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "loopback.pem"
    file.write_bytes(made.public_bytes(pem) + plain)
    return file


class TlsServer:
    """Answers each connection with these pieces, and waits between them."""

    def __init__(self, file: Path) -> None:
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(file)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.pieces, self.pause_seconds = [HEAD, b"yes"], 0.0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.listener.getsockname()[1]}/"

    def serve(self) -> None:
        while not self.stopped.is_set():
            try:
                connected, _ = self.listener.accept()
                with self.tls.wrap_socket(connected, server_side=True) as speaking:
                    speaking.recv(65_536)
                    for piece in self.pieces:
                        speaking.sendall(piece)
                        self.stopped.wait(self.pause_seconds)
            except OSError:
                continue

    def stop(self) -> None:
        self.stopped.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(60)


@pytest.fixture
def server(tmp_path, monkeypatch) -> Iterator[TlsServer]:
    file = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    monkeypatch.setattr(calls, "_servers", calls._shared_connections())
    running = TlsServer(file)
    yield running
    running.stop()


def ask(server: TlsServer, deadline_seconds: float = 5.0) -> calls.Answer:
    return call("GET", server.url, deadline_seconds=deadline_seconds, answer_bytes_max=1000)


def test_an_answer_over_tls_is_read(server):
    assert ask(server) == calls.Answer(200, b"yes")


@pytest.mark.parametrize("pieces", [[bytes([byte]) for byte in HEAD], [HEAD, b"y", b"e", b"s"]])
def test_a_server_that_drips_keeps_nobody(server, pieces):
    server.pieces, server.pause_seconds = pieces, 0.4
    began = time.monotonic()
    with pytest.raises(NoAnswer):
        ask(server, deadline_seconds=0.6)
    assert time.monotonic() - began < 10


def test_a_server_that_nobody_vouches_for_is_not_asked(server, monkeypatch, tmp_path):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    monkeypatch.setattr(calls, "_servers", calls._shared_connections())
    with pytest.raises(NoAnswer):
        ask(server)
