"""How payouts get onto the chain: gas, the word of a node that has them already, and how many wait at most."""

import asyncio

import pytest

from simulated.chain import Refusal
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe import metrics
from tickyard.payout import sending
from yards.reward_days import ALICE, BOB, live_in_town


@pytest.fixture
def run(where, tmp_path):
    return lambda work: asyncio.run(live_in_town(where, tmp_path, work))


def refused():
    return metrics.payout_refused._value.get()


def test_a_payout_brings_a_quarter_more_gas_than_it_needs_and_some(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        (waiting,) = town.chain.pool.values()
        assert waiting.gas == (250_000 + 50_000) * 5 // 4 + 100_000

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "is_refusal"),
    [
        *(
            (word, False)
            for word in ("Nonce too low", "nonce too low: next nonce 7", "already known", "Known transaction")
        ),
        *((word, True) for word in ("unknown account", "intrinsic gas too low")),
    ],
)
def test_a_node_that_has_a_payout_already_has_not_refused_it(run, word, is_refusal):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        before = refused()
        answer_with(town, word)
        for _ in range(5):
            await town.pay()
        assert (refused() > before) is is_refusal

    run(work)


def test_only_so_many_payouts_wait_for_the_chain_and_the_next_goes_when_one_is_mined(run, monkeypatch):
    monkeypatch.setattr(sending, "UNMINED_MAX", 1)

    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        with pytest.raises(UpstreamDown, match="reserved"):
            await town.ask(BOB, agent=False)
        assert (await town.pay()).sent == 0
        town.mine(1)
        assert (await town.pay()).sent == 1

    run(work)


def test_of_what_is_over_nothing_is_kept_when_the_next_goes_out(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        sending = town.hired._outbound
        over, nonces = set(sending._raw), set(sending._sent_at)
        assert over
        assert nonces
        town.mine()
        assert (await town.pay()).confirmed == 1
        await town.ask(BOB)
        await town.pay()
        assert (over & set(sending._raw), nonces & {*sending._sent_at, *sending._since}) == (set(), set())

    run(work)


def answer_with(town, word):
    def refuse(_raw):
        raise Refusal(word)

    town.chain.eth_sendRawTransaction = refuse
