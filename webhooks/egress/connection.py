"""Connecting to an address that was looked at, and to no other; then TLS in the name of the host."""

import ssl
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from ipaddress import IPv4Address, ip_address
from socket import AF_INET, AF_INET6, SOCK_STREAM, AddressFamily, socket

from webhooks.egress.outcome import NoAnswer, Outcome
from webhooks.egress.policy import Deadline
from webhooks.egress.resolve import Address
from webhooks.egress.urls import Target

ADDRESSES_TRIED_MAX = 4


def connect(target: Target, addresses: Sequence[Address], deadline: Deadline) -> socket:
    """A connection to the first address that takes one. The caller closes it. Raises NoAnswer and TimeoutError."""
    connected = _first_that_answers(addresses[:ADDRESSES_TRIED_MAX], target.port, deadline)
    return connected if target.is_local else _secured(connected, target.host, deadline)


def _first_that_answers(addresses: Sequence[Address], port: int, deadline: Deadline) -> socket:
    """Each gets its share of the time that is left, so that one which is silent does not use it all."""
    failure: OSError = TimeoutError()
    for tried, address in enumerate(addresses):
        try:
            return _connected(address, port, deadline.left() / (len(addresses) - tried))
        except OSError as error:
            failure = error
    raise NoAnswer(Outcome.TIMED_OUT if isinstance(failure, TimeoutError) else Outcome.CONNECT_FAILED) from failure


def _connected(address: Address, port: int, timeout: float) -> socket:
    with ExitStack() as on_failure:
        connecting = on_failure.enter_context(socket(_family(address), SOCK_STREAM))
        connecting.settimeout(timeout)
        connecting.connect((str(address), port))
        if ip_address(connecting.getpeername()[0]) != address:
            raise NoAnswer(Outcome.REFUSED_ADDRESS)
        on_failure.pop_all()
    return connecting


def _family(address: Address) -> AddressFamily:
    return AF_INET if isinstance(address, IPv4Address) else AF_INET6


def _secured(connected: socket, host: str, deadline: Deadline) -> socket:
    """The same connection within TLS, whose other end has shown a certificate for the host."""
    with ExitStack() as on_failure:
        on_failure.callback(connected.close)
        try:
            secured = _tls().wrap_socket(connected, server_hostname=host, do_handshake_on_connect=False)
            on_failure.callback(secured.close)
            secured.settimeout(deadline.left())
            secured.do_handshake()
        except TimeoutError:
            raise
        except OSError as error:
            raise NoAnswer(Outcome.TLS_FAILED) from error
        on_failure.pop_all()
    return secured


@cache
def _tls() -> ssl.SSLContext:
    """Trusts what the machine trusts."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False  # alternative names alone are checked by their authorities
    context.set_alpn_protocols(["http/1.1"])
    return context
