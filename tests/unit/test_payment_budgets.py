"""Budgets: taken before the work, given back when it was worth it."""

import asyncio

import pytest

from tickyard.kernel.clock import WallClock, breathe
from tickyard.payments.refusal import TooManyPayments
from tickyard.payments.selling.budgets import Budget
from yards.clocks import MovedClock


def run(scenario, quota, **how):
    async def bounded():
        clock = MovedClock()
        async with asyncio.timeout(5):
            await scenario(Budget(quota, clock, "too many", **how), clock)

    asyncio.run(bounded())


def test_a_budget_is_spent_by_name_and_comes_back_after_a_minute():
    async def scenario(budget, clock):
        for _ in range(2):
            (await budget.take("a")).spend()
        with pytest.raises(TooManyPayments) as refused:
            await budget.take("a")
        assert 59 <= refused.value.retry_after_s <= 61
        (await budget.take("b")).give_back()
        clock.move(61)
        (await budget.take("a")).give_back()

    run(scenario, 2)


def test_what_is_given_back_may_be_taken_for_ever():
    async def scenario(budget, _clock):
        for _ in range(100):
            (await budget.take("a")).give_back()

    run(scenario, 2)


def test_the_first_word_about_a_place_counts():
    async def scenario(budget, _clock):
        place = await budget.take("a")
        place.give_back()
        place.spend()
        again = await budget.take("a")
        again.spend()
        again.give_back()
        with pytest.raises(TooManyPayments):
            await budget.take("a")

    run(scenario, 1)


def test_a_place_is_exchanged_for_one_under_another_name_and_is_free_again():
    async def scenario(budget, _clock):
        for _ in range(3):
            (await budget.exchange(await budget.take("a"), "b")).give_back()
        (await budget.take("b")).spend()
        with pytest.raises(TooManyPayments):
            await budget.exchange(await budget.take("a"), "b")
        # Who gets no other has used its own.
        with pytest.raises(TooManyPayments):
            await budget.take("a")

    run(scenario, 1)


def test_while_all_places_are_taken_others_wait_and_are_served_in_turn():
    async def scenario(budget, _clock):
        first = await budget.take("a")
        waiting = [asyncio.create_task(budget.take("a")) for _ in range(3)]
        await asyncio.wait(waiting, timeout=0.01)
        assert not any(task.done() for task in waiting)
        first.give_back()
        for task in waiting:
            (await task).give_back()

    run(scenario, 1)


def test_those_who_wait_are_refused_once_everything_is_spent():
    async def scenario(budget, _clock):
        places = [await budget.take("a") for _ in range(3)]
        waiting = [asyncio.create_task(budget.take("a")) for _ in range(50)]
        await asyncio.wait(waiting, timeout=0.01)
        for place in places:
            place.spend()
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(end, TooManyPayments) for end in ends)

    run(scenario, 3)


def test_nobody_waits_longer_than_their_patience():
    async def scenario(budget, _clock):
        await budget.take("a")
        with pytest.raises(TooManyPayments) as refused:
            await budget.take("a")
        assert refused.value.retry_after_s == 1

    run(scenario, 1, patience_s=0.02)


def test_without_a_quota_nothing_is_counted():
    async def scenario(budget, _clock):
        for _ in range(1000):
            (await budget.take("a")).spend()

    run(scenario, None)


def test_a_few_that_were_spent_leave_nobody_waiting_for_a_place_that_is_free():
    async def scenario(budget, _clock):
        async def use(n):
            place = await budget.take("a")
            for _ in range(3):
                await breathe()
            (place.spend if n < 5 else place.give_back)()
            return n

        assert len(await asyncio.gather(*(use(n) for n in range(100)))) == 100

    run(scenario, 30)


@pytest.mark.parametrize("held_s", [0.02, 0.05, 0.08])
def test_whoever_gives_up_is_told_so_whatever_happens_in_that_moment(held_s):
    async def scenario(budget, _clock):
        async def use(n):
            try:
                place = await budget.take("a")
            except TooManyPayments:
                return "too many"
            await WallClock().sleep(held_s)
            (place.spend if n % 7 == 0 else place.give_back)()
            return "served"

        ended = await asyncio.gather(*(use(n) for n in range(300)), return_exceptions=True)
        assert set(ended) <= {"served", "too many"}

    run(scenario, 30, patience_s=0.1)
