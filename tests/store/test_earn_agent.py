"""The payout agent: what it refuses, holds, repeats, and when it stops."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import delete, insert, update

from tickyard.features.earn import rules
from tickyard.features.earn.days.epochs import run_due
from tickyard.features.earn.tables import (
    earn_batch,
    earn_claim,
    earn_desk_mark,
    earn_epoch,
    earn_line,
    earn_share,
    earn_tally,
)
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe import metrics
from tickyard.payout import ledger
from tickyard.payout.halt import Halted, lift
from tickyard.payout.judge import PayoutCaps
from tickyard.payout.signing.signer import LocalSigner
from yards.reward_days import (
    ALICE,
    BOB,
    CAROL,
    DEPTH,
    EPOCH,
    THRESHOLD,
    USDG,
    live_in_town,
)


@pytest.fixture
def run(where, tmp_path):
    return lambda work: asyncio.run(live_in_town(where, tmp_path, work))


@pytest.mark.slow
def test_a_claim_without_an_agent_stays_reserved_and_is_paid_after_the_window(run):
    async def work(town):
        await town.open_day()
        town.clock.move(rules.closes_at(EPOCH) - timedelta(seconds=30))
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(ALICE, agent=False)
        assert (await town.status(ALICE))["epoch"]["claimed"] is True
        await town.to(rules.closes_at(EPOCH))
        books = await town.books()
        assert (books["inFlightUsd"], books["rolledOverUsd"], books["balanced"]) == ("0.020000", "0.010000", True)
        answer = await town.ask(ALICE)
        town.mine()
        await town.pay()
        assert town.held(ALICE) == 20_000
        assert (await town.ask(ALICE)).tx == answer.tx
        assert (await town.books())["balanced"] is True

    run(work)


def test_the_agent_refuses_what_its_own_api_could_not_have_written(run):
    async def work(town):
        await town.open_day()
        now = town.clock.now()
        forged = [
            {"address": ALICE.address, "signature": BOB.sign(EPOCH, ALICE.address), "reserved_at": now},
            {"address": CAROL.address, "signature": CAROL.sign(EPOCH), "reserved_at": now},
            {"address": BOB.address, "signature": BOB.sign(EPOCH), "reserved_at": rules.closes_at(EPOCH)},
        ]
        async with town.store.begin() as tx:
            await tx.execute(insert(earn_claim), [{"epoch": EPOCH, "attempt": 0, **row} for row in forged])
        did = await town.pay()
        assert (did.sent, did.refused) == (0, 3)
        # The real owner is not locked out by it.
        assert (await town.ask(ALICE)).ok

    run(work)


def test_a_paid_claim_that_is_opened_again_is_paid_nothing(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        town.mine()
        assert (await town.pay()).confirmed == 1
        async with town.store.begin() as tx:
            await tx.execute(update(earn_claim).values(attempt=1, reserved_at=town.clock.now()))
        for _ in range(3):
            await town.pay()
            town.mine()
        assert town.held(ALICE) == 20_000

    run(work)


def test_every_agent_stops_when_the_books_are_changed_and_goes_on_when_a_person_says_so(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        town.mine()
        await town.pay()
        async with town.store.begin() as tx:
            await tx.execute(
                update(earn_share).where(earn_share.c.address == BOB.address).values(balance=9 * THRESHOLD)
            )
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(BOB, agent=False)
        with pytest.raises(Halted, match="digest"):
            await town.pay(town.agent())
        # The agent that had checked them before obeys too.
        with pytest.raises(Halted, match="digest"):
            await town.pay()
        # Changed totals and digest beside it do not help: the agent remembers, and so does the desk.
        async with town.store.begin() as tx:
            await tx.execute(update(earn_epoch).values(eligible_total=11 * THRESHOLD))
        forged, _ = await ledger.read_books(town.store, EPOCH)
        async with town.store.begin() as tx:
            await tx.execute(update(earn_epoch).where(earn_epoch.c.id == EPOCH).values(digest=forged.digest))
        assert "digest" in await lift(town.store)
        with pytest.raises(Halted, match=r"accepted before \(.*accepted.jsonl\)"):
            await town.pay(town.agent())
        await lift(town.store)
        (town.folder / "accepted.jsonl").unlink()
        with pytest.raises(Halted, match="the desk has other books"):
            await town.pay(town.agent())
        assert town.held(BOB) == 0
        await lift(town.store)
        async with town.store.begin() as tx:
            await tx.execute(update(earn_share).where(earn_share.c.address == BOB.address).values(balance=THRESHOLD))
            await tx.execute(update(earn_epoch).values(eligible_total=3 * THRESHOLD))
            await tx.execute(update(earn_epoch).values(digest=town.chain.state.books[EPOCH]))
        (town.folder / "accepted.jsonl").unlink()
        assert (await town.pay(town.agent())).sent == 1

    run(work)


def test_who_has_another_agents_file_is_told_the_way_out_and_it_leads_out(run):
    async def work(town):
        await town.open_day()
        file = town.folder / "accepted.jsonl"
        digest = town.chain.state.books[EPOCH]
        file.write_text(file.read_text().replace(digest, "ab" * 32))
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(ALICE, agent=False)
        for _ in range(2):
            with pytest.raises(Halted, match=r"if the desk has these books, move that file away and restart the agent"):
                await town.pay(town.agent())
            # Lifting it is not enough: the file says the same again.
            await lift(town.store)
        file.rename(town.folder / "foreign.jsonl")
        assert (await town.pay(town.agent())).sent == 1
        assert digest in file.read_text()

    run(work)


def test_an_agent_that_cannot_write_down_what_it_accepts_signs_nothing_and_lets_another_pay(run):
    async def work(town):
        await town.open_day()
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(ALICE, agent=False)
        file = town.folder / "accepted.jsonl"
        file.rename(town.folder / "elsewhere.jsonl")
        file.symlink_to(town.folder / "no folder" / "accepted.jsonl")
        # Trouble like any other: told in words, and after a while whoever stands by gets the lease.
        with pytest.raises(UpstreamDown, match=r"accepted\.jsonl cannot be written: No such file or directory"):
            await town.pay(town.agent())
        file.unlink()
        assert (await town.pay(town.agent())).sent == 1

    run(work)


def test_somebody_else_who_uses_the_key_takes_nonces_and_nothing_more(run):
    async def work(town):
        await town.open_day()
        town.chain.faults.drop = 1.0
        agent = town.agent()
        await asyncio.gather(town.ask(ALICE, agent=False), town.pay_while_asked(agent), return_exceptions=True)
        town.chain.send(town.signer.address, USDG, CAROL.address, 1)
        town.mine(1)
        town.chain.faults.drop = 0.0
        # Not final: it may still be ours that is mined in the end.
        for _ in range(3):
            assert (await town.pay(agent)).ended.again == 0
        town.mine(DEPTH)
        did = await town.pay(agent)
        assert did.ended.again == 1
        await town.pay(agent)
        town.mine()
        assert (await town.pay(agent)).confirmed == 1
        assert town.held(ALICE) == 20_000

    run(work)


@pytest.mark.slow
def test_a_stuck_batch_is_replaced_at_a_higher_fee_and_its_newest_hash_told(run):
    async def work(town):
        await town.open_day()
        town.chain.floor = 10**9
        first = await town.ask(ALICE)
        for _ in range(40):
            await town.pay()
        town.mine()
        assert town.chain.replacements > 0
        newest = (await town.ask(ALICE)).tx
        assert newest != first.tx
        for _ in range(80):
            await town.pay()
            town.mine(1)
        town.mine()
        await town.pay()
        assert town.held(ALICE) == 20_000
        final = await town.ask(ALICE)
        assert final.status == "confirmed"
        assert town.chain.eth_getTransactionReceipt(final.tx)["status"] == "0x1"
        assert (await town.ask(ALICE)).tx == final.tx

    run(work)


def test_an_agent_with_an_empty_memory_takes_over_what_another_had_sent(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        other = town.agent()
        await town.pay(other)
        town.mine()
        assert (await town.pay(other)).confirmed == 1
        assert town.held(ALICE) == 20_000

    run(work)


def test_a_desk_that_lost_its_books_is_opened_before_anybody_is_paid(run):
    async def work(town):
        await town.open_day()
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(ALICE, agent=False)
        town.chain.edit(lambda state: (state.books.pop(EPOCH, None), state.pools.pop(EPOCH, None)))
        other, refused = town.agent(), metrics.payout_refused._value.get()
        did = await town.pay(other)
        assert (did.opened, did.sent) == (1, 0)
        assert (await town.pay(other)).sent == 0, "the opening is on its way"
        assert metrics.payout_refused._value.get() == refused, "nothing was tried that the desk would refuse"
        town.mine(1)
        did = await town.pay(other)
        assert (did.opened, did.sent, did.batches) == (0, 1, 1)
        town.mine()
        assert (await town.pay(other)).confirmed == 1
        assert town.held(ALICE) == 20_000

    run(work)


def test_old_books_learn_from_the_desk_what_was_paid(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        town.mine()
        await town.pay()
        await forget(town, earn_line, earn_batch, earn_tally, earn_desk_mark, earn_claim)
        town.clock.move(rules.closes_at(EPOCH))
        town.mine()
        done = await run_due(town, town.clock.now())
        assert "more than the books know" in done.waiting[EPOCH], "until the agent has read the desk"
        assert (await town.pay(town.agent())).confirmed == 1
        assert (await run_due(town, town.clock.now())).closed == [EPOCH]
        books = await town.books()
        assert (books["paidUsd"], books["rolledOverUsd"], books["balanced"]) == ("0.020000", "0.010000", True)
        assert town.held(ALICE) == 20_000

    run(work)


def test_a_claim_of_old_books_that_was_paid_is_skipped_by_the_desk(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        town.mine()
        await town.pay()
        await forget(town, earn_line, earn_batch, earn_tally, earn_desk_mark)
        agent = town.agent(first_block=len(town.chain.blocks))
        assert (await town.pay(agent)).sent == 1, "whoever has not read the desk's past may send it again"
        town.mine()
        assert (await town.pay(agent)).confirmed == 1
        assert town.held(ALICE) == 20_000
        assert (await town.ask(ALICE)).status == "confirmed"

    run(work)


def test_a_new_key_pays_what_the_old_one_left(run):
    async def work(town):
        await town.open_day()
        town.chain.faults.drop = 1.0
        await town.ask(ALICE)
        town.chain.faults.drop = 0.0
        town.signer = LocalSigner(b"\x08" * 32)
        town.employ()
        town.mine()
        agent = town.agent()
        await town.pay(agent)
        await town.pay(agent)
        town.mine()
        assert (await town.pay(agent)).confirmed == 1
        assert town.held(ALICE) == 20_000

    run(work)


def test_a_batch_that_reverted_as_a_whole_releases_nobody(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        town.chain.state.paused = True
        town.mine(1)
        town.chain.edit(lambda state: setattr(state, "paused", False))
        town.mine()
        did = await town.pay()
        assert (did.failed, did.ended.again) == (0, 1)
        await town.pay()
        town.mine()
        assert (await town.pay()).confirmed == 1
        assert town.held(ALICE) == 20_000

    run(work)


def test_a_final_block_that_leaves_the_chain_stops_everybody(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        town.mine(12)
        await town.pay()
        town.chain.reorganise(10)
        town.mine(2)
        with pytest.raises(Halted, match="was final"):
            await town.pay()

    run(work)


async def forget(town, *tables):
    async with town.store.begin() as tx:
        for table in tables:
            await tx.execute(delete(table))


@pytest.mark.slow
@pytest.mark.parametrize(
    "caps", [PayoutCaps(15_000, 10**9, 10**9), PayoutCaps(10**9, 15_000, 10**9), PayoutCaps(10**9, 10**9, 15_000)]
)
def test_the_agent_holds_what_is_over_a_cap_and_pays_it_when_the_cap_is_raised(run, caps):
    async def work(town):
        await town.open_day()
        town.caps = caps
        for wallet in (ALICE, BOB):
            with pytest.raises(UpstreamDown, match="reserved"):
                await town.ask(wallet, agent=False)
        did = await town.pay()
        assert (did.sent, did.held) == (1, 1)
        town.caps = PayoutCaps(10**9, 10**9, 10**9)
        assert (await town.pay()).sent == 1

    run(work)


def test_a_file_stops_all_payouts(run, tmp_path):
    async def work(town):
        await town.open_day()
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(ALICE, agent=False)
        agent = town.agent()
        agent.stop_file = tmp_path / "stop"
        agent.stop_file.touch()
        assert (await town.pay(agent)).is_idle
        agent.stop_file.unlink()
        assert (await town.pay(agent)).sent == 1

    run(work)


def test_the_same_bytes_are_sent_again_until_they_are_mined(run):
    async def work(town):
        await town.open_day()
        town.chain.faults.drop = 1.0
        answer = await town.ask(ALICE)
        town.mine()
        assert town.chain.forgets >= 1
        town.chain.faults.drop = 0.0
        await town.pay()
        town.mine()
        await town.pay()
        assert town.held(ALICE) == 20_000
        assert town.chain.eth_getTransactionReceipt(answer.tx)["status"] == "0x1"

    run(work)
