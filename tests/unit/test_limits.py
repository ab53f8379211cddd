import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickyard.doors.http.limits import RateLimit, TokenBuckets, client_key, own_address, read_networks

PROXIES = read_networks(["10.0.0.0/8", "192.0.2.7", "fd00::/8"])


def scope(peer, *forwarded):
    headers = [(b"host", b"x"), *((b"x-forwarded-for", line.encode("latin-1")) for line in forwarded)]
    return {"client": peer and (peer, 4000), "headers": headers}


@pytest.mark.parametrize(
    ("peer", "key"),
    [
        ("198.51.100.1", "198.51.100.1"),
        ("::ffff:198.51.100.1", "198.51.100.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("not an address", "not an address"),
        (None, "local"),
    ],
)
def test_a_client_is_its_address_and_of_ipv6_the_first_half(peer, key):
    assert client_key(scope(peer)) == key


@pytest.mark.parametrize(
    ("peer", "forwarded", "key"),
    [
        ("198.51.100.1", ["203.0.113.9"], "198.51.100.1"),
        ("10.1.1.1", [], "10.1.1.1"),
        ("10.1.1.1", ["203.0.113.9"], "203.0.113.9"),
        ("::ffff:10.1.1.1", ["203.0.113.9"], "203.0.113.9"),
        ("fd00::1", ["2001:db8:9:9::1"], "2001:db8:9:9::/64"),
        ("10.1.1.1", ["::ffff:203.0.113.9"], "203.0.113.9"),
        ("10.1.1.1", ["203.0.113.9:51234"], "203.0.113.9"),
        ("10.1.1.1", ["1.1.1.1, 203.0.113.9:51234, 10.2.2.2:443"], "203.0.113.9"),
        ("10.1.1.1", ["[2001:db8:9:9::1]:443"], "2001:db8:9:9::/64"),
        ("10.1.1.1", ["[2001:db8:9:9::1]"], "2001:db8:9:9::/64"),
        ("10.1.1.1", ["[::ffff:203.0.113.9]:80"], "203.0.113.9"),
        ("10.1.1.1", ["203.0.113.9:"], "10.1.1.1"),
        ("10.1.1.1", ["203.0.113.9:1:2"], "10.1.1.1"),
        ("10.1.1.1", ["[2001:db8::1"], "10.1.1.1"),
        ("10.1.1.1", ["1.1.1.1, 203.0.113.9"], "203.0.113.9"),
        ("10.1.1.1", ["203.0.113.9, 192.0.2.7 ,10.2.2.2"], "203.0.113.9"),
        ("10.1.1.1", ["1.1.1.1", "203.0.113.9, 10.2.2.2"], "203.0.113.9"),
        ("10.1.1.1", ["rubbish, 203.0.113.9"], "203.0.113.9"),
        ("10.1.1.1", ["10.3.3.3, 10.2.2.2"], "10.3.3.3"),
        ("10.1.1.1", ["rubbish"], "10.1.1.1"),
        ("10.1.1.1", ["203.0.113.9,"], "10.1.1.1"),
        ("10.1.1.1", ["203.0.113.9, rubbish, 10.2.2.2"], "10.1.1.1"),
        ("10.1.1.1", ["\xb2\xb3.1.1.1"], "10.1.1.1"),
        ("10.1.1.1", ["010.1.1.1"], "10.1.1.1"),
    ],
)
def test_only_a_trusted_proxy_speaks_for_someone_else(peer, forwarded, key):
    assert client_key(scope(peer, *forwarded), PROXIES) == key


@pytest.mark.parametrize("text", ["*", "0.0.0.0/0", "::/0", "proxy.internal", "10.0.0.1/8"])
def test_nobody_trusts_everyone(text):
    with pytest.raises(ValueError, match=r".+"):
        read_networks([text])


@given(
    quota=st.integers(1, 50),
    burst=st.integers(1, 50),
    waits=st.lists(st.integers(0, 5_000), min_size=1, max_size=400),
)
def test_no_minute_holds_more_than_quota_and_burst(quota, burst, waits):
    buckets = TokenBuckets(quota, burst=burst)
    now, served = 1_000_000, []
    for wait in waits:
        now += wait
        if buckets.take("a", now / 1000).is_allowed:
            served.append(now)
    for start, since in enumerate(served):
        assert sum(since <= at < since + 60_000 for at in served[start:]) <= quota + burst


@given(quota=st.integers(1, 5_000), burst=st.integers(1, 50), start=st.integers(0, 10**6))
def test_a_client_that_waits_as_told_is_served_again(quota, burst, start):
    buckets = TokenBuckets(quota, burst=burst)
    for _ in range(burst):
        assert buckets.take("a", start).is_allowed
    refused = buckets.take("a", start)
    assert not refused.is_allowed
    assert refused.remaining == 0
    assert refused.retry_after_s >= 1
    assert buckets.take("a", start + refused.retry_after_s).is_allowed
    rested = start + refused.retry_after_s + 120 * burst
    assert buckets.take("a", rested).remaining == burst - 1


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3_000)), max_size=200))
def test_what_remains_is_what_can_be_taken(calls):
    buckets = TokenBuckets(30, burst=5)
    now = 0
    for key, wait in calls:
        now += wait
        buckets.take(key, now / 1000)
    left = buckets.take("a", now / 1000).remaining
    assert [buckets.take("a", now / 1000).is_allowed for _ in range(left + 1)] == [True] * left + [False]


def test_one_client_does_not_pay_for_another():
    buckets = TokenBuckets(60, burst=1)
    assert buckets.take("a", 5).is_allowed
    assert not buckets.take("a", 5).is_allowed
    assert buckets.take("b", 5).is_allowed


def test_refused_requests_cost_nothing():
    buckets = TokenBuckets(60, burst=1)
    buckets.take("a", 5)
    for _ in range(1000):
        assert not buckets.take("a", 5).is_allowed
    assert buckets.take("a", 6).is_allowed


def test_memory_is_bounded_however_many_addresses_come():
    buckets = TokenBuckets(60, clients_max=100)
    for n in range(5_000):
        buckets.take(f"client {n}", 5)
        assert len(buckets) <= 100


def test_clients_whose_bucket_is_full_again_are_forgotten():
    buckets = TokenBuckets(60)
    for n in range(1_000):
        buckets.take(f"client {n}", 5)
    for n in range(1_000):
        buckets.take(f"later {n}", 10)
    assert len(buckets) == 1_000


def test_the_least_recently_seen_client_is_forgotten_first():
    buckets = TokenBuckets(60, burst=2, clients_max=2)
    for key in ("a", "b", "a", "c"):
        assert buckets.take(key, 5).is_allowed
    assert not buckets.take("a", 5).is_allowed
    assert buckets.take("b", 5).remaining == 1


def test_the_limit_tells_the_caller_in_headers():
    limit = RateLimit(600, replicas=2)
    verdict = limit.take(scope("198.51.100.1"), 5)
    assert verdict.headers == [
        (b"ratelimit-policy", b'"default";q=300;w=60'),
        (b"ratelimit", b'"default";r=299;t=1'),
    ]
    for _ in range(299):
        verdict = limit.take(scope("198.51.100.1"), 5)
    assert verdict.headers[1] == (b"ratelimit", b'"default";r=0;t=60')
    verdict = limit.take(scope("198.51.100.1"), 5)
    assert (verdict.is_allowed, verdict.retry_after_s) == (False, 1)


def test_a_quota_smaller_than_the_replicas_still_serves():
    assert RateLimit(2, replicas=5).take(scope("198.51.100.1"), 5).is_allowed


@pytest.mark.parametrize(
    ("peer", "headers", "is_own"),
    [
        ("198.51.100.1", [], True),
        ("2001:db8:1:2:3:4:5:6", [], True),
        ("198.51.100.1", [(b"x-forwarded-for", b"203.0.113.9")], False),
        ("198.51.100.1", [(b"forwarded", b"for=203.0.113.9")], False),
        ("198.51.100.1", [(b"via", b"1.1 proxy")], False),
        ("198.51.100.1", [(b"x-real-ip", b"203.0.113.9")], False),
        ("10.1.1.1", [(b"x-forwarded-for", b"203.0.113.9")], True),
        ("10.1.1.1", [(b"x-forwarded-for", b"203.0.113.9"), (b"via", b"1.1 Caddy")], True),
        ("10.1.1.1", [(b"x-forwarded-for", b"203.0.113.9, 10.2.2.2")], True),
        # Whoever we do not know and who says for whom it speaks: the edge of a CDN, behind a proxy of ours.
        ("10.1.1.1", [(b"x-forwarded-for", b"192.0.2.5, 203.0.113.9")], False),
        ("10.1.1.1", [(b"x-forwarded-for", b"192.0.2.5, 203.0.113.9, 10.2.2.2")], False),
        ("10.1.1.1", [(b"x-forwarded-for", b"192.0.2.5"), (b"x-forwarded-for", b"203.0.113.9")], False),
        ("10.1.1.1", [(b"x-forwarded-for", b"hidden, 203.0.113.9")], False),
        ("10.1.1.1", [(b"x-forwarded-for", b"nonsense")], False),
        ("10.1.1.1", [(b"x-forwarded-for", b"10.2.2.2")], False),
        ("10.1.1.1", [(b"x-forwarded-for", b"fd00:2::1")], False),
        ("10.1.1.1", [], False),
        ("fd00::1", [], False),
        (None, [], False),
    ],
)
def test_an_address_that_a_proxy_gives_to_all_of_its_clients_is_nobodys_own(peer, headers, is_own):
    asked = {"client": peer and (peer, 4000), "headers": [(b"host", b"x"), *headers]}
    own = own_address(asked, PROXIES)
    assert own == (client_key(asked, PROXIES) if is_own else None)


@pytest.mark.parametrize(
    ("peer", "headers", "is_own"),
    [
        # The service speaks plain HTTP: behind an address of https, whoever calls it directly is a proxy.
        ("198.51.100.1", [], False),
        ("127.0.0.1", [], False),
        ("10.1.1.1", [], False),
        ("10.1.1.1", [(b"x-forwarded-for", b"203.0.113.9")], True),
    ],
)
def test_behind_https_only_a_proxy_that_we_know_says_whose_an_address_is(peer, headers, is_own):
    asked = {"client": (peer, 4000), "headers": [(b"host", b"x"), *headers]}
    own = own_address(asked, PROXIES, is_direct=False)
    assert own == (client_key(asked, PROXIES) if is_own else None)
    assert own_address({"client": (peer, 4000), "headers": []}, (), is_direct=False) is None
