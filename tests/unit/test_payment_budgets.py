"""Budgets: taken before the work, given back when it was worth it."""

import asyncio

import pytest

from tickyard.kernel.clock import WallClock, breathe
from tickyard.payments.refusal import TooManyPayments
from tickyard.payments.selling import budgets
from tickyard.payments.selling.budgets import Budget
from yards.clocks import MovedClock


class StoppedClock(MovedClock):
    def monotonic(self):
        return self.offset.total_seconds()


def run(scenario, quota, clock_kind=MovedClock, **how):
    async def bounded():
        clock = clock_kind()
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


@pytest.mark.parametrize(("after_s", "wait_s"), [(0.5, 60), (1, 60), (59, 2), (59.5, 1), (60, None)])
def test_what_was_spent_is_gone_for_sixty_seconds_and_a_refusal_says_how_long_still(after_s, wait_s):
    async def scenario(budget, clock):
        for _ in range(2):
            (await budget.take("a")).spend()
            clock.move(0.5)
        clock.move(after_s - 1)
        if wait_s is not None:
            with pytest.raises(TooManyPayments) as refused:
                await budget.take("a")
            assert refused.value.retry_after_s == wait_s
        else:
            (await budget.take("a")).give_back()

    run(scenario, 2, StoppedClock)


def test_taken_and_spent_places_together_are_the_quota():
    async def scenario(budget, _clock):
        for _ in range(2):
            (await budget.take("a")).spend()
        first, second = await budget.take("a"), await budget.take("a")
        with pytest.raises(TooManyPayments) as refused:
            await budget.take("a")
        assert refused.value.retry_after_s == 1
        first.give_back()
        third = await budget.take("a")
        with pytest.raises(TooManyPayments):
            await budget.take("a")
        for place in (second, third):
            place.give_back()
        assert (budget._taken, budget._waiting) == ({}, {}), "somebody who has left is remembered"

    run(scenario, 4, patience_s=0.01)


def test_the_names_that_spent_least_lately_are_forgotten_first(monkeypatch):
    monkeypatch.setattr(budgets, "_NAMES_MAX", 2)

    async def scenario(budget, _clock):
        for name in "abbac":
            (await budget.take(name)).spend()
        (await budget.take("c")).spend()
        for name, is_free in (("a", False), ("c", False), ("b", True)):
            if is_free:
                (await budget.take(name)).give_back()
            else:
                with pytest.raises(TooManyPayments):
                    await budget.take(name)

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
        twice = await budget.take("b")
        twice.spend()
        twice.spend()
        assert len(budget._spent["b"]) == 1

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


@pytest.mark.parametrize("is_first_ended", [False, True])
def test_a_place_that_is_left_to_somebody_who_is_ended_in_that_moment_goes_to_the_next(is_first_ended):
    async def scenario(budget, _clock):
        place = await budget.take("a")
        first, second = (asyncio.create_task(budget.take("a")) for _ in range(2))
        await breathe()
        if is_first_ended:
            # Before anybody is called up: nothing is left to it, and nothing to pass on.
            first.cancel()
            await asyncio.wait({first})
            assert not second.done()
            place.give_back()
        else:
            place.give_back()
            first.cancel()
        (await second).give_back()
        assert first.cancelled()
        assert budget._waiting == {}

    run(scenario, 1)


def test_both_who_wait_hear_at_once_that_everything_is_spent():
    async def scenario(budget, _clock):
        place = await budget.take("a")
        waiting = [asyncio.create_task(budget.take("a")) for _ in range(2)]
        await breathe()
        place.spend()
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(end) for end in ends] == [TooManyPayments] * 2

    run(scenario, 1)


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
