"""What is public, at the edges of each block, and by another's opinion."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.egress.addresses import is_public

PUBLIC = {
    "well known": "1.1.1.1 8.8.8.8 93.184.215.14 2606:4700::1111 2a00:1450:4001:800::200e 2001:4860:4860::8888",
    "around private": "9.255.255.255 11.0.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0",
    "around carriers and loopback": "100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0",
    "around metadata": "168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 191.255.255.255 192.0.1.0",
    "around benchmarks and multicast": "198.17.255.255 198.20.0.0 223.255.255.255",
    "around blocks of IPv6": "2000::1 2001:200:: 2003:: 3ffd:: 2606:4700::5efe:1",
}

NOT_PUBLIC = {
    "this network": "0.0.0.0 0.0.0.1 0.255.255.255",
    "private": "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255",
    "carriers": "100.64.0.0 100.100.100.200 100.127.255.255",
    "loopback": "127.0.0.0 127.0.0.1 127.255.255.255 ::1",
    "link-local and metadata": "169.254.0.0 169.254.169.254 169.254.170.2 169.254.255.255 168.63.129.16 192.0.0.192",
    "protocols": "192.0.0.0 192.0.0.8 192.0.0.255 192.31.196.1 192.52.193.1 192.88.99.1 192.175.48.1",
    "documentation": "192.0.2.1 198.51.100.1 203.0.113.1 2001:db8::1 3fff::1 3fff:fff:ffff::1",
    "benchmarks": "198.18.0.0 198.19.255.255 2001:2::1",
    "multicast and reserved": "224.0.0.1 239.255.255.255 240.0.0.0 255.255.255.254 255.255.255.255 ff02::1 ff0e::1",
    "unspecified": "::",
    "mapped": "::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:8.8.8.8",
    "compatible": "::127.0.0.1 ::8.8.8.8",
    "SIIT": "::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8",
    "ISATAP": "fe80::5efe:7f00:1 2606:4700::5efe:7f00:1 2606:4700::200:5efe:a9fe:a9fe 2606:4700:0:1:0:5efe:808:808",
    "NAT64": "64:ff9b::127.0.0.1 64:ff9b::8.8.8.8 64:ff9b:1::a00:1",
    "6to4": "2002:7f00:1:: 2002:a9fe:a9fe:: 2002:808:808::1",
    "Teredo and its block": "2001::1 2001:0:53aa:64c:0:0:f5ff:fffe 2001:10::1 2001:20::1 2001:1ff:ffff::",
    "unique local": "fc00::1 fd00:ec2::254 fdff::1",
    "link-local": "fe80::1 fe80::1%eth0 febf::1 fec0::1",
    "discard and others": "100::1 5f00::1 4000::1 e000::1 1fff::1 3ffe::1 2620:4f:8000::1",
}


@pytest.mark.parametrize("address", [address for block in PUBLIC.values() for address in block.split()])
def test_the_internet_is_public(address):
    assert is_public(ip_address(address))


@pytest.mark.parametrize("address", [address for block in NOT_PUBLIC.values() for address in block.split()])
def test_nothing_special_is_public(address):
    assert not is_public(ip_address(address))


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6), st.integers(0, 2**32 - 1).map(IPv4Address)))
def test_what_is_public_is_so_for_python_too(address):
    if is_public(address):
        assert address.is_global
        assert not any((address.is_multicast, address.is_private, address.is_reserved))


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1), st.sampled_from([0x0000_5EFE, 0x0200_5EFE]))
def test_no_ipv4_address_hides_in_an_ipv6_one(inner, prefix, isatap):
    for base in (0, 0xFFFF << 32, 0xFFFF << 48, 0x64_FF9B << 96, 0x64_FF9B_0001 << 80):
        assert not is_public(IPv6Address(base | inner))
    assert not is_public(IPv6Address(0x2002 << 112 | inner << 80 | prefix))
    assert not is_public(IPv6Address(0x2001_0000 << 96 | inner))
    assert not is_public(IPv6Address(prefix << 64 | isatap << 32 | inner))
