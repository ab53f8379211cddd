"""Noting what has left the house: soon, together, and also what is left when the process stops."""

import asyncio

from tickyard.kernel.clock import breathe
from tickyard.kernel.errors import UpstreamDown
from tickyard.payments.selling.deliveries import Deliveries
from yards.clocks import MovedClock


class Clock(MovedClock):
    """Sleeps until it is let go."""

    def __init__(self):
        super().__init__()
        self.slept, self.bell = [], asyncio.Event()

    async def sleep(self, seconds):
        self.slept.append(seconds)
        await self.bell.wait()
        self.bell.clear()


class Books:
    def __init__(self):
        self.written, self.trouble, self.door = [], None, asyncio.Event()
        self.door.set()

    async def deliver(self, keys):
        await self.door.wait()
        if self.trouble is not None:
            raise self.trouble
        self.written.append(list(keys))


def run(scenario):
    async def bounded():
        clock, books = Clock(), Books()
        async with asyncio.timeout(5):
            await scenario(Deliveries(books, clock), books, clock)

    asyncio.run(bounded())


async def settle():
    for _ in range(5):
        await breathe()


def test_what_leaves_within_a_second_is_noted_together_and_then_there_is_rest():
    async def scenario(deliveries, books, clock):
        for key in ("a", "b", "a"):
            deliveries.add(key)
        await settle()
        assert (books.written, clock.slept) == ([], [1.0])
        clock.bell.set()
        await settle()
        assert books.written == [["a", "b"]]
        assert len(clock.slept) == 1, "nothing is left to wait for"
        deliveries.add("c")
        await settle()
        clock.bell.set()
        await settle()
        assert books.written == [["a", "b"], ["c"]]
        await deliveries.close()
        assert len(books.written) == 2

    run(scenario)


def test_what_is_left_is_noted_when_the_process_stops_whatever_it_was_doing():
    async def scenario(deliveries, books, clock):
        deliveries.add("a")
        await settle()
        await deliveries.close()
        assert books.written == [["a"]]
        deliveries.add("b")
        await settle()
        books.door.clear()
        clock.bell.set()
        await settle()
        deliveries.add("c")
        closing = asyncio.create_task(deliveries.close())
        await settle()
        books.door.set()
        await closing
        assert books.written == [["a"], ["b", "c"]]

    run(scenario)


def test_an_answer_that_leaves_after_the_closing_is_noted_too():
    async def scenario(deliveries, books, clock):
        deliveries.add("a")
        await settle()
        await deliveries.close()
        deliveries.add("late")
        await settle()
        clock.bell.set()
        await settle()
        assert books.written == [["a"], ["late"]]

    run(scenario)


def test_what_a_store_that_does_not_answer_was_told_is_told_again():
    async def scenario(deliveries, books, clock):
        books.trouble = UpstreamDown("no")
        deliveries.add("a")
        await settle()
        clock.bell.set()
        await settle()
        books.trouble = None
        deliveries.add("b")
        await settle()
        clock.bell.set()
        await settle()
        assert books.written == [["a", "b"]]
        assert clock.slept == [1.0, 1.0]

    run(scenario)
