"""A hundred copies of one payment at the same moment, over two API processes on one PostgreSQL."""

import asyncio
import random

import pytest

from proof import SEED, count
from tickyard.payments.offer.terms import FIRST, SECOND
from yards.paying import World
from yards.payment_yard import URL, Yard

pytestmark = [pytest.mark.database, pytest.mark.timeout(600)]

ROUNDS = count(50)
COPIES = 100


@pytest.fixture
def database(postgres_server):
    url = postgres_server.new_database()
    yield url
    postgres_server.take_back(url)


def race(database, scenario):
    """Rounds of a scenario with two processes; every run of the operation is noted."""
    dice = random.Random(SEED)

    async def bounded():
        async with (
            asyncio.timeout(500),
            World(database, processes=0) as world,
            Yard(world) as yard,
        ):
            servers = [await yard.born() for _ in range(2)]
            runs = []

            async def note(name):
                if name == "run":
                    runs.append(name)

            yard.on_stage = note
            for turn in range(ROUNDS):
                network = dice.choice((FIRST, SECOND))
                payment = yard.payment(network)
                was = world.settles(network), world.transfers(network), len(runs)
                await scenario(yard, servers, dice, payment)
                now = world.settles(network), world.transfers(network), len(runs)
                assert [late - early for early, late in zip(was, now, strict=True)] == [1, 1, 1], f"round {turn}"

    asyncio.run(bounded())


def test_of_a_hundred_copies_one_is_run_and_settled_and_all_get_its_answer(database):
    async def scenario(yard, servers, dice, payment):
        answers = await asyncio.gather(*(yard.ask(dice.choice(servers), payment) for _ in range(COPIES)))
        assert {answer.status for answer in answers} == {200}
        assert len({(answer.body, answer.headers["payment-response"]) for answer in answers}) == 1

    race(database, scenario)


def test_of_two_requests_that_race_with_one_payment_one_is_served_and_the_other_refused(database):
    async def scenario(yard, servers, dice, payment):
        sides = [dice.choice(("buy", "sell")) for _ in range(COPIES)]
        answers = await asyncio.gather(
            *(yard.ask(dice.choice(servers), payment, f"{URL}?side={side}") for side in sides)
        )
        served = {side for side, answer in zip(sides, answers, strict=True) if answer.status == 200}
        assert len(served) == 1
        for side, answer in zip(sides, answers, strict=True):
            if side in served:
                assert (answer.status, answer.json()["text"]) == (200, f"AAPL {side}")
            else:
                assert answer.reason == "payment_already_used"
        assert len({answer.body for answer in answers if answer.status == 200}) == 1

    race(database, scenario)
