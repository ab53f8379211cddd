"""One round of the agent after another: what waits for the next, what is counted again, and who pays after whom."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import insert, select, update

from tickyard.features.earn import rules
from tickyard.features.earn.days.epochs import run_due
from tickyard.features.earn.tables import earn_claim, earn_epoch, earn_line
from tickyard.observe import metrics
from tickyard.payout import agent as agents
from tickyard.payout import ledger
from tickyard.payout.halt import Halted, halt, lift
from tickyard.payout.judge import PayoutCaps
from tickyard.payout.run import LEASE, run_agent
from tickyard.store.leases import LostLease, lease, release, take
from yards.reward_days import ALICE, BOB, CAROL, EPOCH, THRESHOLD, TOKEN, live_in_town


@pytest.fixture
def run(tmp_path):
    return lambda work: asyncio.run(live_in_town(str(tmp_path / "tickyard.db"), tmp_path, work))


async def reserve(town, *wallets, signature=None):
    """Claims that the API has written, without anybody who waits for them."""
    async with town.store.begin() as tx:
        for wallet in wallets:
            row = {"epoch": EPOCH, "address": wallet.address, "attempt": 0, "reserved_at": town.clock.now()}
            await tx.execute(insert(earn_claim), row | {"signature": signature or wallet.sign(EPOCH)})


def test_claims_are_gathered_for_a_second_after_a_batch(run):
    async def work(town):
        await town.open_day()
        await reserve(town, ALICE)
        assert (await town.pay()).sent == 1
        await reserve(town, BOB)
        await town.clock.sleep(agents.GATHER_S - 0.25)
        assert (await town.hired.run_once(town.lease)).sent == 0
        await town.clock.sleep(0.25)
        did = await town.hired.run_once(town.lease)
        assert (did.sent, did.batches) == (1, 1)

    run(work)


def test_a_claim_over_a_cap_is_looked_at_again_after_a_minute(run):
    async def work(town):
        await town.open_day()
        agent = town.agent()
        agent.caps = PayoutCaps(1, 1, 1)
        await reserve(town, ALICE)
        did = await town.pay(agent)
        assert (did.held, did.sent, did.is_idle) == (1, 0, True)
        agent.caps = PayoutCaps(10**9, 10**9, 10**9)
        await town.clock.sleep(57)
        assert (await town.pay(agent)).sent == 0
        await town.clock.sleep(1)
        assert (await town.pay(agent)).sent == 1

    run(work)


def test_an_opening_is_sent_once_and_not_again_while_it_is_on_its_way(run):
    async def work(town):
        await run_due(town, town.clock.now())
        await town.earn_money(30_000)
        await town.to(rules.snapshot_at(EPOCH))
        await town.to(rules.opens_at(EPOCH))
        assert [(await town.pay()).opened for _ in range(3)] == [1, 0, 0]
        town.mine(1)
        assert (await town.pay()).opened == 0
        assert town.chain.state.nonces[town.signer.address] == 1

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize(("allowed", "sent"), [(30_000, 1), (29_999, 0)])
def test_what_is_on_its_way_is_not_there_to_be_paid_again(run, allowed, sent):
    async def work(town):
        await town.open_day()
        town.chain.edit(lambda state: state.allowances.update({town.signer.address: allowed}))
        await reserve(town, ALICE)
        assert (await town.pay()).sent == 1
        await reserve(town, BOB)
        before = metrics.payout_refused._value.get()
        assert (await town.pay()).sent == sent
        assert metrics.payout_refused._value.get() - before == 1 - sent
        assert town.held(ALICE) == 0, "nothing is mined yet"

    run(work)


def test_the_cap_of_a_day_counts_what_another_agent_has_sent_meanwhile(run):
    async def work(town):
        town.chain.give(TOKEN, CAROL.address, THRESHOLD)
        town.mine()
        town.caps = PayoutCaps(10**9, 10**9, 35_000)
        await town.open_day(40_000)
        first, second = town.agent(), town.agent()
        for agent, wallet, sent in ((first, BOB, 1), (second, ALICE, 1), (first, CAROL, 0)):
            await reserve(town, wallet)
            did = await town.pay(agent)
            assert (did.sent, did.held) == (sent, 1 - sent)
            await release(town.store, town.lease)
            town.lease = await take(town.store, LEASE, "another")

    run(work)


def test_the_cap_of_a_day_counts_what_the_same_agent_has_sent_in_its_batches_before(run):
    async def work(town):
        town.caps = PayoutCaps(10**9, 10**9, 29_999)
        await town.open_day()
        agent = town.agent()
        for wallet, sent in ((ALICE, 1), (BOB, 0)):
            await reserve(town, wallet)
            did = await town.pay(agent)
            assert (did.sent, did.held) == (sent, 1 - sent)

    run(work)


def test_the_cap_of_a_day_counts_nothing_that_has_failed(run):
    async def work(town):
        town.caps = PayoutCaps(10**9, 10**9, 29_999)
        await town.open_day()
        agent = town.agent()
        town.chain.frozen.add(ALICE.address)
        await reserve(town, ALICE)
        assert (await town.pay(agent)).sent == 1
        town.mine()
        assert (await town.pay(agent)).failed == 1
        await reserve(town, BOB)
        assert (await town.pay(agent)).sent == 1, "whoever USDG does not pay keeps nobody else from being paid"

    run(work)


def test_books_that_do_not_add_up_stop_everybody_though_their_digest_is_right(run):
    async def work(town):
        await town.open_day()
        async with town.store.begin() as tx:
            await tx.execute(update(earn_epoch).where(earn_epoch.c.id == EPOCH).values(eligible_total=4 * THRESHOLD))
        forged, _ = await ledger.read_books(town.store, EPOCH)
        async with town.store.begin() as tx:
            await tx.execute(update(earn_epoch).where(earn_epoch.c.id == EPOCH).values(digest=forged.digest))
        (town.folder / "accepted.jsonl").unlink()
        with pytest.raises(Halted, match="not what their digest says"):
            await town.pay(town.agent())
        assert not (town.folder / "accepted.jsonl").exists()

    run(work)


@pytest.mark.slow
@pytest.mark.parametrize("why", ["lease", "halt"])
def test_who_may_not_go_on_refuses_no_claim_either(run, why):
    async def work(town):
        await town.open_day()
        agent = town.agent()
        agent.final_every_s = 1000.0
        await town.pay(agent)
        await reserve(town, ALICE, signature=BOB.sign(EPOCH))
        if why == "lease":
            town.lease = replace(town.lease, fence=town.lease.fence - 1)
        else:
            await halt(town.store, "for a test")
        with pytest.raises(LostLease if why == "lease" else Halted):
            await town.pay(agent)
        async with town.store.read() as tx:
            assert (await tx.execute(select(earn_line))).all() == []

    run(work)


def test_with_nothing_on_its_way_final_blocks_are_looked_for_ten_times_less_often(run):
    async def work(town):
        await town.open_day()
        agent = town.agent()

        async def pause_s():
            agent.final_every_s, agent._final_at = 100.0, 0.0
            await town.pay(agent)
            return round((agent._final_at - town.clock.monotonic()) / 100)

        town.mine()
        await town.pay(agent)
        idle = await pause_s()
        await town.ask(ALICE)
        assert (idle, await pause_s()) == (10, 1)

    run(work)


def test_who_has_seen_a_halt_tells_all_others(run):
    async def work(town):
        await town.open_day()
        town.chain.edit(lambda state: state.books.update({EPOCH: "cd" * 32}))
        with pytest.raises(Halted, match="other books"):
            await town.pay(town.agent())
        town.chain.edit(lambda state: state.books.update({EPOCH: "ab" * 32}))
        with pytest.raises(Halted, match="other books"):
            await town.pay()

    run(work)


def test_a_stop_is_obeyed_before_the_desk_is_opened_for_a_day(run, tmp_path):
    async def work(town):
        await run_due(town, town.clock.now())
        await town.earn_money(30_000)
        await town.to(rules.snapshot_at(EPOCH))
        await town.to(rules.opens_at(EPOCH))
        agent = town.agent(stop_file=tmp_path / "stop")
        (tmp_path / "stop").touch()
        before = town.chain.calls
        assert (await town.pay(agent)).is_idle
        assert town.chain.calls == before
        (tmp_path / "stop").unlink()
        assert (await town.pay(agent)).opened == 1

    run(work)


async def until(task, is_so):
    while not await is_so():
        assert not task.done()
        await asyncio.wait([task], timeout=0.002)


def test_an_agent_stands_by_while_another_holds_the_lease_and_pays_when_that_one_is_gone(run):
    async def work(town):
        await town.open_day()
        await release(town.store, town.lease)
        task = asyncio.create_task(run_agent(town.agent(), "first"))

        async def owner():
            async with town.store.read() as tx:
                return (await tx.execute(select(lease.c.owner).where(lease.c.name == LEASE))).scalar_one()

        async def is_first():
            return await owner() == "first"

        try:
            await until(task, is_first)
            # Another has taken over: the first finds out, and waits.
            theirs = {"owner": "second", "fence": lease.c.fence + 1, "until": town.clock.now() + timedelta(seconds=10)}
            async with town.store.begin() as tx:
                await tx.execute(update(lease).where(lease.c.name == LEASE).values(theirs))
            await reserve(town, ALICE)
            await asyncio.wait([task], timeout=0.05)
            assert (await owner(), task.done(), town.chain.pool) == ("second", False, {})
            town.clock.move(town.clock.now() + timedelta(seconds=11))
            await until(task, is_first)

            async def is_sent():
                return bool(town.chain.pool)

            await until(task, is_sent)
        finally:
            task.cancel()
            await asyncio.wait([task])
        assert await take(town.store, LEASE, "third") is not None, "who leaves lets the next one have it at once"

    run(work)


def test_an_agent_that_works_keeps_its_lease_through_any_time(run):
    async def work(town):
        await town.open_day()
        await release(town.store, town.lease)
        task = asyncio.create_task(run_agent(town.agent(), "first"))

        async def held():
            async with town.store.read() as tx:
                row = select(lease.c.owner, lease.c.fence, lease.c.until).where(lease.c.name == LEASE)
                return tuple((await tx.execute(row)).one())

        async def is_ours():
            return (await held())[0] == "first"

        try:
            await until(task, is_ours)
            _, fence, ends = await held()
            for _ in range(5):
                town.clock.move(town.clock.now() + timedelta(seconds=4))

                async def is_renewed(ends=ends):
                    return (await held())[2] > ends

                await until(task, is_renewed)
                assert (await held())[:2] == ("first", fence)
                ends = (await held())[2]
        finally:
            task.cancel()
            await asyncio.wait([task])

    run(work)


def test_a_halt_rings_until_a_person_has_lifted_it_and_trouble_of_a_node_does_not(run):
    async def work(town):
        await town.open_day()
        await release(town.store, town.lease)
        task = asyncio.create_task(run_agent(town.agent(), "first"))

        async def rings():
            return metrics.payout_halted._value.get() == 1

        async def is_quiet():
            return not await rings()

        try:
            town.chain.faults.lost_request = 1.0
            await asyncio.wait([task], timeout=0.03)
            assert await is_quiet()
            town.chain.faults.lost_request = 0.0
            await halt(town.store, "for a test")
            await until(task, rings)
            await lift(town.store)
            await until(task, is_quiet)
        finally:
            task.cancel()
            await asyncio.wait([task])

    run(work)
