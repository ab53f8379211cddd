"""The index of holders against a plain replay of the same transfers, and how it is read and forgotten."""

import asyncio
import random

import pytest
from sqlalchemy import insert, select

from simulated.chain import Refusal
from simulated.words import TOKEN
from tickyard.chain.blocks import final_header
from tickyard.chain.rpc.stride import Stride
from tickyard.chain.rpc.trouble import TooManyLogs
from tickyard.chain.transfers import Transfer
from tickyard.features.earn.days import holders
from tickyard.features.earn.days.holders import BrokenIndex, HolderIndex, fold, forget_before, pages_at
from tickyard.features.earn.tables import holder_balance, holder_mark, holder_transfer
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import ZERO_ADDRESS
from yards.reward_days import ALICE, CAROL, live_in_town

PEOPLE = [f"0x{letter * 40}" for letter in "123456789"]
BLOCKS = 12


@pytest.fixture
def run(tmp_path):
    return lambda work: asyncio.run(live_in_town(str(tmp_path / "tickyard.db"), tmp_path, work))


def replay(transfers, until=BLOCKS):
    """Who holds what after a block, counted by hand."""
    held = {}
    for block, _, sender, receiver, amount in transfers:
        if block <= until:
            held[sender] = held.get(sender, 0) - amount
            held[receiver] = held.get(receiver, 0) + amount
    return {each: amount for each, amount in held.items() if amount and each != ZERO_ADDRESS}


def drawn(seed):
    """Mints, burns, sales of everything and of a part, several in a block."""
    rng = random.Random(seed)
    transfers = []
    for at in range(40):
        held = replay(transfers)
        sender = rng.choice([ZERO_ADDRESS, *held])
        receiver = rng.choice([*PEOPLE, *PEOPLE, ZERO_ADDRESS] if sender != ZERO_ADDRESS else PEOPLE)
        most = held.get(sender, 2**200)
        amount = most if rng.random() < 0.5 else rng.randint(0, most)
        transfers.append(Transfer(1 + at * BLOCKS // 40, at, sender, receiver, amount))
    return transfers


async def write(town, transfers, held):
    async with town.store.begin() as tx:
        for address, amount in held.items():
            await tx.execute(insert(holder_balance), {"address": address, "balance": amount})
        for each in transfers:
            row = {"block_number": each.block, "log_index": each.log_index, "sender": each.sender}
            await tx.execute(insert(holder_transfer), row | {"receiver": each.receiver, "amount": each.amount})


async def paged(town, block, size):
    async with town.store.read() as tx:
        return [page async for page in pages_at(tx, block, size)]


@pytest.mark.parametrize("seed", range(4))
def test_balances_at_a_block_are_those_of_a_replay_whatever_the_pages(run, seed):
    async def work(town):
        transfers = drawn(seed)
        now = replay(transfers)
        await write(town, transfers, now)
        for block in (0, 5, BLOCKS - 1, BLOCKS):
            then = replay(transfers, block)
            for size in (1, 2, len(now) or 1, 100):
                pages = await paged(town, block, size)
                found = [each for page in pages for each in page]
                assert [each.address for each in found] == sorted({each.address for each in found})
                assert {each.address: each.balance for each in found if each.balance} == then
                assert {each.address: each.at_mark for each in found if each.at_mark} == now

    run(work)


def test_a_fold_is_what_each_balance_changes_by():
    transfers = drawn(7)
    changes = {each: change for each, change in fold(transfers).items() if change}
    assert changes == replay(transfers)
    assert ZERO_ADDRESS not in fold(transfers)


def test_an_index_in_which_somebody_held_less_than_nothing_is_broken(run):
    async def work(town):
        one, other = PEOPLE[:2]
        await write(town, [Transfer(3, 0, other, one, 5)], {one: 4})
        with pytest.raises(BrokenIndex):
            await paged(town, 2, 100)
        ((found,),) = await paged(town, 3, 100)
        assert found == (one, 4, 4)

    run(work)


def test_what_a_snapshot_made_useless_is_forgotten_a_little_at_a_time(run, monkeypatch):
    monkeypatch.setattr(holders, "_FORGOTTEN_AT_ONCE", 2)

    async def work(town):
        await write(
            town, [Transfer(block, at, ZERO_ADDRESS, PEOPLE[0], 1) for block in range(1, 8) for at in (0, 1)], {}
        )
        async with town.store.begin() as tx:
            for block in range(1, 8):
                await tx.execute(insert(holder_mark), {"block_number": block, "block_hash": f"0x{block}"})
        await forget_before(town.store, 5)
        async with town.store.read() as tx:
            left = (await tx.execute(select(holder_transfer.c.block_number))).scalars().all()
            marks = (await tx.execute(select(holder_mark.c.block_number))).scalars().all()
        assert sorted(left) == [6, 6, 7, 7]
        assert sorted(marks) == [5, 6, 7]

    run(work)


def note_ranges(town):
    asked, shown = [], town.chain.eth_getLogs

    def note(query):
        asked.append((int(query["fromBlock"], 16), int(query["toBlock"], 16)))
        return shown(query)

    town.chain.eth_getLogs = note
    return asked


def test_the_index_is_read_range_by_range_and_says_how_many_blocks(run):
    async def work(town):
        town.mine(6)
        asked = note_ranges(town)
        index = HolderIndex(town.store, town.rpc, TOKEN, 3, Stride(4, 4))
        final = await final_header(town.rpc, 0)
        assert final.number == 12
        assert await index.catch_up(final, steps=1) == 4
        assert await index.catch_up(final, steps=9) == 6
        assert asked == [(3, 6), (7, 10), (11, 12)]
        assert await index.mark() == (12, town.chain.blocks[12].hash)
        assert await index.catch_up(final) == 0
        assert len(asked) == 3

    run(work)


def test_a_node_that_complains_is_asked_for_half_and_one_block_is_the_least(run):
    async def work(town):
        town.mine(6)
        town.chain.faults.log_range = 0
        asked = note_ranges(town)
        index = HolderIndex(town.store, town.rpc, TOKEN, 0, Stride(5, 5))
        with pytest.raises(TooManyLogs):
            await index.catch_up(await final_header(town.rpc, 0))
        assert asked == [(0, 4), (0, 1), (0, 0)]

        def refuse(_query):
            raise Refusal("logs are not served here")

        town.chain.eth_getLogs = refuse
        index = HolderIndex(town.store, town.rpc, TOKEN, 2, Stride(7, 7))
        with pytest.raises(UpstreamDown):
            await index.catch_up(await final_header(town.rpc, 0))
        assert index.stride.blocks == 3

    run(work)


async def rows(town):
    async with town.store.read() as tx:
        return {row.address: row.balance for row in await tx.execute(select(holder_balance))}


def test_who_has_sold_everything_is_in_no_row_and_the_largest_balance_fits(run):
    async def work(town):
        before, most = town.chain.state.token[ALICE.address], 2**256 - 1
        town.chain.send(ALICE.address, TOKEN, CAROL.address, before)
        town.mine()
        index = HolderIndex(town.store, town.rpc, TOKEN)
        await index.catch_up(await final_header(town.rpc, 0))
        found = await rows(town)
        assert (found.get(ALICE.address), found[CAROL.address]) == (None, before)
        town.chain.give(TOKEN, ALICE.address, most)
        town.mine()
        assert await index.catch_up(await final_header(town.rpc, 0)) > 0
        assert (await rows(town))[ALICE.address] == most
        town.chain.give(TOKEN, ALICE.address, 1)
        town.mine()
        assert await index.catch_up(await final_header(town.rpc, 0)) == 0
        assert (await index.mark(), await rows(town)) == (None, {})

    run(work)


def test_two_workers_that_read_the_same_range_at_once_write_it_once(where, tmp_path):
    async def work(town):
        for _ in range(5):
            town.chain.send(ALICE.address, TOKEN, CAROL.address, 1)
            town.mine()
        before, final = town.chain.state.token[ALICE.address], await final_header(town.rpc, 0)
        both = [HolderIndex(town.store, town.rpc, TOKEN, 0, Stride(blocks, blocks)) for blocks in (3, 3, 5, 100)]
        await asyncio.gather(*(index.catch_up(final) for index in both))
        assert await both[0].mark() == (final.number, final.hash)
        assert (await rows(town))[ALICE.address] == before

    asyncio.run(live_in_town(where, tmp_path, work))
