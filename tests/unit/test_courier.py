"""The courier over a real outbox, with a far end that does what it is told: what is in hand, in which lane, and what
becomes of it when things go wrong."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from tickyard.features.alerts import deliver
from tickyard.features.alerts import store as rows
from tickyard.features.alerts.deliver import Courier, retry_at
from tickyard.features.alerts.evaluate import evaluate
from tickyard.features.alerts.rules import AlertStatus, Delivery, expiry_of
from tickyard.features.alerts.secret import AlertKeys, new_alert_id
from tickyard.features.alerts.store import Alert
from tickyard.features.alerts.webhook.addresses import EgressPolicy
from tickyard.features.alerts.webhook.outcome import PostOutcome
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.market.sampling.rounds import Round, slot_number
from tickyard.store.opening import open_store
from yards.clocks import MovedClock
from yards.parcels import deliver_due
from yards.patience import STUCK_S
from yards.schema import lay

BORN = datetime(2026, 11, 1, 12, tzinfo=UTC)
KEYS = AlertKeys({1: b"k" * 32})


class FarEnd:
    """Stands for the network: asks for leave as the real one does, and ends as `ends` says. `gate` holds all back."""

    def __init__(self):
        self.policy = EgressPolicy()
        self.ends = lambda _url: PostOutcome.DELIVERED
        self.gate = asyncio.Event()
        self.gate.set()
        self.at_once, self.most, self.sent = Counter(), Counter(), []

    async def send(self, url, _headers, _body, claim):
        self.at_once[url.host] += 1
        self.most[url.host] = max(self.most[url.host], self.at_once[url.host])
        try:
            await self.gate.wait()
            ended = self.ends(url)
            if ended is PostOutcome.NOT_DELIVERED:
                return ended
            if not await claim():
                return PostOutcome.ABORTED
            self.sent.append(url.host)
            return ended
        finally:
            self.at_once[url.host] -= 1


class Town:
    def __init__(self, store, clock):
        self.store, self.clock, self.far_end = store, clock, FarEnd()
        self.courier = self.another()

    def another(self):
        return Courier(self.store, self.far_end, KEYS, self.clock, Random(1), user_agent="tickyard/test")

    async def fire(self, *hosts):
        now = self.clock.now()
        common = {
            "symbol": "AAPL", "token_id": 1, "condition": "above", "price_e9": 101 * 10**9, "domain": "acme.com",
            "client": "c", "key_version": 1, "status": AlertStatus.ACTIVE, "created_at": now,
            "expires_at": expiry_of(now),
        }  # fmt: skip
        made = [Alert(id=new_alert_id(), webhook_url=f"https://{host}/x", host=host, **common) for host in hosts]
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
def run(tmp_path):
    def run(work, clock=None):
        async def go():
            town_clock = clock or MovedClock()
            store = open_store(tmp_path / "tickyard.db", town_clock, Random(1))
            try:
                await lay(store)
                async with asyncio.timeout(STUCK_S):
                    return await work(Town(store, town_clock))
            finally:
                await store.close()

        return asyncio.run(go())

    return run


@pytest.mark.parametrize(
    ("attempts", "pause_s"), [(0, 5), (1, 15), (2, 45), (3, 120), (4, 300), (5, 600), (6, 900), (7, 900), (50, 900)]
)
def test_every_pause_is_as_long_as_planned_and_at_most_a_quarter_longer(attempts, pause_s):
    pause = timedelta(seconds=pause_s)
    assert retry_at(attempts, BORN, BORN, 0.0) == BORN + pause
    assert retry_at(attempts, BORN, BORN, 1.0) == BORN + pause + pause // 4


def test_the_hour_itself_is_still_in_time():
    last = BORN + timedelta(hours=1) - timedelta(seconds=5)
    assert retry_at(0, BORN, last, 0.0) == BORN + timedelta(hours=1)
    assert retry_at(0, BORN, last + timedelta(microseconds=1), 0.0) is None


def test_what_is_in_hand_is_not_taken_again_and_no_more_than_there_is_room_for(run, monkeypatch):
    monkeypatch.setattr(deliver, "PAGE", 3)
    monkeypatch.setattr(deliver, "IN_HAND_MAX", 5)

    async def work(town):
        ids = await town.fire(*["a.acme.com"] * 7)
        town.far_end.gate.clear()
        assert [await town.courier.pick_up() for _ in range(4)] == [3, 2, 0, 0]
        assert await town.another().pick_up() == 3, "in nobody else's hand"
        town.far_end.gate.set()
        await town.courier.drain()
        assert await town.courier.pick_up() == 2
        await town.courier.drain()
        assert await town.states(ids) == [Delivery.DELIVERED] * 7
        assert town.courier.counts[Delivery.DELIVERED] == 7

    run(work)


def test_a_host_has_two_runners_and_its_neighbours_have_their_own(run):
    async def work(town):
        await town.fire(*["a.acme.com"] * 5, "b.acme.com")
        town.far_end.gate.clear()
        assert await town.courier.pick_up() == 6
        while town.far_end.most.total() < 3:
            await WallClock().sleep(0)
        town.far_end.gate.set()
        await town.courier.drain()
        assert town.far_end.most == {"a.acme.com": 2, "b.acme.com": 1}
        assert not town.courier._lanes
        assert not town.courier._runners
        await town.fire("a.acme.com")
        await deliver_due(town.courier)
        assert Counter(town.far_end.sent) == {"a.acme.com": 6, "b.acme.com": 1}

    run(work)


def test_what_was_not_begun_when_we_stopped_is_in_nobodys_hand(run):
    async def work(town):
        ids = await town.fire(*["a.acme.com"] * 6)
        town.far_end.gate.clear()
        await town.courier.pick_up()
        while not town.far_end.most:
            await WallClock().sleep(0)
        stopping = asyncio.ensure_future(town.courier.stop())
        await WallClock().sleep(0)
        town.far_end.gate.set()
        await stopping
        assert Counter(await town.states(ids)) == {Delivery.DELIVERED: 2, Delivery.PENDING: 4}
        assert await town.courier.pick_up() == 4
        await town.courier.drain()

    run(work)


def test_one_that_does_not_get_through_puts_off_those_behind_it_too(run):
    async def work(town):
        ids = await town.fire(*["a.acme.com"] * 4)
        town.far_end.ends = lambda _url: PostOutcome.NOT_DELIVERED
        await town.courier.pick_up()
        await town.courier.drain()
        assert town.far_end.sent == []
        assert await town.states(ids) == [Delivery.PENDING] * 4
        assert await town.courier.pick_up() == 0, "not due for five seconds"
        town.clock.move(7)
        town.far_end.ends = lambda _url: PostOutcome.DELIVERED
        assert await town.courier.pick_up() == 4
        await town.courier.drain()
        assert await town.states(ids) == [Delivery.DELIVERED] * 4

    run(work)


def test_a_parcel_is_sent_within_its_hour_and_given_up_after_it(run):
    async def work(town):
        first = await town.fire("a.acme.com")
        town.clock.move(minutes=59, seconds=50)
        await deliver_due(town.courier)
        late = await town.fire("a.acme.com")
        town.clock.move(minutes=60, seconds=1)
        await deliver_due(town.courier)
        assert await town.states([*first, *late]) == [Delivery.DELIVERED, Delivery.FAILED]
        assert town.far_end.sent == ["a.acme.com"]
        assert town.courier.counts == {Delivery.DELIVERED: 1, Delivery.FAILED: 1}
        assert await town.courier.pick_up() == 0

    run(work)


def test_a_bug_in_one_lane_leaves_its_parcels_to_be_found_again(run):
    async def work(town):
        ids = await town.fire(*["a.acme.com"] * 3, "b.acme.com")

        def broken(url):
            if url.host == "a.acme.com":
                raise RuntimeError("a bug")
            return PostOutcome.DELIVERED

        town.far_end.ends = broken
        await town.courier.pick_up()
        await town.courier.drain()
        assert Counter(await town.states(ids)) == {Delivery.PENDING: 3, Delivery.DELIVERED: 1}
        town.far_end.ends = lambda _url: PostOutcome.FAILED
        assert await town.courier.pick_up() == 3
        await town.courier.drain()
        assert Counter(await town.states(ids)) == {Delivery.FAILED: 3, Delivery.DELIVERED: 1}

    run(work)


def test_what_another_worker_has_begun_is_left_to_it(run):
    async def work(town):
        ids = await town.fire("a.acme.com")
        other = town.another()
        town.far_end.gate.clear()
        assert (await town.courier.pick_up(), await other.pick_up()) == (1, 1)
        town.far_end.gate.set()
        await asyncio.gather(town.courier.drain(), other.drain())
        assert town.far_end.sent == ["a.acme.com"]
        assert await town.states(ids) == [Delivery.DELIVERED]
        assert (town.courier.counts + other.counts) == {Delivery.DELIVERED: 1}

    run(work)


class CountingClock(MovedClock):
    """Pauses go by at once, are noted, and end the test when there were enough of them."""

    def __init__(self, most):
        super().__init__()
        self.pauses, self._most = [], most

    async def sleep(self, seconds):
        self.pauses.append(seconds)
        self.move(seconds)
        if len(self.pauses) >= self._most:
            raise asyncio.CancelledError
        await super().sleep(0)


def test_the_round_looks_every_second_and_settles_twice_a_minute_whatever_the_store_does(run):
    async def work(town):
        calls, failing = Counter(), [2, 3]
        courier = town.courier

        async def settle():
            calls["settle"] += 1

        async def pick_up():
            calls["pick_up"] += 1
            if calls["pick_up"] in failing:
                raise UpstreamDown("the store is busy")
            return 0

        courier.settle_interrupted, courier.pick_up = settle, pick_up
        with pytest.raises(asyncio.CancelledError):
            await courier.keep_delivering()
        assert town.clock.pauses == [1.0] * 61
        assert calls == {"settle": 3, "pick_up": 61}

    run(work, CountingClock(61))


def test_a_full_page_is_followed_by_the_next_without_a_pause(run, monkeypatch):
    monkeypatch.setattr(deliver, "PAGE", 2)

    async def work(town):
        pages = iter([2, 2, 1, 0])

        async def pick_up():
            return next(pages)

        town.courier.pick_up = pick_up
        with pytest.raises(asyncio.CancelledError):
            await town.courier.keep_delivering()
        assert next(pages, None) is None
        assert len(town.clock.pauses) == 2

    run(work, CountingClock(2))


def test_an_address_that_is_no_longer_allowed_and_one_whose_hour_is_over_are_given_up(run):
    async def work(town):
        inside, late = await town.fire("127.0.0.1", "a.acme.com")
        town.far_end.ends = lambda _url: PostOutcome.NOT_DELIVERED
        town.clock.move(minutes=59, seconds=56)
        await town.courier.pick_up()
        await town.courier.drain()
        assert await town.states([inside, late]) == [Delivery.FAILED] * 2
        assert town.courier.counts == {Delivery.FAILED: 2}
        assert town.far_end.sent == []

    run(work)
