"""The alarm for the oldest unpaid claim rings whatever it is that keeps it from being paid."""

import asyncio
import contextlib
from datetime import timedelta

import pytest

from tickyard.features.earn import rules
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.metrics import REGISTRY
from tickyard.payout.halt import Halted, halt
from tickyard.payout.judge import PayoutCaps
from tickyard.payout.run import run_agent
from yards.reward_days import ALICE, BOB, EPOCH, live_in_town


@pytest.fixture
def run(where, tmp_path):
    return lambda work: asyncio.run(live_in_town(where, tmp_path, work))


def oldest_s():
    return REGISTRY.get_sample_value("tickyard_payout_oldest_claim_seconds")


def unpaid_s():
    return REGISTRY.get_sample_value("tickyard_payout_oldest_unpaid_seconds")


def halted():
    return REGISTRY.get_sample_value("tickyard_payout_halted")


async def a_round_later(town, agent, minutes=2):
    town.clock.move(town.clock.now() + timedelta(minutes=minutes))
    await town.clock.sleep(60 * minutes)
    with contextlib.suppress(UpstreamDown, Halted):
        await town.pay(agent)


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["node", "halt", "stop", "cap"])
def test_a_claim_that_waits_is_told_of_whatever_it_waits_for(run, tmp_path, trouble):
    async def work(town):
        await town.open_day()
        agent = town.agent(stop_file=tmp_path / "payout.stop")
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(ALICE, agent=False)
        if trouble == "node":
            town.chain.faults.lost_request = 1.0
        elif trouble == "halt":
            await halt(town.store, "for a test")
        elif trouble == "stop":
            (tmp_path / "payout.stop").touch()
        else:
            agent.caps = PayoutCaps(1, 1, 1)
        await a_round_later(town, agent)
        await a_round_later(town, agent)
        assert 240 <= oldest_s() < 300

    run(work)


@pytest.mark.slow
def test_a_later_day_without_claims_does_not_hide_who_waits_since_yesterday(run):
    async def work(town):
        await town.open_day()
        town.caps = PayoutCaps(10_000, 10**12, 10**12)
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(ALICE)
        assert (await town.ask(BOB)).ok
        await town.to(rules.closes_at(EPOCH))
        following = rules.next_epoch(EPOCH)
        await town.earn_money(30_000)
        await town.to(rules.snapshot_at(following))
        await town.open_claims(following)
        await a_round_later(town, town.hired)
        assert oldest_s() > 23 * 3600
        town.caps = PayoutCaps(10**12, 10**12, 10**12)
        await town.pay()
        town.mine()
        for _ in range(2):
            await a_round_later(town, town.hired)
        assert oldest_s() == 0

    run(work)


def test_a_payout_that_a_node_took_and_forgot_is_told_of_though_it_was_sent(run):
    async def work(town):
        await town.open_day()
        agent = town.hired
        assert (await town.ask(ALICE)).status == "sent"
        town.chain.faults.drop = 1.0
        town.chain.pool.clear()
        for _ in range(3):
            await a_round_later(town, agent)
        assert oldest_s() >= 240
        assert unpaid_s() >= 240
        town.chain.faults.drop = 0.0
        await a_round_later(town, agent)
        town.mine(1)
        await a_round_later(town, agent)
        await a_round_later(town, agent)
        assert oldest_s() == 0

    run(work)


def test_a_payment_that_is_mined_and_not_final_is_unpaid_and_no_claim_that_waits(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        town.mine(1)
        for _ in range(2):
            await a_round_later(town, town.hired)
        assert oldest_s() == 0
        assert unpaid_s() >= 120
        town.mine()
        await a_round_later(town, town.hired)
        await a_round_later(town, town.hired)
        assert unpaid_s() == 0

    run(work)


def test_an_agent_that_pays_no_longer_rings_no_longer(run):
    async def work(town):
        await town.open_day()
        await halt(town.store, "for a test")
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(ALICE, agent=False)
        town.clock.move(town.clock.now() + timedelta(minutes=2))
        paying = asyncio.create_task(run_agent(town.agent(), "the first"))
        while not (halted() and oldest_s() and unpaid_s()):
            await asyncio.wait([paying], timeout=0.002)
        paying.cancel()
        await asyncio.wait([paying])
        assert (halted(), oldest_s(), unpaid_s()) == (0, 0, 0)

    run(work)
