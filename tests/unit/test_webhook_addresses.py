"""Which addresses count as public: our own lists, the same on every version of Python."""

from ipaddress import IPv4Network, IPv6Network, ip_address

import pytest

from tickyard.features.alerts.webhook.addresses import EgressPolicy, is_public

# fmt: off
NOT_PUBLIC = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "168.63.129.16/32",
]
NOT_PUBLIC_6 = [
    "::/3",
    "4000::/2",
    "8000::/1",
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
    "2620:4f:8000::/48",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
    "5f00::/16",
    "::ffff:0:0/96",
]


@pytest.mark.parametrize("network", NOT_PUBLIC + NOT_PUBLIC_6)
def test_both_ends_of_a_closed_range_are_refused(network):
    block = IPv6Network(network) if ":" in network else IPv4Network(network)
    assert not is_public(block[0])
    assert not is_public(block[-1])


@pytest.mark.parametrize(
    "text",
    [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "172.15.255.255",
        "172.32.0.0",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00:1450::1",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2620:4f:7fff::1",
        "3ffe:ffff::1",
    ],
)
def test_ordinary_addresses_next_to_them_are_public(text):
    assert is_public(ip_address(text))


def test_an_address_with_a_scope_is_never_public():
    assert not is_public(ip_address("2606:4700::1111%eth0"))


def test_our_own_addresses_are_refused_and_a_sandbox_may_open_one():
    policy = EgressPolicy(
        allowed_extra=frozenset({("127.0.0.1", 8443)}), own_addresses=frozenset({"1.1.1.1", "2606:4700::1111"})
    )
    assert policy.permits(ip_address("127.0.0.1"), 8443)
    assert policy.permits(ip_address("8.8.8.8"), 443)
    assert not policy.permits(ip_address("127.0.0.1"), 443)
    assert not policy.permits(ip_address("127.0.0.2"), 8443)
    assert not policy.permits(ip_address("1.1.1.1"), 443)
    assert not policy.permits(ip_address("2606:4700:0::1111"), 443)
    assert not EgressPolicy().permits(ip_address("127.0.0.1"), 8443)
