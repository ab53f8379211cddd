"""Long-lived tasks: one that dies is seen, started again after growing pauses, and never takes the others with it."""

import asyncio
from random import Random

import pytest

from tickyard.observe import metrics
from tickyard.supervisor import GaveUp, Supervisor
from yards.clocks import SkippingClock
from yards.patience import STUCK_S


class PausedClock(SkippingClock):
    """Pauses are written down and go by at once."""

    def __init__(self):
        super().__init__()
        self.pauses = []

    async def sleep(self, seconds):
        self.pauses.append(seconds)
        await super().sleep(seconds)


def run(scenario):
    async def go():
        clock = PausedClock()
        tasks = Supervisor(clock, Random(1))
        async with asyncio.timeout(STUCK_S):
            try:
                await scenario(tasks, clock)
            finally:
                await tasks.stop()

    asyncio.run(go())


async def until(condition):  # one turn of the loop after the other
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0)  # noqa: TID251  one turn of the loop, no time


class Frail:
    """Dies so many times of this, then lives."""

    def __init__(self, *deaths, always=None):
        self.deaths, self.always = list(deaths), always
        self.lives = 0
        self.lived = asyncio.Event()

    async def __call__(self):
        self.lives += 1
        if self.always is not None or self.deaths:
            death = self.always or self.deaths.pop(0)
            if death == "end":
                return
            raise death
        self.lived.set()
        await asyncio.Event().wait()


def deaths_of(name):
    return metrics.REGISTRY.get_sample_value("tickyard_task_deaths_total", {"task": name}) or 0


@pytest.mark.parametrize("death", [KeyError("AAPL"), "end", RuntimeError("x"), asyncio.CancelledError()])
def test_a_task_that_dies_of_anything_is_started_again(death):
    async def scenario(tasks, clock):
        frail, before = Frail(death, death, death), deaths_of("frail")
        tasks.start("frail", frail)
        await frail.lived.wait()
        assert (frail.lives, deaths_of("frail") - before) == (4, 3)
        assert len(clock.pauses) == 3
        assert clock.pauses[0] <= 0.5 < clock.pauses[2] <= 2, "pauses grow"
        assert tasks.down() == []
        tasks.check()

    run(scenario)


def test_one_that_dies_for_good_ends_the_process_and_says_which_it_was():
    async def scenario(tasks, clock):
        told = asyncio.Event()
        tasks.on_give_up.append(told.set)
        steady = Frail()
        tasks.start("steady", steady)
        tasks.start("doomed", Frail(always=KeyError("AAPL")))
        await told.wait()
        assert steady.lives == 1, "the others do not notice"
        with pytest.raises(GaveUp, match="doomed"):
            tasks.check()
        assert tasks.down() == ["doomed"]
        assert 60 < sum(clock.pauses) < 600, "some minutes of trying"

    run(scenario)


def test_one_that_lived_well_for_a_while_has_all_its_lives_again():
    async def scenario(tasks, clock):
        lives = 0

        async def now_and_then():
            nonlocal lives
            lives += 1
            clock.move(600)
            raise KeyError

        tasks.start("old", now_and_then)
        await until(lambda: lives > 50)
        tasks.check()
        assert max(clock.pauses) <= 0.5

    run(scenario)


def test_what_is_fatal_is_not_tried_again():
    class Halted(Exception):
        pass

    async def scenario(tasks, _clock):
        told = asyncio.Event()
        tasks.on_give_up.append(told.set)
        frail = Frail(always=Halted("needs a person"))
        tasks.start("agent", frail, fatal=(Halted,))
        await told.wait()
        assert frail.lives == 1
        with pytest.raises(Halted):
            tasks.check()

    run(scenario)


def test_a_task_that_is_told_to_end_may_end_also_while_it_waits_to_be_started_again():
    async def scenario(tasks, clock):
        stopping = asyncio.Event()

        async def work():
            await stopping.wait()

        class Standing(PausedClock):
            async def sleep(self, seconds):
                await asyncio.Event().wait()

        slow = Supervisor(Standing(), Random(1))
        tasks.start("good", work, until=stopping)
        slow.start("bad", Frail(KeyError()), until=stopping)
        await until(lambda: slow.down() == ["bad"])
        stopping.set()
        await tasks.finish(["good"])
        await slow.finish(["bad"])
        assert (tasks.names(), slow.names()) == ([], [])
        tasks.check()

    run(scenario)


def test_stopping_ends_what_runs_and_tells_the_metrics():
    async def scenario(tasks, _clock):
        ended = []

        async def work():
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        tasks.start("going", work)
        await until(lambda: any(task.get_name() == "going" for task in asyncio.all_tasks()))
        assert metrics.REGISTRY.get_sample_value("tickyard_task_up", {"task": "going"}) == 1
        await asyncio.sleep(0)  # noqa: TID251  one turn of the loop
        await tasks.stop("going")
        assert ended == [True]
        assert metrics.REGISTRY.get_sample_value("tickyard_task_up", {"task": "going"}) is None

    run(scenario)
