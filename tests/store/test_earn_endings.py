"""What an event of the desk makes of a line, what a used nonce makes of a batch, and how far the desk is read."""

import asyncio
import random
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import insert, select

from simulated.chain import Refusal, View
from simulated.words import DESK, FAILED, MULTICALL, PAID, SKIPPED, USDG, word
from tickyard.chain.blocks import final_header
from tickyard.chain.rpc.stride import Stride
from tickyard.chain.rpc.trouble import TooManyLogs
from tickyard.features.earn.tables import earn_batch, earn_line, earn_tally
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe import metrics
from tickyard.payout import ledger
from tickyard.payout.ending import Endings
from tickyard.payout.lines import Ended
from tickyard.store.leases import LostLease, take
from yards.reward_days import ALICE, BOB, EPOCH, Faults, FrailRpc, Process, live_in_town

OURS, ANOTHERS = "0x" + "a1" * 32, "0x" + "b2" * 32
OTHER = "0x" + "88" * 20


@pytest.fixture
def run(tmp_path):
    return lambda work: asyncio.run(live_in_town(str(tmp_path / "tickyard.db"), tmp_path, work))


def said(town, topic, block, wallet=ALICE, amount=100, tx=OURS, at=0):
    return {
        "address": DESK, "topics": [topic, word(EPOCH), word(wallet.address)], "data": word(amount),
        "blockNumber": hex(block), "blockHash": town.chain.blocks[block].hash, "transactionHash": tx,
        "logIndex": hex(at), "removed": False,
    }  # fmt: skip


def endings_of(town, *logs, **more):
    """An agent's eyes, on a node that shows these events of the desk."""
    process = Process("test", random.Random(1), Faults())
    town.rpc = FrailRpc(town.chain, town.clock, process, [View(invented=logs)])
    return Endings(town.store, town.rpc, MULTICALL, DESK, USDG, **more)


async def begin(town):
    town.lease = await take(town.store, "payout", "test")
    town.mine(12)


async def write(town, state, wallet=ALICE, nonce=5, payer=None):
    """A line of 100 that was counted when it was sent, in a batch with the nonce 5."""
    payer, now = payer or town.signer.address, town.clock.now()
    line = {
        "epoch": EPOCH, "address": wallet.address, "attempt": 0, "state": state, "amount_raw": 100, "payer": payer,
        "nonce": nonce, "hash": OURS, "sent_at": now,
    }  # fmt: skip
    batch = ledger.Batch(OURS, town.signer.address, 5, EPOCH, False, 1, 1, 1, now)
    async with town.store.begin() as tx:
        await tx.execute(insert(earn_line), line)
        await ledger.add_batch(tx, batch)
        await ledger.count(tx, EPOCH, wallets=1, live_raw=100)


async def found(town):
    async with town.store.read() as tx:
        rows = (await tx.execute(select(earn_line).order_by(earn_line.c.address))).all()
        tally = (await tx.execute(select(earn_tally))).one()
    return [row.state for row in rows], (tally.wallets, tally.live_raw, tally.paid_raw)


def counted(outcome):
    return metrics.payouts.labels(outcome)._value.get()


LIVE, PAID_OFF, RELEASED = (1, 100, 0), (1, 100, 100), (0, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "topic", "more", "after", "tally", "ended"),
    [
        pytest.param({"state": "sent"}, PAID, {}, "confirmed", PAID_OFF, (1, 0, 0), id="paid"),
        pytest.param({"state": "due"}, PAID, {}, "confirmed", PAID_OFF, (1, 0, 0), id="paid while it was to go again"),
        pytest.param({"state": "sent"}, PAID, {"tx": ANOTHERS}, "confirmed", PAID_OFF, (1, 0, 0), id="paid by another"),
        pytest.param({"state": "confirmed"}, PAID, {}, "confirmed", LIVE, (0, 0, 0), id="told of twice"),
        pytest.param({"state": "sent"}, SKIPPED, {}, "confirmed", PAID_OFF, (1, 0, 0), id="skipped"),
        pytest.param({"state": "sent"}, SKIPPED, {"tx": ANOTHERS}, "sent", LIVE, (0, 0, 0), id="another was skipped"),
        pytest.param({"state": "due"}, SKIPPED, {}, "due", LIVE, (0, 0, 0), id="skipped while it was to go again"),
        pytest.param({"state": "sent", "nonce": 6}, SKIPPED, {}, "sent", LIVE, (0, 0, 0), id="of an earlier nonce"),
        pytest.param({"state": "sent", "payer": OTHER}, SKIPPED, {}, "sent", LIVE, (0, 0, 0), id="of another payer"),
        pytest.param({"state": "sent"}, FAILED, {}, "failed", RELEASED, (0, 1, 0), id="failed"),
        pytest.param({"state": "sent"}, FAILED, {"tx": ANOTHERS}, "sent", LIVE, (0, 0, 0), id="another failed"),
        pytest.param({"state": "due"}, FAILED, {}, "due", LIVE, (0, 0, 0), id="failed while it was to go again"),
    ],
)
def test_what_an_event_makes_of_a_line(run, line, topic, more, after, tally, ended):
    async def work(town):
        await begin(town)
        await write(town, **line)
        if topic != FAILED:
            town.chain.edit(lambda state: state.paid.update({(EPOCH, ALICE.address): 100}))
        before = [counted(each) for each in ("confirmed", "failed")]
        told, final = Ended(), await final_header(town.rpc, 0)
        assert await endings_of(town, said(town, topic, 7, **more)).read_on(town.lease, final, told)
        assert await found(town) == ([after], tally)
        assert (told.confirmed, told.failed, told.again) == ended
        if topic != SKIPPED:
            risen = [counted(each) - old for each, old in zip(("confirmed", "failed"), before, strict=True)]
            assert risen == list(ended[:2])
        async with town.store.read() as tx:
            row = (await tx.execute(select(earn_line))).one()
        if any(ended):
            tx_hash = more.get("tx", OURS)
            assert (row.hash, row.block_number, row.amount_raw, row.ended_at is not None) == (tx_hash, 7, 100, True)

    run(work)


@pytest.mark.parametrize(
    ("held", "allowed", "after"), [(100, 100, "failed"), (99, 10**9, "due"), (10**9, 99, "due"), (0, 0, "due")]
)
def test_a_refusal_is_final_only_when_our_own_account_had_enough(run, held, allowed, after):
    async def work(town):
        await begin(town)
        await write(town, "sent")
        payer = town.signer.address
        town.chain.edit(lambda state: (state.usdg.update({payer: held}), state.allowances.update({payer: allowed})))
        told, final = Ended(), await final_header(town.rpc, 0)
        await endings_of(town, said(town, FAILED, 7)).read_on(town.lease, final, told)
        is_again = after == "due"
        assert await found(town) == ([after], LIVE if is_again else RELEASED)
        assert (told.failed, told.again) == (not is_again, is_again)

    run(work)


@pytest.mark.parametrize(("short_in", "after"), [(5, "failed"), (6, "due"), (7, "due"), (8, "failed")])
def test_our_account_counts_as_short_that_was_so_at_either_end_of_the_block(run, short_in, after):
    async def work(town):
        await begin(town)
        await write(town, "sent")
        short = town.chain.state.copy()
        short.usdg[town.signer.address] = 99
        town.chain._states[short_in] = short
        await endings_of(town, said(town, FAILED, 7)).read_on(town.lease, await final_header(town.rpc, 0), Ended())
        assert (await found(town))[0] == [after]

    run(work)


def test_two_events_of_one_read_are_told_apart_by_wallet_and_the_first_word_stays(run):
    async def work(town):
        await begin(town)
        await write(town, "sent")
        await write(town, "sent", BOB)
        town.chain.edit(lambda state: state.paid.update({(EPOCH, ALICE.address): 100}))
        logs = [said(town, FAILED, 6), said(town, PAID, 7), said(town, PAID, 8, at=3), said(town, FAILED, 7, BOB, at=1)]
        told, final = Ended(), await final_header(town.rpc, 0)
        town.chain.edit(lambda state: state.usdg.update({town.signer.address: 99}))
        await endings_of(town, *logs).read_on(town.lease, final, told)
        states, tally = await found(town)
        assert (dict(zip(sorted([ALICE.address, BOB.address]), states, strict=True))) == {
            ALICE.address: "confirmed", BOB.address: "due",
        }  # fmt: skip
        assert tally == (2, 200, 100)
        assert (told.confirmed, told.failed, told.again) == (1, 0, 2)

    run(work)


def note_ranges(town):
    asked, shown = [], town.chain.eth_getLogs

    def note(query):
        asked.append((int(query["fromBlock"], 16), int(query["toBlock"], 16)))
        return shown(query)

    town.chain.eth_getLogs = note
    return asked


def test_the_desk_is_read_range_by_range_to_the_final_block_and_from_there(run):
    async def work(town):
        await begin(town)
        asked = note_ranges(town)
        endings = endings_of(town, first_block=2, stride=Stride(4, 4))
        final = replace(await final_header(town.rpc, 0), number=12, hash=town.chain.blocks[12].hash)
        assert not await endings.read_on(town.lease, final, Ended(), steps=3)
        assert asked == [(2, 5), (6, 9), (10, 12)]
        assert await endings.read_on(town.lease, final, Ended(), steps=1)
        assert len(asked) == 3
        newer = replace(final, number=13, hash=town.chain.blocks[13].hash)
        await endings.read_on(town.lease, newer, Ended())
        assert asked[3:] == [(13, 13)]

    run(work)


def test_a_node_that_shows_few_blocks_at_once_is_asked_for_half(run):
    async def work(town):
        await begin(town)
        asked = note_ranges(town)
        town.chain.faults.log_range = 3
        endings = endings_of(town, stride=Stride(8, 8))
        final = await final_header(town.rpc, 0)
        assert await endings.read_on(town.lease, final, Ended())
        assert asked[:3] == [(0, 7), (0, 3), (0, 1)]
        town.chain.faults.log_range = 0
        town.mine(3)
        endings = endings_of(town, stride=Stride(1, 1))
        with pytest.raises(TooManyLogs):
            await endings.read_on(town.lease, await final_header(town.rpc, 0), Ended())

    run(work)


def test_a_node_that_shows_no_logs_is_asked_for_half_the_next_time(run):
    async def work(town):
        await begin(town)

        def refuse(_query):
            raise Refusal("logs are not served here")

        town.chain.eth_getLogs = refuse
        endings = endings_of(town, first_block=3, stride=Stride(7, 7))
        with pytest.raises(UpstreamDown):
            await endings.read_on(town.lease, await final_header(town.rpc, 0), Ended())
        assert endings.stride.blocks == 3

    run(work)


def test_who_failed_in_one_range_may_be_paid_in_a_later_one(run):
    async def work(town):
        await begin(town)
        await write(town, "sent")
        town.chain.edit(lambda state: state.paid.update({(EPOCH, ALICE.address): 100}))
        logs = [said(town, FAILED, 2, tx=ANOTHERS), said(town, PAID, 9)]
        endings = endings_of(town, *logs, stride=Stride(4, 4))
        assert await endings.read_on(town.lease, await final_header(town.rpc, 0), Ended())
        assert await found(town) == (["confirmed"], PAID_OFF)

    run(work)


def test_a_used_nonce_ends_its_batch_and_sends_again_what_no_event_has_ended(run):
    async def work(town):
        await begin(town)
        await write(town, "sent")
        await write(town, "sent", BOB, nonce=6)
        later = ledger.Batch(ANOTHERS, town.signer.address, 6, EPOCH, False, 1, 1, 1, town.clock.now())
        async with town.store.begin() as tx:
            await ledger.add_batch(tx, later)
            batches = await ledger.live_batches(tx)
        final, endings, ended = await final_header(town.rpc, 0), endings_of(town), Ended()

        async def left(used):
            town.chain.edit(lambda state: state.nonces.update({town.signer.address: used}))
            await endings.end_batches(town.lease, final, batches, ended)
            async with town.store.read() as tx:
                return [each.nonce for each in await ledger.live_batches(tx)]

        assert (await left(5), ended.again) == ([5, 6], 0)
        assert (await left(6), ended.again) == ([6], 1)
        states, _ = await found(town)
        assert dict(zip(sorted([ALICE.address, BOB.address]), states, strict=True)) == {
            ALICE.address: "due", BOB.address: "sent",
        }  # fmt: skip

    run(work)


def test_a_payer_that_the_desk_takes_nothing_from_has_used_every_nonce(run):
    async def work(town):
        await begin(town)
        await write(town, "sent")
        async with town.store.read() as tx:
            batches = await ledger.live_batches(tx)
        town.chain.edit(lambda state: setattr(state, "payer", OTHER))
        ended = Ended()
        await endings_of(town).end_batches(town.lease, await final_header(town.rpc, 0), batches, ended)
        assert (ended.again, (await found(town))[0]) == (1, ["due"])
        async with town.store.read() as tx:
            row = (await tx.execute(select(earn_batch))).one()
        assert abs(row.ended_at - town.clock.now()) < timedelta(minutes=1)

    run(work)


def test_who_has_lost_the_lease_ends_nothing(run):
    async def work(town):
        await begin(town)
        await write(town, "sent")
        town.chain.edit(lambda state: state.paid.update({(EPOCH, ALICE.address): 100}))
        town.chain.edit(lambda state: state.nonces.update({town.signer.address: 9}))
        late, final = replace(town.lease, fence=town.lease.fence - 1), await final_header(town.rpc, 0)
        endings = endings_of(town, said(town, PAID, 7))
        async with town.store.read() as tx:
            batches = await ledger.live_batches(tx)
        with pytest.raises(LostLease):
            await endings.read_on(late, final, Ended())
        with pytest.raises(LostLease):
            await endings.end_batches(late, final, batches, Ended())
        assert await found(town) == (["sent"], LIVE)

    run(work)
