"""docs/payments.md says what a buyer must do after each kind of answer. Every line of that table happens here."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

from tickyard.payments.offer.terms import SECOND
from yards import paying
from yards.patience import STUCK_S

call = paying.call
URL = "/v1/x402/item/AAPL"
DOCS = Path(__file__).parents[2] / "docs" / "payments.md"


async def served(world, payment):
    return (await call(world.app, "GET", URL, payment)).status, URL


async def unpaid(world, _payment):
    return (await call(world.app, "GET", URL)).status, None


async def refused(world, payment):
    world.facilitators[SECOND].script["verify"] = ["refuse"] * 2
    answer = await call(world.app, "GET", URL, payment)
    assert "payment-response" not in answer.headers
    return answer.status, "put right"


async def not_settled(world, payment):
    world.facilitators[SECOND].script["settle"] = ["refuse"]
    answer = await call(world.app, "GET", URL, payment)
    assert answer.receipt["success"] is False
    return answer.status, URL


async def failed(world, payment):
    return (await call(world.app, "GET", "/v1/x402/item/GONE", payment)).status, URL


async def limited(world, payment):
    for _ in range(3):
        assert (await call(world.app, "GET", "/v1/x402/item/GONE", world.payment())).status == 404
    status = (await call(world.app, "GET", URL, payment)).status
    world.clock.move(61)
    return status, URL


async def down(world, payment):
    world.facilitators[SECOND].script["verify"] = ["500"]
    answer = await call(world.app, "GET", URL, payment)
    assert "nothing was taken" in answer.json()["error"]["message"]
    return answer.status, URL


async def doubtful(world, payment):
    world.facilitators[SECOND].script["settle"] = ["cut"]
    answer = await call(world.app, "GET", URL, payment)
    assert answer.is_retry_advice
    world.clock.move(3)
    return answer.status, URL


async def without_books(world, payment):
    with contextlib.closing(sqlite3.connect(world.where)) as other:
        other.execute("BEGIN IMMEDIATE")
        answer = await call(world.app, "GET", URL, payment)
    assert answer.json()["error"]["message"].startswith("the store ")
    return answer.status, URL


async def broken(world, payment):
    # The operation's own trouble says nothing of payments, as on the free route.
    answer = await call(world.app, "GET", "/v1/x402/item/DOWN", payment)
    assert (answer.status, answer.json()["error"]["message"]) == (502, "it failed")
    return (await call(world.app, "GET", "/v1/x402/item/CRASH", payment)).status, URL


async def silent(world, payment):
    request = asyncio.create_task(call(world.app, "GET", URL, payment))
    while not world.deps.runs:
        await world.clock.sleep(0.001)
    request.cancel()
    await asyncio.wait({request})
    return 0, URL


HAPPENS = {
    "200": (200, served),
    "402 to a request without a payment": (402, unpaid),
    "402, the payment was refused before anything ran": (402, refused),
    "402 with a `PAYMENT-RESPONSE` that says `success: false`": (402, not_settled),
    "400, 404, 405, 413, 415 or 422": (404, failed),
    "429": (429, limited),
    "502 that says that nothing was taken": (502, down),
    "502 that says to repeat with the same payment": (502, doubtful),
    "502 that speaks of the store (`the store does not answer`)": (502, without_books),
    "any other answer of 500 or above": (500, broken),
    "no answer at all": (0, silent),
}


def table():
    lines = DOCS.read_text().split("## What to do after each answer")[1].split("\n\n")[1].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_the_table_has_every_kind_of_answer_once():
    assert [row[0] for row in table()] == list(HAPPENS)


@pytest.mark.slow
@pytest.mark.parametrize("row", table(), ids=lambda row: row[0])
def test_every_line_of_the_table_is_true(tmp_path, row):
    name, taken, _again, advice = row

    async def scenario(world):
        status, happens = HAPPENS[name]
        payment = world.payment()
        answered, again = await happens(world, payment)
        assert answered == status
        if taken in ("yes", "no"):
            assert world.transfers() == (taken == "yes")
        if again is None:
            return
        if again == "put right":
            assert (await call(world.app, "GET", URL, payment)).status == 402
        # Whatever came first, the same payment brings the answer, and it is paid for once.
        assert (await call(world.app, "GET", URL, payment)).status == 200
        assert world.transfers() == 1
        if "do not sign" in advice:
            assert status in (0, 500, 502)

    async def bounded():
        async with asyncio.timeout(STUCK_S), paying.World(tmp_path / "x.db", unsettled_per_minute=3) as world:
            await scenario(world)

    asyncio.run(bounded())
