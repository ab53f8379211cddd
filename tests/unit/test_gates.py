"""So many at a time behind each key, and nobody waits for another key."""

import asyncio

from tickyard.features.alerts.webhook.gates import Gates


class Crowd:
    """People who want through the gates, and stay inside until they are told to leave."""

    def __init__(self, width):
        self.gates = Gates(width)
        self.inside = []
        self._leave = {}
        self._tasks = {}

    async def arrive(self, *names):
        for name in names:
            self._leave[name] = asyncio.Event()
            self._tasks[name] = asyncio.create_task(self._pass(name))
        await self.settle()

    async def leave(self, name):
        self._leave[name].set()
        await self._tasks[name]
        await self.settle()

    async def give_up(self, name):
        self._tasks[name].cancel()
        await asyncio.gather(self._tasks[name], return_exceptions=True)

    async def settle(self):
        for _ in range(10):
            await asyncio.sleep(0)  # noqa: TID251  no time goes by: everybody gets a turn

    async def _pass(self, name):
        async with self.gates.enter(name[0]):
            self.inside.append(name)
            await self._leave[name].wait()
            self.inside.remove(name)


def play(width, scenario):
    async def run():
        await scenario(Crowd(width))

    asyncio.run(run())


def test_a_key_lets_in_as_many_as_it_is_wide_and_the_next_when_one_leaves():
    async def scenario(crowd):
        await crowd.arrive("a1", "a2", "a3", "a4")
        assert crowd.inside == ["a1", "a2"]
        await crowd.leave("a1")
        assert crowd.inside == ["a2", "a3"]
        await crowd.arrive("a5")
        assert crowd.inside == ["a2", "a3"]
        await crowd.leave("a2")
        await crowd.leave("a3")
        assert crowd.inside == ["a4", "a5"]

    play(2, scenario)


def test_a_full_key_keeps_nobody_else_waiting():
    async def scenario(crowd):
        await crowd.arrive("a1", "a2", "b1")
        assert crowd.inside == ["a1", "b1"]

    play(1, scenario)


def test_a_key_is_forgotten_when_the_last_one_has_left_or_given_up():
    async def scenario(crowd):
        await crowd.arrive("a1", "a2", "a3", "b1")
        assert len(crowd.gates) == 2
        await crowd.give_up("a2")
        await crowd.leave("b1")
        assert len(crowd.gates) == 1
        await crowd.leave("a1")
        assert (crowd.inside, len(crowd.gates)) == (["a3"], 1)
        await crowd.leave("a3")
        assert len(crowd.gates) == 0

    play(1, scenario)
