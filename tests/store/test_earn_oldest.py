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
from yards.reward_days import ALICE, BOB, EPOCH, live_in_town


@pytest.fixture
def run(where, tmp_path):
    return lambda work: asyncio.run(live_in_town(where, tmp_path, work))


def oldest_s():
    return REGISTRY.get_sample_value("tickyard_payout_oldest_claim_seconds")


async def a_round_later(town, agent, minutes=2):
    town.clock.move(town.clock.now() + timedelta(minutes=minutes))
    await town.clock.sleep(60 * minutes)
    with contextlib.suppress(UpstreamDown, Halted):
        await town.pay(agent)


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
        await a_round_later(town, town.hired)
        assert oldest_s() == 0

    run(work)
