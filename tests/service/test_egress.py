"""The one place that opens webhook sockets, against names that lie and receivers that misbehave."""

import asyncio
import collections
import sys
import threading
from ipaddress import ip_address

import pytest

from tickyard.features.alerts.webhook.addresses import EgressPolicy
from tickyard.features.alerts.webhook.egress import PER_ADDRESS, PER_HOST, Egress
from tickyard.features.alerts.webhook.outcome import PostOutcome
from tickyard.features.alerts.webhook.resolver import ThreadedResolver, Unresolved
from tickyard.features.alerts.webhook.url import WebhookUrl, read_webhook_url
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.loop import Loop
from yards import webhook_receiver as webhook
from yards.patience import STUCK_S

Receiver, StubResolver, egress_to = webhook.Receiver, webhook.StubResolver, webhook.egress_to

BODY = b'{"type":"price_alert"}'
HEADERS = {"x-svc-alert-secret": "s"}


@pytest.fixture(scope="module")
def authority():
    return webhook.Authority()


@pytest.fixture(scope="module")
def dialled():
    """Every address any socket of this process connects to, as the interpreter itself reports it."""
    seen = []
    sys.addaudithook(lambda event, args: seen.append(args[1]) if event == "socket.connect" else None)
    return seen


@pytest.fixture(params=[asyncio.new_event_loop, Loop], ids=["asyncio", "ours"])
def run(request):
    async def bounded(work):
        async with asyncio.timeout(STUCK_S):
            return await work

    def run(work):
        with asyncio.Runner(loop_factory=request.param) as runner:
            return runner.run(bounded(work))

    return run


def at(receiver, host="hooks.acme.com", target="/"):
    return WebhookUrl(f"https://{host}:{receiver.port}{target}", host, receiver.port, target, None)


async def yes():
    return True


async def no():
    return False


def post(run, authority, manner, *, names=("hooks.acme.com",), total_s=None, claim=yes, resolver=None):
    """One request to a receiver with these manners: the outcome and the receiver."""
    if total_s is None:
        # Whoever never answers is waited for in vain; a handshake takes its time on a busy machine.
        total_s = {"no handshake": 0.5, "hang": 1.5}.get(manner, 5.0)

    async def go():
        async with Receiver(authority.serving(*names), manner) as receiver:
            egress = egress_to(receiver, authority, resolver=resolver, total_s=total_s)
            outcome = await egress.send(at(receiver), HEADERS, BODY, claim)
            if receiver.connections:
                await receiver.ended.wait()
            return outcome, receiver

    return run(go())


def test_a_request_arrives_whole_with_the_name_it_was_sent_to(run, authority):
    outcome, receiver = post(run, authority, "204 No Content")
    assert outcome is PostOutcome.DELIVERED
    ((first, headers, body),) = receiver.requests
    assert first == "POST / HTTP/1.1"
    assert body == BODY
    assert headers == {
        "host": f"hooks.acme.com:{receiver.port}",
        "accept": "*/*",
        "accept-encoding": "identity",
        "connection": "close",
        "content-length": str(len(BODY)),
        "x-svc-alert-secret": "s",
    }


@pytest.mark.parametrize("status", ["200 OK", "201 Created", "202 Accepted", "299 Fine"])
def test_2xx_is_delivered(run, authority, status):
    assert post(run, authority, status)[0] is PostOutcome.DELIVERED


@pytest.mark.parametrize("status", ["300 Many", "304 Same", "400 Bad", "404 Gone", "410 Gone", "500 Oops", "503 Busy"])
def test_every_other_answer_is_a_failure(run, authority, status):
    outcome, receiver = post(run, authority, status)
    assert outcome is PostOutcome.FAILED
    assert receiver.connections == 1


def test_a_redirect_is_not_followed(run, authority):
    outcome, receiver = post(run, authority, "redirect")
    assert (outcome, receiver.connections, len(receiver.requests)) == (PostOutcome.FAILED, 1, 1)


@pytest.mark.parametrize("manner", ["hang", "reset", "garbage", "flood_head", "flood_informational"])
def test_a_request_that_was_written_and_not_clearly_answered_is_unknown_and_not_repeated(run, authority, manner):
    outcome, receiver = post(run, authority, manner)
    assert outcome is PostOutcome.UNKNOWN
    assert (receiver.connections, len(receiver.requests)) == (1, 1)


@pytest.mark.parametrize("manner", ["flood_body", "half_body"])
def test_the_status_decides_whatever_becomes_of_the_body(run, authority, manner):
    assert post(run, authority, manner)[0] is PostOutcome.DELIVERED


@pytest.mark.parametrize("manner", ["flood_body", "flood_head", "flood_informational"])
def test_a_flood_is_cut_off(run, authority, manner):
    # What the receiver could write before we closed fits into the buffers on the way.
    assert post(run, authority, manner)[1].bytes_sent < 8_000_000


@pytest.mark.parametrize("manner", ["no handshake", "slam"])
def test_without_a_handshake_nothing_was_delivered_and_nobody_was_asked(run, authority, manner):
    asked = []

    async def claim():
        asked.append(1)
        return True

    outcome, receiver = post(run, authority, manner, claim=claim)
    assert outcome is PostOutcome.NOT_DELIVERED
    assert not asked
    assert not receiver.requests


def test_a_certificate_for_another_name_is_refused_before_any_byte(run, authority):
    outcome, receiver = post(run, authority, "204 No Content", names=("other.acme.com",))
    assert outcome is PostOutcome.NOT_DELIVERED
    assert not receiver.requests


def test_a_certificate_of_an_unknown_authority_is_refused_before_any_byte(run, authority):
    async def go():
        async with Receiver(webhook.Authority().serving("hooks.acme.com")) as receiver:
            outcome = await egress_to(receiver, authority).send(at(receiver), HEADERS, BODY, yes)
            return outcome, receiver.requests

    assert run(go()) == (PostOutcome.NOT_DELIVERED, [])


def test_a_call_off_after_the_handshake_writes_nothing(run, authority):
    outcome, receiver = post(run, authority, "204 No Content", claim=no)
    assert outcome is PostOutcome.ABORTED
    assert (receiver.connections, receiver.requests) == (1, [])


def test_a_claim_that_fails_writes_nothing_and_says_so(run, authority):
    async def broken():
        raise UpstreamDown("the store does not answer")

    async def go():
        async with Receiver(authority.serving("hooks.acme.com")) as receiver:
            with pytest.raises(UpstreamDown):
                await egress_to(receiver, authority).send(at(receiver), HEADERS, BODY, broken)
            await receiver.ended.wait()
            return receiver.requests

    assert run(go()) == []


def test_the_time_the_claim_takes_does_not_count(run, authority):
    async def slow():
        await WallClock().sleep(0.4)
        return True

    assert post(run, authority, "204 No Content", claim=slow, total_s=0.3)[0] is PostOutcome.DELIVERED


def test_nobody_listening_is_proven_non_delivery(run, authority):
    async def go():
        async with Receiver(authority.serving("hooks.acme.com")) as receiver:
            pass
        return await egress_to(receiver, authority).send(at(receiver), HEADERS, BODY, yes)

    assert run(go()) is PostOutcome.NOT_DELIVERED


def test_a_literal_address_is_checked_against_its_certificate(run, authority):
    async def go(*names):
        async with Receiver(authority.serving(*names)) as receiver:
            egress = egress_to(receiver, authority, resolver=StubResolver())
            url = read_webhook_url(f"https://127.0.0.1:{receiver.port}/x?y", egress.policy)
            return await egress.send(url, HEADERS, BODY, yes), [first for first, _, _ in receiver.requests]

    assert run(go("127.0.0.1")) == (PostOutcome.DELIVERED, ["POST /x?y HTTP/1.1"])
    assert run(go("hooks.acme.com")) == (PostOutcome.NOT_DELIVERED, [])


@pytest.mark.slow
@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["0.0.0.0"],
        ["fe80::1%1"],
        ["64:ff9b::7f00:1"],
        ["8.8.8.8", "127.0.0.1"],
        ["127.0.0.1", "8.8.8.8"],
        ["2606:4700::1111", "8.8.8.8", "fd00::1"],
        None,
        [],
    ],
)
def test_a_name_with_any_answer_that_is_not_public_is_never_dialled(run, authority, dialled, answers):
    """The default policy: not even the receiver on loopback may be reached."""

    async def go():
        async with Receiver(authority.serving("hooks.acme.com")) as receiver:
            resolver = StubResolver(always=answers or None)
            egress = Egress(EgressPolicy(), resolver, authority.trusting(), WallClock())
            before = len(dialled)
            outcome = await egress.send(at(receiver), HEADERS, BODY, yes)
            return outcome, receiver.connections, dialled[before:], len(resolver.asked)

    assert run(go()) == (PostOutcome.NOT_DELIVERED, 0, [], 1)


def test_a_name_that_changes_its_answer_is_asked_once_and_the_checked_address_dialled(run, authority, dialled):
    async def go():
        async with Receiver(authority.serving("hooks.acme.com")) as receiver:
            resolver = StubResolver({"hooks.acme.com": [["127.0.0.1"], ["127.0.0.2"], ["10.0.0.1"]]})
            egress = egress_to(receiver, authority, resolver=resolver)
            before = len(dialled)
            outcomes = [await egress.send(at(receiver), HEADERS, BODY, yes) for _ in range(3)]
            return outcomes, len(resolver.asked), set(dialled[before:]) == {("127.0.0.1", receiver.port)}

    outcomes, asked, dialled_only_the_checked = run(go())
    assert outcomes == [PostOutcome.DELIVERED, PostOutcome.NOT_DELIVERED, PostOutcome.NOT_DELIVERED]
    assert asked == 3
    assert dialled_only_the_checked


def test_a_silent_zone_ends_with_the_budget(run, authority):
    async def go():
        resolver = StubResolver(always=asyncio.Event())
        egress = Egress(EgressPolicy(), resolver, authority.trusting(), WallClock(), total_s=0.2)
        return await egress.send(read_webhook_url("https://hooks.acme.com/"), HEADERS, BODY, yes)

    assert run(go()) is PostOutcome.NOT_DELIVERED


def test_the_environment_names_no_proxy_for_us(run, authority, dialled, monkeypatch):
    async def go():
        async with Receiver(authority.serving("hooks.acme.com")) as receiver, Receiver(None, "slam") as proxy:
            for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            outcome = await egress_to(receiver, authority).send(at(receiver), HEADERS, BODY, yes)
            return outcome, proxy.connections

    assert run(go()) == (PostOutcome.DELIVERED, 0)


@pytest.mark.slow
def test_at_most_a_few_connections_per_host_and_per_address(run, authority):
    """Receivers that never answer: everything that may connect has connected, the rest waits at the gates."""

    async def go(hosts, width):
        async with Receiver(authority.serving("*.acme.com"), "hang") as receiver:
            egress = egress_to(receiver, authority, total_s=5)
            sends = [asyncio.create_task(egress.send(at(receiver, host), HEADERS, BODY, yes)) for host in hosts]
            while len(receiver.requests) < width:
                await WallClock().sleep(0.01)
            # Whoever could still slip through would do so within the time of many round trips.
            await WallClock().sleep(0.2)
            seen = receiver.connections
            for send in sends:
                send.cancel()
            await asyncio.gather(*sends, return_exceptions=True)
            return seen

    assert run(go(["hooks.acme.com"] * 8, PER_HOST)) == PER_HOST
    assert run(go([f"h{n}.acme.com" for n in range(PER_ADDRESS + 8)], PER_ADDRESS)) == PER_ADDRESS


def test_an_address_where_nobody_listens_is_no_reason_to_leave_the_others_out(run, authority):
    async def go():
        addresses = ["127.0.0.2", "127.0.0.3", "127.0.0.1"]
        async with Receiver(authority.serving("hooks.acme.com"), "204 No Content") as receiver:
            egress = egress_to(receiver, authority, resolver=StubResolver(always=addresses), addresses=addresses)
            outcome = await egress.send(at(receiver), HEADERS, BODY, yes)
            return outcome, len(receiver.requests)

    assert run(go()) == (PostOutcome.DELIVERED, 1)


def test_the_addresses_of_a_name_share_one_limit_of_time(run, authority):
    """The first takes all of it: the second is not tried, or a name with many would hold a place many times as long."""
    twice = StubResolver(always=["127.0.0.1", "127.0.0.1"])
    outcome, receiver = post(run, authority, "no handshake", resolver=twice)
    assert outcome is PostOutcome.NOT_DELIVERED
    assert receiver.connections < 2


def test_creation_refuses_a_name_that_points_inside_and_accepts_one_that_does_not_answer(run, authority):
    url = read_webhook_url("https://hooks.acme.com/")

    def screened(answers):
        async def go():
            egress = Egress(EgressPolicy(), StubResolver(always=answers), authority.trusting(), WallClock())
            return await egress.is_screened_out(url)

        return run(go())

    assert screened(["10.0.0.1"])
    assert screened(["8.8.8.8", "::1"])
    assert not screened(["8.8.8.8"])
    assert not screened(None)


def test_a_silent_zone_holds_only_its_own_threads(run):
    """Four threads are stuck in one zone; names elsewhere resolve, and nobody waits for the stuck ones."""
    release = threading.Event()
    busy = collections.Counter()
    most = collections.Counter()
    lock = threading.Lock()

    def lookup(host):
        zone = host.partition(".")[2]
        with lock:
            busy[zone] += 1
            most[zone] = max(most[zone], busy[zone])
        if zone == "tarpit.com":
            release.wait(10)
        with lock:
            busy[zone] -= 1
        if host == "nobody.acme.com":
            raise OSError
        return ["8.8.8.8", "2606:4700::1111"]

    async def go():
        resolver = ThreadedResolver(lookup, threads=6, per_zone=4)
        stuck = [asyncio.create_task(resolver.resolve(f"{n}.tarpit.com", "tarpit.com")) for n in range(20)]
        names = [resolver.resolve(f"{n}.acme.com", "acme.com") for n in range(50)]
        for found in await asyncio.gather(*names):
            assert found == [ip_address("8.8.8.8"), ip_address("2606:4700::1111")]
        with pytest.raises(Unresolved):
            await resolver.resolve("nobody.acme.com", "acme.com")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await resolver.resolve("late.tarpit.com", "tarpit.com")
        seen = dict(most)
        release.set()
        await asyncio.gather(*stuck)
        return seen

    seen = run(go())
    assert seen["tarpit.com"] == 4
    assert seen["acme.com"] <= 2
