"""Delivery end to end: rows of a real outbox, a real TLS receiver, at most one POST per alert."""

import asyncio
import base64
import json
import socket
from collections import Counter
from datetime import timedelta
from random import Random

import pytest
from standardwebhooks import Webhook

from proof import count
from tickyard.features.alerts import store as rows
from tickyard.features.alerts.deliver import PAUSES_S, RETRY_FOR, Courier, retry_at
from tickyard.features.alerts.evaluate import evaluate
from tickyard.features.alerts.rules import AlertStatus, Delivery, expiry_of
from tickyard.features.alerts.secret import AlertKeys, new_alert_id
from tickyard.features.alerts.store import Alert
from tickyard.features.alerts.webhook.addresses import EgressPolicy
from tickyard.features.alerts.webhook.egress import Egress
from tickyard.market.sampling.rounds import Round, slot_number
from tickyard.observe import metrics
from tickyard.store import outbox
from tickyard.store.opening import open_store
from yards import parcels
from yards import webhook_receiver as webhook
from yards.clocks import MovedClock
from yards.patience import STUCK_S
from yards.schema import lay

Receiver, StubResolver = webhook.Receiver, webhook.StubResolver

KEYS = AlertKeys({1: b"k" * 32})
HOSTS = [f"h{n}.acme.com" for n in range(200)]


@pytest.fixture(scope="module")
def authority():
    return webhook.Authority()


class World:
    """A store with fired alerts, and couriers for them."""

    def __init__(self, store, clock, authority, port, resolver):
        self.store, self.clock, self.port = store, clock, port
        extra = frozenset((name, port) for name in [*HOSTS, "127.0.0.1", "127.0.0.2", "::1"])
        self.resolver = resolver or StubResolver(always=["127.0.0.1"])
        self._egress = lambda total_s: Egress(
            EgressPolicy(allowed_extra=extra), self.resolver, authority.trusting(), clock, total_s=total_s
        )

    def courier(self, *, total_s=2.0, keys=KEYS):
        return Courier(self.store, self._egress(total_s), keys, self.clock, Random(1), user_agent="tickyard/test")

    async def fire(self, *hosts, path="/x", key_version=1):
        """One fired alert per host; their ids."""
        now = self.clock.now()
        made = [
            Alert(
                id=new_alert_id(),
                symbol="AAPL",
                token_id=1,
                condition="above",
                price_e9=101 * 10**9,
                webhook_url=f"https://{host}:{self.port}{path}",
                host=host,
                domain="acme.com",
                client="c",
                key_version=key_version,
                status=AlertStatus.ACTIVE,
                created_at=now,
                expires_at=expiry_of(now),
            )
            for host in hosts
        ]
        async with self.store.begin() as tx:
            for alert in made:
                await rows.add(tx, alert)
            taken = Round(slot_number(now), 1, "0x1", {1: 105_500_000_000}, 0, now)
            assert await evaluate(tx, taken, {1: 100 * 10**9}) == len(made)
        return [alert.id for alert in made]

    async def states(self, ids):
        async with self.store.read() as tx:
            return [(await rows.find(tx, id_)).delivery for id_ in ids]


@pytest.fixture
def run(tmp_path, authority):
    """`run(work, manner=)`: the work gets a world and the receiver its alerts point to."""

    def run(work, manner="204 No Content", *, resolver=None):
        async def go():
            clock = MovedClock()
            store = open_store(tmp_path / "tickyard.db", clock, Random(1))
            try:
                await lay(store)
                async with asyncio.timeout(STUCK_S), Receiver(authority.serving("*.acme.com"), manner) as receiver:
                    return await work(World(store, clock, authority, receiver.port, resolver), receiver)
            finally:
                await store.close()

        return asyncio.run(go())

    return run


def posts(receiver):
    return Counter(headers["webhook-id"] for _, headers, _ in receiver.requests)


@pytest.mark.slow
def test_a_delivery_carries_the_payload_the_secret_and_a_signature_that_libraries_verify(run):
    async def work(world, receiver):
        (id_,) = await world.fire(HOSTS[0], path="/x?y=1")
        courier = world.courier()
        await parcels.deliver_due(courier)
        ((first, headers, body),) = receiver.requests
        assert first == "POST /x?y=1 HTTP/1.1"
        assert headers["x-svc-alert-secret"] == KEYS.secret_text(id_, 1)
        assert headers["webhook-id"] == id_
        assert headers["content-type"] == "application/json"
        assert headers["user-agent"] == "tickyard/test"
        assert Webhook("whsec_" + base64.b64encode(KEYS.derive(id_, 1)).decode()).verify(body, headers) == json.loads(
            body
        )
        event = json.loads(body)
        assert list(event) == ["type", "id", "symbol", "condition", "threshold", "price", "source", "firedAt"]
        assert (event["id"], event["threshold"], event["price"]) == (id_, 101, 105.5)
        assert await world.states([id_]) == [Delivery.DELIVERED]
        assert courier.counts == {Delivery.DELIVERED: 1}

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("manner", "ended"),
    [
        ("500 Oops", Delivery.FAILED),
        ("redirect", Delivery.FAILED),
        ("hang", Delivery.UNKNOWN),
        ("reset", Delivery.UNKNOWN),
        ("garbage", Delivery.UNKNOWN),
        ("flood_head", Delivery.UNKNOWN),
    ],
)
def test_once_bytes_were_written_nothing_is_sent_again_whatever_comes_back(run, manner, ended):
    async def work(world, receiver):
        ids = await world.fire(HOSTS[0])
        for _ in range(3):
            await parcels.deliver_due(world.courier(total_s=0.5))
            world.clock.offset += timedelta(minutes=20)
        assert await world.states(ids) == [ended]
        assert posts(receiver) == {ids[0]: 1}

    run(work, manner)


def test_metrics_count_how_deliveries_end_and_how_long_the_oldest_waits(run):
    def shown(name, **labels):
        return metrics.REGISTRY.get_sample_value(name, labels)

    async def work(world, receiver):
        before = shown("tickyard_deliveries_total", outcome="delivered")
        await world.fire(HOSTS[0], HOSTS[1])
        courier = world.courier()
        world.clock.offset += timedelta(seconds=90)
        await courier.show_backlog()
        assert shown("tickyard_outbox_pending") == 2
        assert 90 <= shown("tickyard_outbox_overdue_seconds") < 100
        await parcels.deliver_due(courier)
        await courier.show_backlog()
        assert shown("tickyard_deliveries_total", outcome="delivered") == before + 2
        assert (shown("tickyard_outbox_pending"), shown("tickyard_outbox_overdue_seconds")) == (0, 0)
        assert shown("tickyard_deliveries_total", outcome="unknown") is not None

    run(work)


def test_a_receiver_that_was_dead_at_first_gets_its_one_post_when_it_is_back(run):
    async def work(world, receiver):
        ids = await world.fire(*[HOSTS[0]] * 5)
        courier = world.courier()
        await parcels.deliver_due(courier)
        assert await world.states(ids) == [Delivery.PENDING] * 5
        # Those that waited behind the first were put off with it.
        assert len(world.resolver.asked) <= 2
        await parcels.deliver_due(courier)
        assert len(world.resolver.asked) <= 2
        world.resolver.always = ["127.0.0.1"]
        world.clock.offset += timedelta(seconds=PAUSES_S[0] * 2)
        await parcels.deliver_due(courier)
        assert await world.states(ids) == [Delivery.DELIVERED] * 5
        assert posts(receiver) == dict.fromkeys(ids, 1)

    run(work, resolver=StubResolver(always=None))


@pytest.mark.slow
def test_a_receiver_that_stays_dead_is_given_up_after_an_hour(run):
    async def work(world, receiver):
        ids = await world.fire(HOSTS[0])
        courier = world.courier()
        fired_at = world.clock.now()
        while await world.states(ids) == [Delivery.PENDING]:
            await parcels.deliver_due(courier)
            world.clock.offset += timedelta(seconds=5)
        assert await world.states(ids) == [Delivery.FAILED]
        assert timedelta(minutes=40) < world.clock.now() - fired_at <= RETRY_FOR + timedelta(seconds=10)
        assert 5 < len(world.resolver.asked) < 15
        assert not receiver.requests
        assert courier.counts == {Delivery.FAILED: 1}

    run(work, resolver=StubResolver(always=["10.0.0.1"]))


def test_a_parcel_older_than_an_hour_is_never_sent(run):
    """Whatever kept it: the receiver is there and would take it."""

    async def work(world, receiver):
        old = await world.fire(*HOSTS[:3])
        world.clock.offset += RETRY_FOR + timedelta(seconds=1)
        new = await world.fire(*HOSTS[:3])
        await parcels.deliver_due(world.courier())
        assert await world.states(old) == [Delivery.FAILED] * 3
        assert await world.states(new) == [Delivery.DELIVERED] * 3
        assert posts(receiver) == dict.fromkeys(new, 1)

    run(work)


def test_a_parcel_that_grows_too_old_on_its_way_to_the_receiver_is_not_sent(run):
    resolver = StubResolver(always=["127.0.0.1"])

    async def work(world, receiver):
        (id_,) = await world.fire(HOSTS[0])
        world.clock.offset += RETRY_FOR - timedelta(seconds=1)
        found = resolver.resolve

        async def slow(host, zone):
            world.clock.offset += timedelta(milliseconds=1200)
            return await found(host, zone)

        resolver.resolve = slow
        await parcels.deliver_due(world.courier())
        assert not receiver.requests
        assert await world.states([id_]) != [Delivery.DELIVERED]

    run(work, resolver=resolver)


def test_pauses_grow_and_end_within_the_hour():
    born = MovedClock().now()
    now, pauses = born, []
    while (due := retry_at(len(pauses), born, now, 1.0)) is not None:
        pauses.append(due - now)
        now = due
    assert pauses == sorted(pauses)
    assert now <= born + RETRY_FOR


@pytest.mark.slow
def test_several_workers_on_one_outbox_send_each_alert_once(run):
    async def work(world, receiver):
        ids = await world.fire(*HOSTS[:30])
        couriers = [world.courier() for _ in range(3)]
        await asyncio.gather(*(parcels.deliver_due(courier) for courier in couriers))
        for courier in couriers:
            await parcels.deliver_due(courier)
        assert await world.states(ids) == [Delivery.DELIVERED] * 30
        assert posts(receiver) == dict.fromkeys(ids, 1)

    run(work)


def test_a_crash_between_marking_and_sending_shows_unknown_and_is_never_sent(run):
    async def work(world, receiver):
        ids = await world.fire(HOSTS[0], HOSTS[1])
        async with world.store.begin() as tx:
            waiting = await parcels.due(tx, rows.KIND, world.clock.now(), 10)
            lost = next(parcel for parcel in waiting if parcel.key == ids[0])
            assert await outbox.start(tx, lost, world.clock.now())
        courier = world.courier()
        assert await courier.settle_interrupted() == 0
        await parcels.deliver_due(courier)
        world.clock.offset += timedelta(seconds=61)
        assert await courier.settle_interrupted() == 1
        await parcels.deliver_due(courier)
        assert await world.states(ids) == [Delivery.UNKNOWN, Delivery.DELIVERED]
        assert posts(receiver) == {ids[1]: 1}

    run(work)


def test_a_sending_of_our_own_is_never_taken_for_an_interrupted_one(run):
    async def work(world, receiver):
        ids = await world.fire(HOSTS[0])
        courier = world.courier(total_s=1)
        await courier.pick_up()
        while not receiver.requests:
            await world.clock.sleep(0.01)
        world.clock.offset += timedelta(days=1)
        assert await courier.settle_interrupted() == 0
        receiver.manner = "204 No Content"
        await courier.drain()
        assert await world.states(ids) == [Delivery.UNKNOWN]

    run(work, "hang")


def test_an_alert_whose_key_is_gone_is_not_sent(run):
    async def work(world, receiver):
        ids = await world.fire(HOSTS[0])
        await parcels.deliver_due(world.courier(keys=AlertKeys({2: b"n" * 32})))
        assert await world.states(ids) == [Delivery.FAILED]
        assert not receiver.requests

    run(work)


def test_an_alert_of_a_newer_key_is_left_to_a_worker_that_knows_it(run):
    async def work(world, receiver):
        ids = await world.fire(HOSTS[0], key_version=2)
        await parcels.deliver_due(world.courier(keys=AlertKeys({1: b"k" * 32})))
        assert await world.states(ids) == [Delivery.PENDING]
        assert not receiver.requests
        world.clock.offset += timedelta(minutes=5)
        await parcels.deliver_due(world.courier(keys=AlertKeys({1: b"k" * 32, 2: b"n" * 32})))
        assert await world.states(ids) == [Delivery.DELIVERED]

    run(work)


def test_stopping_finishes_what_has_begun_and_leaves_the_rest_pending(run):
    async def work(world, receiver):
        ids = await world.fire(*[HOSTS[0]] * 10)
        courier = world.courier()
        await courier.pick_up()
        await courier.stop()
        states = Counter(await world.states(ids))
        assert states[Delivery.DELIVERED] == len(receiver.requests) <= 2
        assert states[Delivery.PENDING] == 10 - states[Delivery.DELIVERED]
        await parcels.deliver_due(world.courier())
        assert await world.states(ids) == [Delivery.DELIVERED] * 10
        assert posts(receiver) == dict.fromkeys(ids, 1)

    run(work)


def _second_loopback():
    """Another address of this machine: slow receivers must not share the address of the others."""
    for address, family in (("127.0.0.2", socket.AF_INET), ("::1", socket.AF_INET6)):
        with socket.socket(family) as probe:
            try:
                probe.bind((address, 0))
            except OSError:
                continue
            return address
    raise RuntimeError("this machine has one loopback address only")


@pytest.mark.slow
def test_a_hundred_dead_or_slow_receivers_do_not_delay_a_thousand_others(run, authority):
    """Fifty hosts accept and never answer, fifty have a name that never resolves. They fire first."""
    slow, silent, others = HOSTS[:50], HOSTS[50:100], HOSTS[100:140]
    for_each = count(25, tenth=25, quick=2)
    elsewhere, unheard = _second_loopback(), asyncio.Event()
    answers = {host: [[elsewhere]] for host in slow} | {host: [unheard] for host in silent}

    async def work(world, receiver):
        async with Receiver(authority.serving("*.acme.com"), "hang", at=(elsewhere, world.port)) as tar_pit:
            stuck = await world.fire(*(slow + silent) * 2)
            fine = await world.fire(*others * for_each)
            courier = world.courier(total_s=80)
            working = asyncio.create_task(courier.keep_delivering())
            while courier.counts[Delivery.DELIVERED] < len(fine):
                await world.clock.sleep(0.05)
            working.cancel()
            assert tar_pit.requests
            assert set(await world.states(stuck)) == {Delivery.PENDING, Delivery.SENDING}
            assert courier.counts == {Delivery.DELIVERED: len(fine)}
            assert posts(receiver) == dict.fromkeys(fine, 1)
        # The tar pit is gone: what it held is unknown, what never got through may be tried again.
        unheard.set()
        await courier.drain()
        states = Counter(await world.states(stuck))
        assert set(states) == {Delivery.PENDING, Delivery.UNKNOWN}
        assert states[Delivery.UNKNOWN] == len(tar_pit.requests)
        assert max(posts(tar_pit).values()) == 1

    run(work, resolver=StubResolver(answers, always=["127.0.0.1"]))
