"""What a payout offers for its gas: at first, when it is stuck, and when the account has little left."""

import asyncio
from dataclasses import replace

import pytest

from simulated.chain import Refusal
from simulated.words import DESK
from tickyard.features.earn.books.desk import open_call
from tickyard.features.earn.books.digest import Books
from tickyard.features.earn.days.opening import first_offer
from tickyard.kernel.errors import UpstreamDown
from tickyard.payout import ledger, sending
from tickyard.payout.halt import Halted, halt
from tickyard.payout.sending import Outbound
from tickyard.store.leases import LostLease, take
from yards.reward_days import EPOCH, TERMS, live_in_town

GAS = 1_000_000
OFFER = 4 * 10**8
PLENTY = 10**20
BOOKS = Books(EPOCH, 7, 0)


@pytest.fixture
def run(tmp_path):
    return lambda work: asyncio.run(live_in_town(str(tmp_path / "tickyard.db"), tmp_path, work))


@pytest.mark.parametrize(("base_fee", "offered"), [(0, 10**8), (25_000_000, 10**8), (25_000_001, 100_000_004)])
def test_the_first_offer_is_four_times_the_fee_of_the_block_and_never_next_to_nothing(base_fee, offered):
    assert first_offer(base_fee) == offered


def outbound_of(town):
    async def books_of(_epoch):
        return BOOKS

    return Outbound(town.store, town.rpc, town.signer, TERMS.chain_id, DESK, books_of)


async def signed_before(town, *more, **changed):
    """Openings of an earlier life, none of which the chain has taken."""
    town.lease = town.lease or await take(town.store, "payout", "test")
    old = ledger.Batch("0xold", town.signer.address, 0, EPOCH, True, GAS, OFFER, 10**6, town.clock.now())
    batches = [replace(old, **each) for each in (changed, *more)]
    async with town.store.begin() as tx:
        for batch in batches:
            await ledger.add_batch(tx, batch)
    return batches


def refuse(*_):
    raise Refusal("not served here")


async def live(town):
    async with town.store.read() as tx:
        return await ledger.live_batches(tx)


@pytest.mark.parametrize(
    ("max_fee", "tip", "wei", "offered"),
    [
        pytest.param(OFFER, 10**6, PLENTY, (5 * 10**8 + 1, 1_250_001), id="a quarter more, and a little"),
        pytest.param(10**8, 10**6, PLENTY, (OFFER, 1_250_001), id="not less than others offer now"),
        pytest.param(35 * 10**9, 10**6, PLENTY, (100 * OFFER, 1_250_001), id="a hundred times the first at most"),
        pytest.param(100 * OFFER, 10**6, PLENTY, (100 * OFFER, 10**6), id="and there it stays"),
        pytest.param(OFFER, OFFER + 10**8, PLENTY, (5 * 10**8 + 1, 5 * 10**8 + 1), id="no tip above the fee"),
        pytest.param(OFFER, 10**6, GAS * (5 * 10**8 + 1), (5 * 10**8 + 1, 1_250_001), id="just enough for more"),
        pytest.param(OFFER, 10**6, GAS * (5 * 10**8 + 1) - 1, (OFFER, 10**6), id="a wei too little for more"),
        pytest.param(10**9, 10**7, GAS * OFFER, (OFFER, 10**6), id="too little for its own: from the beginning"),
        pytest.param(10**9, 10**7, GAS * OFFER - 1, (10**9, 10**7), id="too little for the beginning"),
        pytest.param(10**9, 10**7, GAS * 10**9, (10**9, 10**7), id="just enough for its own"),
    ],
)
def test_a_stuck_payout_offers_what_its_account_can_pay(run, max_fee, tip, wei, offered):
    async def work(town):
        batches = await signed_before(town, max_fee=max_fee, tip=tip)
        town.chain.eth = wei
        assert await outbound_of(town).push(town.lease, batches) == 1
        newest = (await live(town))[-1]
        assert (newest.max_fee, newest.tip) == offered
        assert (newest.nonce, newest.epoch, newest.opens, newest.gas) == (0, EPOCH, True, GAS)

    run(work)


@pytest.mark.parametrize(("spare", "offered"), [(0, 5 * 10**8 + 1), (-1, OFFER)])
def test_what_others_that_wait_may_cost_is_not_offered_twice(run, spare, offered):
    async def work(town):
        other = {"hash": "0xother", "nonce": 1, "gas": 3 * GAS, "max_fee": 7 * OFFER}
        foreign = {"hash": "0xforeign", "nonce": 2, "payer": "0x" + "99" * 20}
        (mine, *_) = await signed_before(town, other, foreign)
        town.chain.eth = GAS * (5 * 10**8 + 1) + 3 * GAS * 7 * OFFER + spare
        await outbound_of(town).push(town.lease, [mine])
        assert max(each.max_fee for each in await live(town) if each.nonce == 0) == offered

    run(work)


@pytest.mark.parametrize(("wei", "sent"), [(0, 1), (-1, 0)])
def test_a_new_payout_is_signed_when_the_account_can_pay_all_of_its_gas(run, wei, sent):
    async def work(town):
        await signed_before(town)
        call = open_call(EPOCH, BOOKS.digest, 7)
        needed = 250_000 * 5 // 4 + 100_000
        town.chain.eth = GAS * OFFER + needed * OFFER + wei
        assert await outbound_of(town).send(town.lease, EPOCH, call) == sent
        assert [each.nonce for each in await live(town)] == [0, 1][: 1 + sent]
        if sent:
            newest = (await live(town))[-1]
            assert (newest.gas, newest.max_fee, newest.tip, newest.opens) == (needed, OFFER, 10**6, True)

    run(work)


@pytest.mark.parametrize("why", ["gas", "refusal"])
def test_after_a_refusal_nothing_is_asked_for_a_second(run, why):
    async def work(town):
        await signed_before(town)
        outbound = outbound_of(town)
        call = open_call(EPOCH, BOOKS.digest, 7)
        if why == "gas":
            town.chain.eth = 0
        else:
            town.chain.edit(lambda state: setattr(state, "paused", True))
        assert await outbound.send(town.lease, EPOCH, call) == 0
        town.chain.eth = PLENTY
        town.chain.edit(lambda state: setattr(state, "paused", False))
        outbound.begin_round()
        before = town.chain.calls
        assert await outbound.send(town.lease, EPOCH, call) == 0
        assert town.chain.calls == before
        await town.clock.sleep(sending.UNWANTED_S)
        assert await outbound.send(town.lease, EPOCH, call) == 1

    run(work)


def test_a_payout_is_sent_again_after_two_seconds_and_made_dearer_after_fifteen(run):
    async def work(town):
        town.lease = await take(town.store, "payout", "test")
        outbound = outbound_of(town)
        await outbound.send(town.lease, EPOCH, open_call(EPOCH, BOOKS.digest, 7))
        sent = []
        town.chain.eth_sendRawTransaction = lambda raw: sent.append(raw) or "0x" + "00" * 32
        replaced = {}
        for second in range(1, 33):
            await town.clock.sleep(1)
            outbound.begin_round()
            if made := await outbound.push(town.lease, await live(town)):
                replaced[second] = made
        assert replaced == {16: 1, 32: 1}
        assert (len(sent), len(set(sent))) == (16, 3)
        await town.clock.sleep(1)
        await outbound.push(town.lease, await live(town))
        assert len(sent) == 16

    run(work)


def test_a_payout_is_stuck_from_its_fifteenth_second_on(run):
    async def work(town):
        town.lease = await take(town.store, "payout", "test")
        outbound = outbound_of(town)
        await outbound.send(town.lease, EPOCH, open_call(EPOCH, BOOKS.digest, 7))
        for seconds, replaced in ((10, 0), (5, 1), (10, 0), (4, 0), (2, 1)):
            await town.clock.sleep(seconds)
            outbound.begin_round()
            assert await outbound.push(town.lease, await live(town)) == replaced

    run(work)


def test_a_payout_that_the_node_did_not_take_is_made_dearer_sooner(run):
    async def work(town):
        town.lease = await take(town.store, "payout", "test")
        outbound = outbound_of(town)
        town.chain.eth_sendRawTransaction = refuse
        await outbound.send(town.lease, EPOCH, open_call(EPOCH, BOOKS.digest, 7))
        await town.clock.sleep(2)
        assert await outbound.push(town.lease, await live(town)) == 0
        await town.clock.sleep(sending.REFUSED_S)
        outbound.begin_round()
        assert await outbound.push(town.lease, await live(town)) == 1

    run(work)


def test_what_the_chain_has_taken_is_not_sent_again(run):
    async def work(town):
        batches = await signed_before(town, {"hash": "0xnext", "nonce": 1})
        town.chain.state.nonces[town.signer.address] = 1
        outbound = outbound_of(town)
        assert await outbound.push(town.lease, batches) == 1
        assert [each.nonce for each in town.chain.pool.values()] == [1]
        assert outbound.mined == 1

    run(work)


@pytest.mark.parametrize(
    ("batch", "is_opening"),
    [({}, True), ({"opens": False}, False), ({"epoch": EPOCH + 1}, False), ({"payer": "0x" + "99" * 20}, False)],
)
def test_an_opening_is_on_its_way_until_the_chain_has_taken_its_nonce(run, batch, is_opening):
    async def work(town):
        await signed_before(town, **batch)
        outbound = outbound_of(town)
        assert await outbound.is_opening(EPOCH) is is_opening
        town.chain.state.nonces[town.signer.address] = 1
        outbound.begin_round()
        assert await outbound.is_opening(EPOCH) is False

    run(work)


@pytest.mark.parametrize("what", ["send", "push"])
def test_nothing_is_signed_after_a_halt_or_by_who_has_lost_the_lease(run, what):
    async def work(town):
        batches = await signed_before(town)
        outbound = outbound_of(town)

        async def sign(lease):
            if what == "send":
                await outbound.send(lease, EPOCH, open_call(EPOCH, BOOKS.digest, 7))
            else:
                await outbound.push(lease, batches)

        with pytest.raises(LostLease):
            await sign(replace(town.lease, fence=town.lease.fence - 1))
        await halt(town.store, "for a test")
        with pytest.raises(Halted, match="for a test"):
            await sign(town.lease)
        assert town.chain.pool == {}
        assert [each.hash for each in await live(town)] == ["0xold"]

    run(work)


@pytest.mark.parametrize("method", ["eth_getBalance", "eth_getTransactionCount"])
def test_a_node_that_shows_no_account_is_down(run, method):
    async def work(town):
        await signed_before(town)
        setattr(town.chain, method, refuse)
        with pytest.raises(UpstreamDown, match="refused to show"):
            await outbound_of(town).send(town.lease, EPOCH, open_call(EPOCH, BOOKS.digest, 7))

    run(work)
