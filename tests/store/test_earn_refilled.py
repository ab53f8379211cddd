"""An account that was short of gas, a payer that was named again: what was signed meanwhile stands in nobody's way."""

import asyncio

import pytest
from sqlalchemy import update

from tickyard.features.earn.tables import earn_claim
from tickyard.kernel.errors import UpstreamDown
from tickyard.payout.turn import NotOurTurn
from yards.reward_days import ALICE, BOB, EPOCH, live_in_town

A_FEW_BATCHES = 4 * 4 * 10**8 * 600_000
"""Wei: what some batches of few lines cost at the fee that is offered first."""


@pytest.fixture
def run(where, tmp_path):
    return lambda work: asyncio.run(live_in_town(where, tmp_path, work))


async def rounds(town, many):
    for _ in range(many):
        await town.pay()
        town.mine(1)


def name_payer(town, payer):
    town.chain.edit(lambda state: setattr(state, "payer", payer))
    town.mine()


@pytest.mark.slow
def test_who_claims_while_there_is_no_gas_is_told_of_no_transaction_and_is_paid_after_a_little(run):
    async def work(town):
        await town.open_day()
        town.chain.eth = 0
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(ALICE)
        assert (await town.status(ALICE))["epoch"]["claimTx"] is None
        await rounds(town, 100)
        town.chain.eth = A_FEW_BATCHES
        await rounds(town, 8)
        assert town.held(ALICE) == 20_000

    run(work)


@pytest.mark.slow
def test_gas_that_is_gone_when_a_batch_is_signed_makes_it_no_dearer(run):
    async def work(town):
        await town.open_day()
        town.chain.faults.drop = 1.0
        first = await town.ask(ALICE)
        town.chain.faults.drop = 0.0
        town.chain.eth = 0
        await rounds(town, 100)
        assert (await town.ask(ALICE)).tx == first.tx, "a higher fee is no answer to an empty account"
        town.chain.eth = A_FEW_BATCHES
        await rounds(town, 8)
        assert town.held(ALICE) == 20_000

    run(work)


@pytest.mark.slow
def test_a_fee_that_the_account_cannot_pay_any_more_goes_down_again(run):
    async def work(town):
        await town.open_day()
        town.chain.floor = 10**11
        await town.ask(ALICE)
        for _ in range(400):
            await town.pay()
        town.chain.pool.clear()
        town.chain.floor = 0
        town.chain.eth = A_FEW_BATCHES
        await rounds(town, 40)
        assert town.held(ALICE) == 20_000

    run(work)


def test_a_payer_who_is_named_again_signs_what_it_had_signed_before(run):
    async def work(town):
        await town.open_day()
        town.chain.faults.drop = 1.0
        await town.ask(ALICE)
        name_payer(town, "0x" + "99" * 20)
        with pytest.raises(NotOurTurn):
            await town.pay()
        town.chain.faults.drop = 0.0
        name_payer(town, town.signer.address)
        await rounds(town, 8)
        town.mine()
        await town.pay()
        assert town.held(ALICE) == 20_000
        assert (await town.ask(ALICE)).status == "confirmed"

    run(work)


@pytest.mark.slow
def test_a_claim_that_is_spoiled_while_it_waits_to_be_sent_again_stops_nobody_else(run):
    async def work(town):
        await town.open_day()
        town.chain.faults.drop = 1.0
        await town.ask(ALICE)
        name_payer(town, "0x" + "99" * 20)
        with pytest.raises(NotOurTurn):
            await town.pay()
        town.chain.faults.drop = 0.0
        async with town.store.begin() as tx:
            mine = update(earn_claim).where(earn_claim.c.epoch == EPOCH, earn_claim.c.address == ALICE.address)
            await tx.execute(mine.values(signature=BOB.sign(EPOCH)))
        name_payer(town, town.signer.address)
        await rounds(town, 3)
        assert (await town.status(ALICE))["epoch"]["claimed"] is False
        assert (await town.program())["epoch"]["claimedWallets"] == 0
        assert (await town.ask(BOB)).ok
        assert (await town.ask(ALICE)).ok
        await rounds(town, 8)
        assert (town.held(ALICE), town.held(BOB)) == (20_000, 10_000)

    run(work)
