from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.webhooks.egress.listener import Authority, Listener
from webhooks.egress import Answer, Policy, Sender, connection, urls
from webhooks.egress.addresses import is_loopback, is_public
from webhooks.egress.policy import Limits

# for what ends by itself, on a busy machine too
PATIENT = Limits(resolve_seconds=60, connect_seconds=60, idle_seconds=60, total_seconds=60)
# for what is to be cut off, each for a reason of its own
SHORT_CONNECT = replace(PATIENT, connect_seconds=0.6)
SHORT_IDLE = replace(PATIENT, idle_seconds=0.4)
SHORT_TOTAL = replace(PATIENT, total_seconds=1.0)
# far more than it takes, and less than it would take to wait for the other side
BUSY_SECONDS = 20
BODY = '{"name":"Zirkus 🎪"}'.encode()
HOST = "hooks.example.org"


@pytest.fixture
def listen() -> Iterator[Callable[..., Listener]]:
    """`listen(b"HTTP/1.1 …")` or `listen(treat, tls)`: a listener that ends with the test."""
    running = []

    def start(*args: Any, **options: Any) -> Listener:
        running.append(Listener(*args, **options))
        return running[-1]

    yield start
    for listener in running:
        listener.stop()


def send(url: str, *, body: bytes = BODY, limits: Limits = PATIENT, headers: dict[str, str] | None = None) -> Answer:
    """As in development, where loopback is allowed."""
    return Sender(Policy({443}, loopback_allowed=True), limits).send(url, body, headers or {})


@pytest.fixture
def loopback_is_public(monkeypatch) -> None:
    monkeypatch.setattr(urls, "is_public", lambda address: is_loopback(address) or is_public(address))


@pytest.fixture
def authority(monkeypatch, tmp_path) -> Iterator[Authority]:
    """One that this machine trusts."""
    trusted = Authority(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted.file))
    connection._tls.cache_clear()
    yield trusted
    connection._tls.cache_clear()


def send_to(
    listener: Listener,
    *,
    found: Sequence[str] = ("127.0.0.1",),
    host: str = HOST,
    limits: Limits = PATIENT,
    headers: dict[str, str] | None = None,
) -> Answer:
    """As in production, over https, to a host that the resolver finds at these addresses."""
    policy = Policy({listener.port}, loopback_allowed=False)
    sender = Sender(policy, limits, {host: found}.__getitem__)
    return sender.send(f"https://{host}:{listener.port}/hooks", BODY, headers or {})
