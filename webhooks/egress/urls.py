"""The URLs that may be sent to: a strict grammar, in which each text has one reading.

What parsers are known to read in two ways is refused: hosts in other digits, bases and lengths, users, backslashes,
dots at the end, control characters. Names outside ASCII are taken in their xn-- form. Pure.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from webhooks.egress.addresses import is_loopback, is_public
from webhooks.egress.outcome import Outcome
from webhooks.egress.policy import Policy

LENGTH_MAX = 2048
HOST_LENGTH_MAX = 253
PORT_MAX = 65_535
DEFAULT_PORTS = {"http": 80, "https": 443}
LOCALHOST = "localhost"
# RFC 6761, 6762, 7686, 8375, 9476, and what ICANN has set aside: never of the public internet
LOCAL_DOMAINS = frozenset({"alt", "arpa", "internal", "invalid", "local", LOCALHOST, "onion"})

_URL = re.compile(
    r"""(?P<scheme>[a-z]+)://
        (?: (?P<name>[a-z0-9.-]+) | \[(?P<ipv6>[0-9a-f:.]+)\] )
        (?: :(?P<port>[1-9][0-9]{0,4}) )?
        (?P<path>/(?:[a-z0-9._~!$&'()*+,;=:@/-] | %[0-9a-f]{2})*)?
        (?P<query>\?(?:[a-z0-9._~!$&'()*+,;=:@/?-] | %[0-9a-f]{2})*)?""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)


class UrlRefused(Exception):
    """This URL may not be sent to; the text says why, to whoever wrote it."""

    def __init__(self, reason: str, outcome: Outcome = Outcome.REFUSED_URL) -> None:
        super().__init__(reason)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Target:
    """A URL taken apart. `address` is the host where that is no name; `path` has the query with it."""

    scheme: str
    host: str
    address: IPv4Address | IPv6Address | None
    port: int
    path: str

    @property
    def is_local(self) -> bool:
        """Of development: http, and to loopback alone."""
        return self.scheme == "http"

    @property
    def authority(self) -> str:
        """For the Host header."""
        host = f"[{self.host}]" if isinstance(self.address, IPv6Address) else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    def may_be_at(self, address: IPv4Address | IPv6Address) -> bool:
        """Whether an address that the host has may be connected to."""
        return is_loopback(address) if self.is_local else is_public(address)


def parse(url: str, policy: Policy) -> Target:
    """Raises UrlRefused."""
    if len(url) > LENGTH_MAX:
        raise UrlRefused(f"must have at most {LENGTH_MAX} characters")
    parts = _URL.fullmatch(url)
    if parts is None:
        raise UrlRefused(
            "must be an address such as https://example.org/hooks: ASCII, other characters percent-encoded (in names, "
            "as xn--), and no user, password or fragment"
        )
    scheme = parts["scheme"].lower()
    host, address = _host(parts["name"], parts["ipv6"])
    port = int(parts["port"] or DEFAULT_PORTS.get(scheme, 0))
    target = Target(scheme, host, address, port, (parts["path"] or "/") + (parts["query"] or ""))
    (_check_local if target.is_local and policy.loopback_allowed else _check_public)(target, policy)
    return target


def _check_local(target: Target, policy: Policy) -> None:
    if target.port > PORT_MAX:
        raise UrlRefused(f"must have a port up to {PORT_MAX}")
    if not (target.may_be_at(target.address) if target.address else target.host == LOCALHOST):
        raise UrlRefused("must be https; http is for loopback alone, and in development")


def _check_public(target: Target, policy: Policy) -> None:
    if target.scheme != "https":
        raise UrlRefused("must be https")
    if target.port not in policy.ports:
        raise UrlRefused(f"must be at port {' or '.join(map(str, sorted(policy.ports)))}")
    if target.address is None and not _is_full_name(target.host):
        raise UrlRefused("must name a host on the internet, in full")
    if target.address and not target.may_be_at(target.address):
        raise UrlRefused("must be at a public address", Outcome.REFUSED_ADDRESS)


def _host(name: str | None, ipv6: str | None) -> tuple[str, IPv4Address | IPv6Address | None]:
    """In lower case, and as an address where it is one in the form that has one reading."""
    if ipv6:
        try:
            return ipv6.lower(), IPv6Address(ipv6)
        except ValueError:
            raise UrlRefused("must have an IPv6 address between its brackets") from None
    host = (name or "").lower()
    try:
        return host, IPv4Address(host)
    except ValueError:
        return host, None


def _is_full_name(host: str) -> bool:
    *domains, top = labels = host.split(".")
    # a top that begins with a digit is an address in one of the forms that resolvers take and we don't
    return bool(
        domains
        and len(host) <= HOST_LENGTH_MAX
        and all(map(_LABEL.fullmatch, labels))
        and not top[0].isdecimal()
        and top not in LOCAL_DOMAINS
    )
