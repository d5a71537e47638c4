"""Which addresses are public: the internet's, and nobody's own network.

IPv4 by a list of what is not (IANA's registry of special-purpose addresses, and what clouds have beside it), IPv6 by
what is: 2000::/3, less the blocks in it that are special. So mapped, compatible, translated (SIIT, NAT64) and local
addresses are out without being named. A NAT64 prefix that a network has made of its own public addresses can't be told
from them: there, a firewall has to say it. Pure.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

_NOT_PUBLIC_4 = [
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers; 100.100.100.200 is a cloud's metadata
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a cloud's host, from inside
        "169.254.0.0/16",  # link-local; 169.254.169.254 is the metadata of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocols' own; 192.0.0.192 is a cloud's metadata
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
]
_LOOPBACK_4, _LOOPBACK_6 = IPv4Network("127.0.0.0/8"), IPv6Network("::1/128")
_PUBLIC_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = [
    IPv6Network(block)
    for block in (
        "2001::/23",  # protocols' own: Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: an IPv4 address in disguise
        "2620:4f:8000::/48",  # AS112
        "3ffe::/16",  # 6bone, given back
        "3fff::/20",  # documentation
    )
]
# "0000:5efe" and "0200:5efe" before an IPv4 address, in any prefix
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether a stranger may have us send there."""
    if isinstance(address, IPv4Address):
        return not any(address in block for block in _NOT_PUBLIC_4)
    return address in _PUBLIC_6 and not any(address in block for block in _NOT_PUBLIC_6) and not _is_isatap(address)


def is_loopback(address: IPv4Address | IPv6Address) -> bool:
    """This machine; in the plain forms alone, without the disguises that Python's own property takes, too."""
    return address in (_LOOPBACK_4 if isinstance(address, IPv4Address) else _LOOPBACK_6)


def _is_isatap(address: IPv6Address) -> bool:
    return int(address) >> 32 & 0xFFFF_FFFF in _ISATAP
