"""A clock that is ahead: what it takes for over and done with is not over for all, and nothing is ended by it for good."""

import asyncio
from datetime import timedelta
from random import Random
from types import SimpleNamespace

import pytest
from sqlalchemy import func, select

from tickyard.chain.rpc.client import Head
from tickyard.features.alerts import store as alerts
from tickyard.features.alerts.deliver import Courier
from tickyard.features.alerts.rules import AlertStatus, Delivery, expiry_of
from tickyard.features.alerts.secret import AlertKeys
from tickyard.features.alerts.store import Alert
from tickyard.features.alerts.webhook.addresses import EgressPolicy
from tickyard.features.alerts.webhook.outcome import PostOutcome
from tickyard.features.earn.days import epochs
from tickyard.features.earn.tables import earn_epoch
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.metrics import REGISTRY
from tickyard.payments.proof.chain import Tip
from tickyard.store import outbox
from tickyard.store.opening import open_store
from tickyard.worker import jobs
from yards.clocks import MovedClock
from yards.patience import STUCK_S
from yards.schema import lay

ALERT = "5d1c4f0be2a94b7c8e0f6a7d3b2c1a90"
HEAD_AT = 1_790_000_000
KEYS = AlertKeys({1: b"k" * 32})


class Chain:
    """The newest block, as a node tells it to a machine whose clock says `clock`."""

    chain_id = 4663

    def __init__(self, clock):
        self._clock = clock

    async def head(self):
        if self._clock.wrong:
            raise UpstreamDown("the chain node is behind the chain")
        return Head(7, "0x" + "07" * 32, HEAD_AT)


class SecondChain:
    """What our own eyes on 8453 see of its newest block."""

    def __init__(self):
        self.asked, self.is_dead = 0, False
        self.clock = WallClock()

    async def tip(self):
        self.asked += 1
        if self.is_dead:
            raise UpstreamDown("the chain node did not answer")
        return Tip(9, HEAD_AT + 9, 9)


class House:
    def __init__(self, store):
        self.store, self.clock = store, MovedClock()
        """The store's clock is right; this machine's is its own."""
        settings = SimpleNamespace(networks=("4663", "8453"))
        self.deps = SimpleNamespace(store=store, clock=self.clock, rpc=Chain(self.clock), settings=settings)
        self.second = SecondChain()
        payments = SimpleNamespace(chains={"eip155:8453": self.second})
        self._tidier = jobs.Tidier(payments)

    async def tidy(self):
        await self._tidier.do_due(self.deps, None)

    async def add_alert(self):
        now = self.clock.now()
        made = Alert(
            id=ALERT, webhook_url="https://acme.com/x", host="acme.com", symbol="AAPL", token_id=1, condition="above",
            price_e9=101 * 10**9, domain="acme.com", client="c", key_version=1, status=AlertStatus.ACTIVE,
            created_at=now, expires_at=expiry_of(now),
        )  # fmt: skip
        async with self.store.begin() as tx:
            await alerts.add(tx, made)

    async def alert(self):
        async with self.store.read() as tx:
            return await alerts.find(tx, ALERT)


@pytest.fixture
def run(tmp_path):
    def run(work):
        async def go():
            store = open_store(tmp_path / "tickyard.db", MovedClock(), Random(1))
            try:
                await lay(store)
                async with asyncio.timeout(STUCK_S):
                    return await work(House(store))
            finally:
                await store.close()

        return asyncio.run(go())

    return run


def test_it_expires_no_alert_that_the_chain_says_is_young(run):
    async def scenario(house):
        await house.add_alert()
        house.clock.misset(days=31)
        with pytest.raises(UpstreamDown):
            await house.tidy()
        assert (await house.alert()).status is AlertStatus.ACTIVE
        house.clock.misset()
        house.clock.move(days=31)
        await house.tidy()
        assert (await house.alert()).status is AlertStatus.EXPIRED

    run(scenario)


def test_the_worker_shows_the_newest_block_by_itself(run):
    """Where nobody asks an API process whether it is ready, the alarm on an old head goes by this one."""

    async def scenario(house):
        await house.tidy()
        assert REGISTRY.get_sample_value("tickyard_head_timestamp_seconds", {"chain": "4663"}) == HEAD_AT
        ahead_s = HEAD_AT - house.clock.timestamp()
        shown = REGISTRY.get_sample_value("tickyard_head_ahead_seconds", {"chain": "4663"})
        assert shown == pytest.approx(ahead_s, abs=5), "by our own clock, whatever the one of who reads it says"
        house.clock.misset(days=1)
        with pytest.raises(UpstreamDown):
            await house.tidy()
        assert REGISTRY.get_sample_value("tickyard_head_timestamp_seconds", {"chain": "4663"}) == HEAD_AT

    run(scenario)


def test_the_worker_looks_at_the_second_chain_too_although_nobody_pays(run):
    """A node of 8453 that died while nobody paid was found by the next buyer: no alarm had anything to go by."""

    def shown():
        return REGISTRY.get_sample_value("tickyard_head_timestamp_seconds", {"chain": "8453"})

    async def scenario(house):
        await house.tidy()
        assert shown() == HEAD_AT + 9
        await house.add_alert()
        house.second.is_dead = True
        house.clock.move(days=31)
        await house.tidy()
        assert (await house.alert()).status is AlertStatus.EXPIRED, "its trouble keeps nothing else"
        assert (shown(), house.second.asked) == (HEAD_AT + 9, 2)
        house.deps.settings.networks = ("4663",)
        await house.tidy()
        assert house.second.asked == 2, "no payments are taken there"

    run(scenario)


def test_it_forgets_no_answer_that_was_paid_for(run, monkeypatch):
    done = []

    async def nothing(*_, **__):
        done.append("looked")

    async def forget():
        done.append("forgot")

    monkeypatch.setattr(jobs, "look_after", nothing)
    monkeypatch.setattr(jobs, "show_stock", nothing)

    async def scenario(house):
        house.deps.settings = SimpleNamespace(final_after=4)
        keeper = jobs.Bookkeeper(SimpleNamespace(ledger=SimpleNamespace(forget_answers=forget), chains=[]))
        house.clock.misset(days=2)
        with pytest.raises(UpstreamDown):
            await keeper.do_due(house.deps, None)
        # The books are looked after all the same, and the chain is not asked for the time at every look.
        await keeper.do_due(house.deps, None)
        assert done == ["looked"] * 4
        house.clock.misset()
        house.clock.move(61)
        await keeper.do_due(house.deps, None)
        assert done == [*["looked"] * 6, "forgot"]

    run(scenario)


def test_it_begins_no_day_of_the_reward_program(run):
    async def scenario(house):
        right = house.clock.now()
        house.clock.misset(days=30)
        await epochs._begin(house.store, house.clock.now())
        await epochs._begin(house.store, right)
        async with house.store.read() as tx:
            newest = (await tx.execute(select(func.max(earn_epoch.c.id)))).scalar_one()
        assert newest == int(right.strftime("%Y%m%d")) or newest == int((right + timedelta(days=1)).strftime("%Y%m%d"))

    run(scenario)


def test_it_gives_up_no_webhook_for_all_workers(run):
    """One of two workers was two hours ahead: each webhook of the other one failed within a second, unsent."""
    sent = []

    class FarEnd:
        policy = EgressPolicy()

        async def send(self, _url, headers, _body, claim):
            sent.append(int(headers["webhook-timestamp"]))
            return PostOutcome.DELIVERED if await claim() else PostOutcome.ABORTED

    async def scenario(house):
        await house.add_alert()
        now = house.clock.now()
        letter = {"url": "https://acme.com/x", "body": "{}", "key_version": 1, "secret": ""}
        async with house.store.begin() as tx:
            await outbox.put(tx, alerts.KIND, {ALERT: letter}, now)
        house.clock.misset(hours=2)
        courier = Courier(house.store, FarEnd(), KEYS, house.clock, Random(1), user_agent="tickyard/test")
        await courier.pick_up()
        await courier.drain()
        assert courier.counts == {Delivery.DELIVERED: 1}
        # What the receiver is told to be the time is the time of all.
        assert abs(sent[0] - now.timestamp()) < STUCK_S

    run(scenario)


def test_it_takes_no_sending_of_another_worker_for_interrupted(run):
    async def scenario(house):
        async with house.store.begin() as tx:
            now = house.clock.now()
            await outbox.put(tx, alerts.KIND, {ALERT: {"url": "https://acme.com/x"}}, now)
            await outbox.start(tx, outbox.Parcel(alerts.KIND, ALERT, None, now, 0, now), now)
        house.clock.misset(hours=2)
        courier = Courier(house.store, None, KEYS, house.clock, Random(1), user_agent="tickyard/test")
        assert await courier.settle_interrupted() == 0

    run(scenario)
