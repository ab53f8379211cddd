"""The payout agent: what it refuses, holds, repeats, and when it stops."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import insert, select, update

from tickyard.features.earn import rules
from tickyard.features.earn.digest import Sealed
from tickyard.features.earn.tables import (
    earn_claim,
    earn_epoch,
    earn_payout,
    earn_share,
)
from tickyard.kernel.errors import UpstreamDown
from tickyard.payout.halt import Halted
from tickyard.payout.judge import PayoutCaps
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
        assert (did.signed, did.refused) == (0, 3)
        # The real owner is not locked out by it.
        assert (await town.ask(ALICE)).ok

    run(work)


def test_the_agent_stops_when_a_paid_claim_is_opened_again(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        town.mine()
        assert (await town.pay()).confirmed == 1
        async with town.store.begin() as tx:
            await tx.execute(update(earn_claim).values(attempt=1))
        with pytest.raises(Halted, match="has not failed"):
            await town.pay()
        assert town.held(ALICE) == 20_000

    run(work)


def test_the_agent_stops_when_a_snapshot_is_changed_under_it(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        async with town.store.begin() as tx:
            await tx.execute(
                update(earn_share).where(earn_share.c.address == BOB.address).values(balance=9 * THRESHOLD)
            )
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(BOB, agent=False)
        with pytest.raises(Halted, match="digest"):
            await town.pay()
        # A changed digest beside it does not help: the agent remembers the one it accepted.
        async with town.store.begin() as tx:
            rows = (await tx.execute(select(earn_share).where(earn_share.c.epoch == EPOCH))).all()
            epoch = (await tx.execute(select(earn_epoch).where(earn_epoch.c.id == EPOCH))).one()
        forged = Sealed(EPOCH, epoch.block_hash, epoch.pool_raw, {row.address: row.balance for row in rows})
        async with town.store.begin() as tx:
            await tx.execute(update(earn_epoch).where(earn_epoch.c.id == EPOCH).values(digest=forged.digest))
        with pytest.raises(Halted, match="accepted before"):
            await town.pay()

    run(work)


def test_the_agent_stops_when_somebody_else_uses_its_key(run):
    async def work(town):
        await town.open_day()
        town.chain.send(town.signer.address, USDG, CAROL.address, 1)
        town.mine()
        with pytest.raises(Halted, match="the books know 0"):
            await town.pay()

    run(work)


def test_the_agent_stops_when_a_booked_nonce_is_used_by_a_foreign_transaction_for_good(run):
    async def work(town):
        await town.open_day()
        town.chain.faults.drop = 1.0
        agent = town.agent()
        await asyncio.gather(town.ask(ALICE, agent=False), town.pay_while_asked(agent), return_exceptions=True)
        town.chain.send(town.signer.address, USDG, CAROL.address, 1)
        town.mine(1)
        # Not final: it may still be ours that is mined in the end.
        for _ in range(3):
            assert (await town.pay(agent)).failed == 0
        town.mine(DEPTH)
        with pytest.raises(Halted, match="nonce 0 of the payout account was used"):
            await town.pay(agent)
        async with town.store.read() as tx:
            assert (await tx.execute(select(earn_payout.c.state))).scalars().all() == ["signed"]

    run(work)


def test_a_foreign_transaction_that_a_reorganisation_takes_back_stops_nobody(run):
    async def work(town):
        await town.open_day()
        town.chain.faults.drop = 1.0
        agent = town.agent()
        await asyncio.gather(town.ask(ALICE, agent=False), town.pay_while_asked(agent), return_exceptions=True)
        foreign = town.chain.send(town.signer.address, USDG, CAROL.address, 1)
        town.mine(1)
        assert (await town.pay(agent)).is_idle
        town.chain.faults.drop = 0.0
        town.chain.reorganise(1, without={foreign})
        await town.clock.sleep(3)
        assert (await town.pay(agent)).sent == 1
        town.mine(DEPTH + 2)
        assert (await town.pay(agent)).confirmed == 1
        assert town.held(ALICE) == 20_000

    run(work)


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
        assert (did.signed, did.held) == (1, 1)
        town.caps = PayoutCaps(10**9, 10**9, 10**9)
        assert (await town.pay()).signed == 1

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
        assert (await town.pay(agent)).signed == 1

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


def test_a_wallet_has_one_live_payout_per_epoch_whatever_the_code_does(run):
    async def work(town):
        row = {"epoch": EPOCH, "address": ALICE.address, "state": "signed", "amount_raw": 1,
               "signed_at": town.clock.now()}  # fmt: skip
        async with town.store.begin() as tx:
            await tx.execute(insert(earn_payout), {**row, "attempt": 0, "nonce": 0})
        with pytest.raises(Exception, match=r"(?i)unique"):
            async with town.store.begin() as tx:
                await tx.execute(insert(earn_payout), {**row, "attempt": 1, "nonce": 1})

    run(work)
