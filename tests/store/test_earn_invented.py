"""A node that shows events of the desk which its own state contradicts ends nobody's claim."""

import asyncio
import contextlib

import pytest

from simulated.chain import View
from simulated.words import DESK, FAILED, PAID
from tickyard.kernel.errors import UpstreamDown
from yards.reward_days import ALICE, DEPTH, EPOCH, FrailRpc, Process, live_in_town


@pytest.fixture
def run(where, tmp_path):
    return lambda work: asyncio.run(live_in_town(where, tmp_path, work))


def word(number):
    return f"0x{number:064x}"


def liar(town, topic, tx, **more):
    """A node that says this of Alice in the newest final block."""
    block = town.chain.blocks[-1 - DEPTH]
    said = {
        "address": DESK,
        "topics": [topic, word(EPOCH), word(int(ALICE.address, 16))],
        "data": word(20_000),
        "blockNumber": hex(block.number),
        "blockHash": block.hash,
        "transactionHash": tx,
        "logIndex": "0x63",
        "removed": False,
    }
    process = Process("liar", town.chain._rng, town.chain.faults)
    return FrailRpc(town.chain, town.clock, process, [View(invented=(said,), **more)])


async def rounds(town, agent, many=4):
    for _ in range(many):
        with contextlib.suppress(UpstreamDown):
            await town.pay(agent)


def test_a_payment_that_the_desk_did_not_make_confirms_nothing(run):
    async def work(town):
        await town.open_day()
        town.chain.faults.drop = 1.0
        tx = (await town.ask(ALICE)).tx
        town.mine()
        honest, town.rpc = town.rpc, liar(town, PAID, tx)
        await rounds(town, town.agent())
        town.rpc = honest
        assert (await town.ask(ALICE)).status == "sent"
        town.chain.faults.drop = 0.0
        agent = town.agent()
        await rounds(town, agent)
        town.mine()
        await rounds(town, agent)
        assert town.held(ALICE) == 20_000
        assert (await town.ask(ALICE)).status == "confirmed"

    run(work)


def test_a_failure_that_the_desk_knows_nothing_of_releases_no_claim(run):
    async def work(town):
        await town.open_day()
        tx = (await town.ask(ALICE)).tx
        town.mine()
        honest, town.rpc = town.rpc, liar(town, FAILED, tx, hides=1.0)
        await rounds(town, town.agent())
        town.rpc = honest
        assert (await town.status(ALICE))["epoch"]["claimed"] is True
        await rounds(town, town.agent())
        assert (await town.ask(ALICE)).status == "confirmed"
        assert town.held(ALICE) == 20_000

    run(work)
