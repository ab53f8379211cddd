"""Short-lived copies and shared flights."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from tickyard.kernel.errors import UpstreamDown
from tickyard.market.short_lived import Copies, SharedFlight

START = datetime(2026, 10, 1, tzinfo=UTC)


class HandClock:
    """Moves when told."""

    def __init__(self):
        self.at = START

        self.wrong_s = 0.0

    def timestamp(self):
        return self.at.timestamp() + self.wrong_s

    def monotonic(self):
        return self.at.timestamp()

    def move(self, seconds):
        self.at += timedelta(seconds=seconds)


class Upstream:
    def __init__(self):
        self.asked = []
        self.is_down = False

    async def fetch(self, key):
        self.asked.append(key)
        if self.is_down:
            raise UpstreamDown("down")
        return f"{key} {len(self.asked)}"


def copies():
    clock, upstream = HandClock(), Upstream()
    kept = Copies(upstream.fetch, clock, reuse=timedelta(seconds=5), stale=timedelta(seconds=15))
    return clock, upstream, kept


def test_a_copy_is_reused_for_its_seconds_and_no_longer():
    async def scenario():
        clock, upstream, kept = copies()
        assert (await kept.get("a")).value == "a 1"
        clock.move(5)
        assert (await kept.get("a")).value == "a 1"
        clock.move(0.001)
        assert (await kept.get("a")).value == "a 2"
        assert (await kept.get("b")).value == "b 3"
        assert upstream.asked == ["a", "a", "b"]

    asyncio.run(scenario())


@pytest.mark.parametrize("wrong_s", [7200.0, -7200.0])
def test_a_clock_that_was_wrong_for_a_while_makes_no_copy_live_longer(wrong_s):
    async def scenario():
        clock, upstream, kept = copies()
        clock.wrong_s = wrong_s
        copy = await kept.get("a")
        clock.move(3)
        clock.wrong_s = 0.0
        assert kept.seconds_left(copy) <= 2
        clock.move(3)
        assert (await kept.get("a")).value == "a 2"
        upstream.is_down = True
        clock.move(16)
        with pytest.raises(UpstreamDown):
            await kept.get("a")

    asyncio.run(scenario())


def test_a_stale_copy_stands_in_while_the_source_is_down():
    async def scenario():
        clock, upstream, kept = copies()
        copy = await kept.get("a")
        upstream.is_down = True
        clock.move(15)
        assert await kept.get("a") is copy
        assert kept.seconds_left(copy) == 0
        clock.move(0.001)
        with pytest.raises(UpstreamDown):
            await kept.get("a")
        upstream.is_down = False
        assert (await kept.get("a")).value == "a 4"

    asyncio.run(scenario())


def test_an_answer_may_be_reused_only_until_its_copy_is_too_old():
    async def scenario():
        clock, _, kept = copies()
        copy = await kept.get("a")
        assert kept.seconds_left(copy) == 5
        clock.move(1.5)
        assert kept.seconds_left(copy) == 3
        clock.move(3.5)
        assert kept.seconds_left(copy) == 10, "only a source that is down shows a copy this old"
        clock.move(20)
        assert kept.seconds_left(copy) == 0

    asyncio.run(scenario())


def test_a_copy_is_as_old_as_the_question():
    async def scenario():
        clock = HandClock()

        async def slow(_key):
            clock.move(3)
            return "answer"

        kept = Copies(slow, clock, reuse=timedelta(seconds=5), stale=timedelta(seconds=15))
        assert (await kept.get("a")).fetched.wall == START.timestamp()

    asyncio.run(scenario())


class Gate:
    """A call that waits until it is let go."""

    def __init__(self):
        self.calls = 0
        self.open = asyncio.Event()

    async def __call__(self):
        self.calls += 1
        await self.open.wait()
        return self.calls


def test_who_asks_the_same_meanwhile_shares_the_answer():
    async def scenario():
        flight, gate = SharedFlight(), Gate()
        askers = [asyncio.create_task(flight.share("a", gate)) for _ in range(5)]
        await asyncio.wait(askers, timeout=0.01)
        gate.open.set()
        assert await asyncio.gather(*askers) == [1] * 5
        assert await flight.share("a", gate) == 2, "an answer is not kept"

    asyncio.run(scenario())


def test_a_caller_who_goes_away_takes_nothing_from_the_others():
    async def scenario():
        flight, gate = SharedFlight(), Gate()
        first, second = (asyncio.create_task(flight.share("a", gate)) for _ in range(2))
        await asyncio.wait([first, second], timeout=0.01)
        first.cancel()
        await asyncio.wait([first], timeout=1)
        gate.open.set()
        assert await second == 2, "asked again in its own name"
        assert first.cancelled()

    asyncio.run(scenario())


def test_who_only_waits_may_go_away_too():
    async def scenario():
        flight, gate = SharedFlight(), Gate()
        first, second, third = (asyncio.create_task(flight.share("a", gate)) for _ in range(3))
        await asyncio.wait([first, second, third], timeout=0.01)
        second.cancel()
        await asyncio.wait([second], timeout=1)
        gate.open.set()
        assert await asyncio.gather(first, third) == [1, 1]

    asyncio.run(scenario())


def test_a_failure_is_shared_and_then_forgotten():
    async def scenario():
        flight, gate, outcomes = SharedFlight(), Gate(), [UpstreamDown("down"), None]

        async def fetch():
            await gate()
            if failure := outcomes.pop(0):
                raise failure
            return "fine"

        askers = [asyncio.create_task(flight.share("a", fetch)) for _ in range(3)]
        await asyncio.wait(askers, timeout=0.01)
        gate.open.set()
        results = await asyncio.gather(*askers, return_exceptions=True)
        assert {type(result) for result in results} == {UpstreamDown}
        assert await flight.share("a", fetch) == "fine"

    asyncio.run(scenario())
