"""The text rules for webhook URLs: one form is read, everything else is refused."""

import pytest

from tickyard.features.alerts.webhook.addresses import EgressPolicy
from tickyard.features.alerts.webhook.url import read_webhook_url, registrable_domain
from tickyard.kernel.errors import BadRequest

LONG_LABEL = "a" * 64
HOSTILE = [
    # not https, or not quite
    "",
    " ",
    "https",
    "https:",
    "https:/",
    "https://",
    "https:///path",
    "http://hooks.acme.com/",
    "HTTPS://hooks.acme.com/",
    "Https://hooks.acme.com/",
    "ftp://hooks.acme.com/",
    "file:///etc/passwd",
    "gopher://hooks.acme.com/",
    "javascript:alert(1)",
    "//hooks.acme.com/",
    "hooks.acme.com/",
    "https:hooks.acme.com",
    "https:/hooks.acme.com",
    "https:\\\\hooks.acme.com",
    "https:\\/\\/hooks.acme.com",
    "https://?q",
    "https://#",
    " https://hooks.acme.com/",
    "https://hooks.acme.com/ ",
    # characters that parsers drop, fold or take for something else
    "https://hooks.acme.com/\n",
    "https://hooks.acme.com/\r\nHost: other",
    "https://hooks.acme.com\t/",
    "htt\nps://hooks.acme.com/",
    "https://hooks.\racme.com/",
    "https://hooks.acme.com/a b",
    "https://hooks.acme.com/\x00",
    "https://hooks.acme.com/\x7f",
    "https://hooks.acme.com/\x1b[0m",
    "https://hooks.acme.com\\@evil.com/",
    "https://evil.com\\.hooks.acme.com/",
    'https://hooks.acme.com/"x',
    "https://hooks.acme.com/'x",
    "https://hooks.acme.com/<x>",
    "https://hooks.acme.com/^",
    "https://hooks.acme.com/`id`",
    "https://hooks.acme.com/{x}",
    "https://hooks.acme.com/a|b",
    "https://hooks.acme.com/\u00e9",
    "https://h\u00f6oks.acme.com/",
    "https://hooks.acme.com/\u202e",
    "https://\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3/",
    "https://\u2460\u2461\u2466.\u2460/",
    "https://127\u30020\u30020\u30021/",
    "https://\uff11\uff12\uff17.0.0.1/",
    "https://hooks\u3002acme.com/",
    "https://hooks.acme.com/\ud800",
    # user names, fragments, escapes, ports
    "https://user@hooks.acme.com/",
    "https://user:password@hooks.acme.com/",
    "https://@hooks.acme.com/",
    "https://hooks.acme.com@127.0.0.1/",
    "https://hooks.acme.com:443@127.0.0.1/",
    "https://hooks.acme.com/#fragment",
    "https://hooks.acme.com#@evil.com/",
    "https://hooks.acme.com?#",
    "https://hooks%2eacme.com/",
    "https://%31%32%37.0.0.1/",
    "https://hooks.acme.com%00.evil.com/",
    "https://hooks.acme.com:/",
    "https://hooks.acme.com:80/",
    "https://hooks.acme.com:22/",
    "https://hooks.acme.com:0/",
    "https://hooks.acme.com:0443/",
    "https://hooks.acme.com:+443/",
    "https://hooks.acme.com:-443/",
    "https://hooks.acme.com: 443/",
    "https://hooks.acme.com:443:443/",
    "https://hooks.acme.com:65979/",
    "https://hooks.acme.com:4295967739/",
    "https://hooks.acme.com:x/",
    "https://hooks.acme.com:8444/",
    # numbers that resolvers take for addresses
    "https://127.0.0.1/",
    "https://127.1/",
    "https://127.0.1/",
    "https://2130706433/",
    "https://017700000001/",
    "https://0x7f000001/",
    "https://0x7f.0.0.1/",
    "https://0x7f.1/",
    "https://0177.0.0.1/",
    "https://127.0.0.01/",
    "https://127.0.0.1./",
    "https://127.000.000.001/",
    "https://256.1.1.1/",
    "https://1.2.3/",
    "https://1.2.3.4.5/",
    "https://1..2.3/",
    "https://8.8.8.0x8/",
    "https://8.8.8.0x/",
    "https://0/",
    "https://0.0.0.0/",
    "https://10.0.0.1/",
    "https://100.64.0.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://168.63.129.16/",
    "https://172.16.0.1/",
    "https://172.31.255.255/",
    "https://192.168.1.1/",
    "https://192.0.0.1/",
    "https://192.0.2.1/",
    "https://192.88.99.1/",
    "https://198.18.0.1/",
    "https://198.51.100.1/",
    "https://203.0.113.1/",
    "https://224.0.0.1/",
    "https://255.255.255.255/",
    "https://[::1]/",
    "https://[::]/",
    "https://[::127.0.0.1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:8.8.8.8]/",
    "https://[::ffff:7f00:1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[64:ff9b:1::1]/",
    "https://[2002:7f00:1::]/",
    "https://[2001::1]/",
    "https://[2001:db8::1]/",
    "https://[3fff::1]/",
    "https://[5f00::1]/",
    "https://[fc00::1]/",
    "https://[fd00:ec2::254]/",
    "https://[fe80::1]/",
    "https://[fe80::1%25eth0]/",
    "https://[fe80::1%eth0]/",
    "https://[fec0::1]/",
    "https://[ff02::1]/",
    "https://[2620:4f:8000::1]/",
    "https://[2606:4700::1111/",
    "https://2606:4700::1111/",
    "https://[]/",
    "https://[hooks.acme.com]/",
    "https://[::1].acme.com/",
    "https://[127.0.0.1]/",
    # names that lead nowhere public
    "https://localhost/",
    "https://LOCALHOST/",
    "https://localhost./",
    "https://intranet/",
    "https://com/",
    "https://api.localhost/",
    "https://printer.local/",
    "https://host.localdomain/",
    "https://metadata.google.internal/",
    "https://wiki.intranet/",
    "https://nas.lan/",
    "https://router.home/",
    "https://router.home.arpa/",
    "https://1.0.0.127.in-addr.arpa/",
    "https://mail.corp/",
    "https://db.private/",
    "https://a.test/",
    "https://a.invalid/",
    "https://a.example/",
    "https://a.EXAMPLE./",
    "https://abc.onion/",
    "https://a.alt/",
    "https://api.default.svc/",
    "https://api.default.svc.cluster.local/",
    "https://db.service.consul/",
    # names that are none
    "https://.acme.com/",
    "https://acme..com/",
    "https://acme.com../",
    "https://./",
    "https://../",
    "https://hooks.acme.123/",
    "https://hooks.acme.-/",
    "https://-hooks.acme.com/",
    "https://hooks-.acme.com/",
    "https://hooks.-acme.com/",
    "https://hooks.acme-.com/",
    "https://hooks.acme.com-/",
    "https://-.acme.com/",
    f"https://{LONG_LABEL}.com/",
    "https://" + "a." * 126 + "com/",
    "https://hooks,acme.com/",
    "https://hooks.acme.com;evil.com/",
    "https://hooks.acme.com&evil.com/",
    "https://*.acme.com/",
    "https://hooks.acme.com/" + "x" * 2048,
]


@pytest.mark.slow
@pytest.mark.parametrize("url", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_url_is_refused(url):
    with pytest.raises(BadRequest, match=r"^webhookUrl must be "):
        read_webhook_url(url)


def test_there_are_more_than_a_hundred_hostile_urls():
    assert len(set(HOSTILE)) == len(HOSTILE) > 150


@pytest.mark.parametrize(
    ("text", "host", "port", "target", "authority"),
    [
        ("https://hooks.acme.com", "hooks.acme.com", 443, "/", "hooks.acme.com"),
        ("https://hooks.acme.com/", "hooks.acme.com", 443, "/", "hooks.acme.com"),
        ("https://Hooks.ACME.com./a", "hooks.acme.com", 443, "/a", "hooks.acme.com"),
        ("https://hooks.acme.com:443/a?b=c%20d", "hooks.acme.com", 443, "/a?b=c%20d", "hooks.acme.com"),
        ("https://hooks.acme.com:8443?x=/y", "hooks.acme.com", 8443, "/?x=/y", "hooks.acme.com:8443"),
        ("https://xn--hks-sna.acme.com/@x:y", "xn--hks-sna.acme.com", 443, "/@x:y", "xn--hks-sna.acme.com"),
        ("https://a_b-c.acme.com//..//", "a_b-c.acme.com", 443, "//..//", "a_b-c.acme.com"),
        ("https://8.8.8.8/x", "8.8.8.8", 443, "/x", "8.8.8.8"),
        ("https://[2606:4700:0::1111]:8443/", "2606:4700::1111", 8443, "/", "[2606:4700::1111]:8443"),
        (
            "https://my-example.com/",
            "my-example.com",
            443,
            "/",
            "my-example.com",
        ),
        ("https://notlocal.com/", "notlocal.com", 443, "/", "notlocal.com"),
        ("https://hooks.acme.0x7g/", "hooks.acme.0x7g", 443, "/", "hooks.acme.0x7g"),
    ],
)
def test_a_public_https_url_is_read_into_its_parts(text, host, port, target, authority):
    url = read_webhook_url(text)
    assert (url.text, url.host, url.port, url.target, url.authority) == (text, host, port, target, authority)


def test_only_the_exact_host_and_port_a_sandbox_names_is_let_through():
    policy = EgressPolicy(allowed_extra=frozenset({("127.0.0.1", 39001), ("inbox.acme.com", 39001)}))
    assert read_webhook_url("https://127.0.0.1:39001/inbox", policy).port == 39001
    assert read_webhook_url("https://INBOX.acme.com.:39001/", policy).host == "inbox.acme.com"
    for url in [
        "https://127.0.0.1/",
        "https://127.0.0.1:39002/",
        "https://127.1:39001/",
        "https://localhost:39001/",
        "https://127.0.0.2:39001/",
        "https://8.8.8.8:39001/",
        "https://hooks.acme.com:39001/",
    ]:
        with pytest.raises(BadRequest):
            read_webhook_url(url, policy)


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("acme.com", "acme.com"),
        ("a.b.acme.com", "acme.com"),
        ("a.acme.co.uk", "acme.co.uk"),
        ("x.tenant.github.io", "tenant.github.io"),
        ("github.io", "github.io"),
        ("a.b.madeuptld", "b.madeuptld"),
        ("8.8.8.8", "8.8.8.8"),
        ("2606:4700::1111", "2606:4700::/64"),
        ("2606:4700::ffff:1", "2606:4700::/64"),
    ],
)
def test_the_registrable_domain_is_what_somebody_had_to_register(host, domain):
    assert registrable_domain(host) == domain
