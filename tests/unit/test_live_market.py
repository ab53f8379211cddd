"""Who keeps the mirror: when it looks, whom it tells, and which quotes are asked of the node as well."""

import asyncio
from types import SimpleNamespace

import pytest

from tickyard.chain.rpc.client import Head
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.units import TokenAmount, UsdgAmount
from tickyard.market.mirror import follow
from tickyard.market.mirror.follow import LiveMarket
from tickyard.observe import metrics
from yards.written import pool

A = pool(1)
HEAD = Head(5, "0x" + "11" * 32, 7)
CHART = SimpleNamespace(spot=SimpleNamespace(pool=A, sqrt_price_x96=2**96))


class Clock:
    def __init__(self):
        self.now, self.slept = 100.0, []

    def monotonic(self):
        return self.now

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


class Mirror:
    """Does as it is told: a step takes its time, moves tokens, or fails."""

    def __init__(self, clock):
        self.clock, self.moves, self.takes_s, self.served = clock, frozenset(), 0.0, None
        self.pools, self.steps, self.dropped, self.fresh_s = [A], 0, [], 1.5

    def serve(self, pools, *, to_trade):
        self.asked = (pools, to_trade)
        return self.served

    def followed(self):
        return self.pools

    def drop(self, reason):
        self.dropped.append(reason)

    async def step(self):
        self.steps += 1
        self.clock.now += self.takes_s
        if isinstance(self.moves, Exception):
            raise self.moves
        return self.moves


def live(feed=None):
    clock = Clock()
    mirror = Mirror(clock)
    return LiveMarket(mirror, None, None, None, clock, feed), mirror, clock


def failed():
    return metrics.mirror_steps.labels("failed")._value.get()


def test_a_step_tells_which_tokens_moved_and_trouble_is_counted_and_no_more():
    async def scenario():
        market, mirror, _ = live()
        heard, before = [], failed()
        market.on_move += [heard.append, heard.append]
        await market.step()
        assert heard == []
        mirror.moves = frozenset({A.token})
        await market.step()
        assert (heard, failed() - before) == ([mirror.moves] * 2, 0)
        mirror.moves = UpstreamDown("no")
        await market.step()
        assert (len(heard), failed() - before) == (2, 1)

    asyncio.run(scenario())


def test_who_is_not_served_wakes_the_mirror():
    async def scenario():
        market, mirror, _ = live()
        mirror.served = (HEAD, [])
        assert market.serve([A]) == (HEAD, [])
        assert (market._wanted.is_set(), mirror.asked) == (False, ([A], False))
        mirror.served = None
        assert market.offer([A], None) is None
        assert (market._wanted.is_set(), mirror.asked) == (True, ([A], True))

    asyncio.run(scenario())


@pytest.mark.parametrize("is_fed", [False, True])
@pytest.mark.parametrize("node_s", [0.02, 0.1, 0.134, 0.15, 0.19, 0.2])
def test_what_is_confirmed_grows_too_old_over_no_step_with_a_node_that_is_up_to_200_ms_away(node_s, is_fed):
    """Else everybody who asks meanwhile takes the round trip, and the node's calls grow with the traffic."""

    async def scenario():
        market, _, clock = live(SimpleNamespace(is_on=is_fed, news=asyncio.Event()))
        began, takes_s = clock.now, 3 * node_s
        clock.now += takes_s
        await market._pause(began)
        assert clock.now + takes_s - began <= 1.5 + 1e-9
        assert clock.now - began >= follow.StepBudget.EARNED_S - 1e-9, "an hour has its number of steps and no more"

    asyncio.run(scenario())


@pytest.mark.parametrize(("takes_s", "pause_s"), [(0.0, 0.95), (0.25, 0.70), (0.9, 0.05), (5.0, 0.05)])
def test_without_a_feed_a_step_is_due_a_little_less_than_a_second_after_the_last(takes_s, pause_s):
    async def scenario():
        market, _, clock = live()
        began = clock.now
        clock.now += takes_s
        await market._pause(began)
        assert clock.slept == [pytest.approx(pause_s)]
        off, _, clock = live(SimpleNamespace(is_on=False))
        await off._pause(clock.now)
        assert clock.slept == [pytest.approx(0.95)]

    asyncio.run(scenario())


def test_with_a_feed_a_step_is_due_later_and_news_hasten_it_once_some_were_saved():
    async def scenario():
        feed = SimpleNamespace(is_on=True, news=asyncio.Event())
        market, _, clock = live(feed)
        feed.news.set()
        for count in range(1, 7):
            await market._pause(clock.now)
            assert len(clock.slept) == count, "nothing is saved yet: the time must pass"
            assert clock.slept[-1] == pytest.approx(1.1)
            assert market._budget.has_spare is (count >= 5)
            if market._budget.has_spare:
                break
        began, clock.now = clock.now, clock.now + 0.3
        await market._pause(began)
        assert clock.slept[-1] == pytest.approx(0.8)

    asyncio.run(scenario())


def test_nobody_is_followed_while_nobody_asks():
    async def scenario():
        heard = []
        feed = SimpleNamespace(is_on=False, news=asyncio.Event(), follow=heard.append)
        market, mirror, clock = live(feed)
        mirror.pools = []
        # Whoever woke it before has been served, or is gone.
        market._wanted.set()
        feed.news.set()
        keeping = asyncio.ensure_future(market.keep())
        await asyncio.wait({keeping}, timeout=0.01)
        assert (mirror.steps, heard) == (0, [frozenset()])
        market.serve([A])
        steps_before = len(clock.slept)
        mirror.pools = [A]

        async def stop(_):
            keeping.cancel()
            await asyncio.Event().wait()

        clock.sleep = stop
        await asyncio.gather(keeping, return_exceptions=True)
        assert (mirror.steps, steps_before, feed.news.is_set()) == (1, 0, False)

    asyncio.run(scenario())


def audits(name):
    return metrics.mirror_audits.labels(name)._value.get()


def fill(usdg, token):
    return SimpleNamespace(before=SimpleNamespace(pool=A), usdg=UsdgAmount(usdg), token=TokenAmount(token))


@pytest.mark.parametrize(
    ("told", "is_same"),
    [([fill(1, 2)], True), ([fill(1, 3)], False), ([fill(2, 2)], False), ([], False), (UpstreamDown("no"), None)],
)
def test_one_quote_in_five_hundred_is_asked_of_the_node_at_its_block_and_a_difference_drops_all(
    monkeypatch, told, is_same
):
    """Not the first of them, and never two at once."""
    asked = []

    class Question:
        @classmethod
        def to(cls, pools, trade, book):
            asked.append((pools, trade))
            return cls()

        def at(self, prices):
            asked.append(prices)
            return self

        def calls(self, contracts):
            return ["calls"]

        def fills(self, book, results):
            assert results == ["results"]
            return told

    class Reader:
        async def read(self, calls, *, block, max_calls_per_chunk):
            asked.append((calls, block, max_calls_per_chunk))
            if isinstance(told, Exception):
                raise told
            return SimpleNamespace(results=["results"])

    monkeypatch.setattr(follow, "Question", Question)
    monkeypatch.setattr(follow, "fills_of", lambda charts, trade: [fill(1, 2)])
    monkeypatch.setattr(follow, "winning_fills", lambda charts, trade: "winning")

    async def scenario():
        market, mirror, _ = live()
        market._reader = Reader()
        before = audits("same"), audits("different")
        quotes = [market.fills(HEAD, [CHART], "trade") for _ in range(499)]
        assert quotes == ["winning"] * 499
        assert market._audit is None
        assert market.fills(HEAD, [CHART], "trade")[0].token == 2
        under_way = market._audit
        market._quotes = 999
        assert market.fills(HEAD, [CHART], "trade") == "winning"
        assert market._audit is under_way
        await under_way
        assert asked == [([A], "trade"), {A: 2**96}, (["calls"], HEAD.hash, 60)]
        assert mirror.dropped == (["audit"] if is_same is False else [])
        counted = audits("same") - before[0], audits("different") - before[1]
        assert counted == (int(is_same is True), int(is_same is False))
        market._quotes = 1499
        assert market.fills(HEAD, [], "trade") == "winning", "of no pool there is nothing to compare"
        market._quotes = 1499
        market.fills(HEAD, [CHART], "trade")
        assert market._audit is not under_way
        await market.close()
        await asyncio.gather(market._audit, return_exceptions=True)
        assert market._audit.cancelled()

    asyncio.run(scenario())
