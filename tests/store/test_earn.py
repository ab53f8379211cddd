"""The reward program on both databases: a day from snapshot to rollover, claims in all their orders, and the roles."""

import asyncio
import csv
import io
import random
import sys
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import msgspec
import psycopg
import pytest
from sqlalchemy import func, insert, select, text, update

from tickyard.features.earn import epochs, rules, snapshot
from tickyard.features.earn.blocks import final_header
from tickyard.features.earn.books import BooksAsk, get_epoch_books
from tickyard.features.earn.desk import EarnDesk, holder_index
from tickyard.features.earn.drift import DriftWatch
from tickyard.features.earn.epochs import next_due, run_due
from tickyard.features.earn.operations import ClaimAsk, StatusAsk, claim, get_earn, get_earn_status
from tickyard.features.earn.tables import (
    earn_claim,
    earn_epoch,
    earn_payout,
    earn_share,
    holder_balance,
    holder_transfer,
)
from tickyard.features.earn.wire import Claimed
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import BadRequest, NotFound, UpstreamDown
from tickyard.kernel.operation import NoAsk
from tickyard.kernel.wire import encode
from tickyard.payout.accepted import AcceptedSnapshots
from tickyard.payout.agent import Agent
from tickyard.payout.halt import Halted
from tickyard.payout.judge import Caps
from tickyard.payout.signer import LocalSigner
from tickyard.store.engine import Store
from tickyard.store.leases import take
from tickyard.store.revenue import credit
from yards.schema import lay

# The chain in memory and its people are the simulation's.
sys.path.insert(0, str(Path(__file__).parents[1] / "simulation"))
from simulated.chain import TOKEN, USDG, Chain
from simulated.process import Faults, FrailRpc, Process
from simulated.world import DEPTH, TERMS, THRESHOLD, WALLETS

EPOCH = 20261114
ALICE, BOB, CAROL, POOR = WALLETS[:4]


class HandClock(WallClock):
    """Time that is moved by hand and runs on from there, and pauses that take none; the databases' clocks follow."""

    def __init__(self, now):
        self.move(now)
        self.error = timedelta(0)
        self._ticks = 0.0

    def now(self):
        return super().now() + self.offset + self.error

    def seconds(self):
        return int(self.timestamp())

    def timestamp(self):
        return self.now().timestamp()

    def monotonic(self):
        return self._ticks

    async def sleep(self, seconds):
        self._ticks += seconds
        # A little real time, so that others get their turn; the databases need some.
        await WallClock().sleep(0.001)

    def move(self, to):
        self.offset = to - WallClock.now(self)


@dataclass
class Town:
    """One process of each kind on one database, and a chain."""

    store: Store
    clock: HandClock
    chain: Chain
    rpc: FrailRpc
    folder: Path
    earn: EarnDesk = field(default_factory=lambda: EarnDesk(TERMS, DEPTH))
    signer: LocalSigner = field(default_factory=lambda: LocalSigner(b"\x07" * 32))
    caps: Caps = field(default_factory=lambda: Caps(10**12, 10**12, 10**12))
    lease: object = None
    counted: int = 0

    def mine(self, blocks=6):
        for _ in range(blocks):
            self.chain.mine()

    async def earn_money(self, *amounts):
        async with self.store.begin() as tx:
            for amount in amounts:
                self.counted += 1
                await credit(tx, f"eip155:4663/0x{self.counted:064x}/0", amount, self.clock.now(), self.clock.now())

    async def to(self, moment):
        """Move there, with blocks on the way, and do what is due."""
        self.chain.mine()
        self.clock.move(moment)
        self.mine()
        return await run_due(self, self.clock.now())

    async def open_day(self, *amounts):
        """Until the claims of the day are open."""
        await run_due(self, self.clock.now())
        await self.pay()
        await self.earn_money(*(amounts or (10_000, 20_000)))
        assert (await self.to(rules.snapshot_at(EPOCH))).taken == [EPOCH]
        assert (await self.to(rules.opens_at(EPOCH))).opened == [EPOCH]

    def agent(self):
        memory = AcceptedSnapshots(self.folder / "accepted.jsonl")
        return Agent(self.store, self.rpc, self.signer, TERMS, self.caps, memory, DEPTH)

    async def pay(self, agent=None):
        """One round of an agent."""
        if self.lease is None:
            self.lease = await take(self.store, "payout", "test")
        return await (agent or self.agent()).run_once(self.lease)

    async def ask(self, wallet, epoch=EPOCH, signature=None, agent=True):
        """Claim, with an agent that comes by while the claimant waits."""
        asked = ClaimAsk(address=wallet.address, epoch=epoch, signature=signature or wallet.sign(epoch))
        task = asyncio.create_task(claim(self, asked))
        while agent and not task.done():
            await asyncio.wait([task], timeout=0.002)
            await self.pay()
        return await task

    async def pay_while_asked(self, agent):
        """Rounds of one agent until it has signed something."""
        while not (await self.pay(agent)).signed:
            await self.clock.sleep(0.1)

    async def status(self, wallet):
        return msgspec.json.decode(encode(await get_earn_status(self, StatusAsk(address=wallet.address))))

    async def program(self):
        return msgspec.json.decode(encode((await get_earn(self, NoAsk())).answer))

    async def books(self, epoch=EPOCH):
        return msgspec.json.decode(encode((await get_epoch_books(self, BooksAsk(id=epoch))).answer))

    def held(self, wallet):
        return self.chain.state.usdg.get(wallet.address, 0)


@pytest.fixture
def run(where, tmp_path):
    def run(work):
        async def go():
            clock = HandClock(rules.starts_at(EPOCH) + timedelta(hours=12))
            faults = Faults()
            chain = Chain(clock, random.Random(1), faults)
            store = Store.open(where, clock, random.Random(1))
            process = Process("test", random.Random(1), faults)
            town = Town(store, clock, chain, FrailRpc(chain, clock, process), tmp_path)
            try:
                await lay(store)
                for wallet, amount in ((ALICE, 2 * THRESHOLD), (BOB, THRESHOLD), (POOR, THRESHOLD - 1)):
                    chain.give(TOKEN, wallet.address, amount)
                chain.give(USDG, town.signer.address, 10**12)
                town.mine()
                async with asyncio.timeout(60):
                    return await work(town)
            finally:
                await store.close()

        return asyncio.run(go())

    return run


def test_a_day_from_revenue_to_rollover(run):
    async def work(town):
        await town.open_day(10_000, 20_000, 1)
        answer = await town.ask(ALICE)
        assert (answer.ok, answer.epoch, answer.amount_usd, answer.status) == (True, EPOCH, "0.020000", "sent")
        assert answer.address.lower() == ALICE.address
        town.mine()
        await town.pay()
        assert town.held(ALICE) == 20_000
        assert (await town.ask(ALICE)).status == "confirmed"
        assert (await town.ask(ALICE)).tx == answer.tx
        assert (await town.to(rules.closes_at(EPOCH))).closed == [EPOCH]
        books = await town.books()
        assert (books["poolUsd"], books["paidUsd"], books["rolledOverUsd"]) == ("0.030001", "0.020000", "0.010001")
        assert books["balanced"] is True
        assert books["calls"] == 3
        assert [line["claim"] for line in books["lines"]].count("confirmed") == 1
        accruing = (await town.program())["accruing"]
        assert (accruing["rolloverUsd"], accruing["revenueUsd"], accruing["calls"]) == ("0.010001", "0.000000", 0)
        # The next day's pool begins with what is left.
        await town.earn_money(5)
        await town.to(rules.snapshot_at(rules.next_epoch(EPOCH)))
        await town.to(rules.opens_at(rules.next_epoch(EPOCH)))
        assert (await town.books(rules.next_epoch(EPOCH)))["poolUsd"] == "0.010006"

    run(work)


def test_the_answers_have_exactly_the_decided_fields(run):
    async def work(town):
        before = await town.status(ALICE)
        assert list(before) == ["address", "balanceTokens", "eligibleNow", "epoch"]
        assert list(before["epoch"]) == [
            "id", "claimOpenAt", "claimCloseAt", "claimOpen", "inSnapshot", "claimableUsd", "claimed", "claimTx",
            "message",
        ]  # fmt: skip
        assert (before["epoch"]["id"], before["epoch"]["claimOpen"], before["epoch"]["inSnapshot"]) == (
            EPOCH, False, False,
        )  # fmt: skip
        assert before["balanceTokens"] == "2000000"
        assert before["eligibleNow"] is True
        assert (await town.status(POOR))["eligibleNow"] is False
        program = await town.program()
        assert list(program) == ["token", "thresholdTokens", "payoutAsset", "schedule", "accruing", "epoch"]
        assert program["epoch"] is None
        assert program["token"] == {"symbol": "TICK", "address": program["token"]["address"], "chainId": 4663,
                                    "decimals": 18}  # fmt: skip
        assert program["thresholdTokens"] == "1000000"
        await run_due(town, town.clock.now())
        await town.pay()
        await town.earn_money(30_000)
        await town.to(rules.snapshot_at(EPOCH))
        taken = await town.status(ALICE)
        assert taken["epoch"]["claimableUsd"] is None
        assert (await town.program())["epoch"]["poolUsd"] is None
        await town.to(rules.opens_at(EPOCH))
        opened = await town.status(ALICE)
        assert opened["epoch"]["claimOpen"] is True
        assert opened["epoch"]["claimableUsd"] == "0.020000"
        assert (await town.status(POOR))["epoch"]["inSnapshot"] is False
        epoch = (await town.program())["epoch"]
        assert epoch == {
            "id": EPOCH, "poolUsd": "0.030000", "revenueUsd": "0.030000", "rolloverUsd": "0.000000",
            "eligibleWallets": 2, "claimOpenAt": "2026-11-15T00:00:00Z", "claimCloseAt": "2026-11-15T01:00:00Z",
            "claimOpen": True, "claimedWallets": 0, "claimedUsd": "0.000000",
        }  # fmt: skip
        answer = await town.ask(ALICE)
        assert list(msgspec.json.decode(encode(answer))) == ["ok", "epoch", "address", "amountUsd", "tx", "status"]
        after = (await town.status(ALICE))["epoch"]
        assert (after["claimed"], after["claimTx"]) == (True, answer.tx)

    run(work)


def test_bad_claims_are_refused_and_reserve_nothing(run):
    async def work(town):
        with pytest.raises(NotFound):
            await town.ask(ALICE, 20200101)
        with pytest.raises(NotFound):
            await town.ask(ALICE, 20261332)
        await town.open_day()
        for wallet, signature in (
            (ALICE, BOB.sign(EPOCH, ALICE.address)),
            (ALICE, ALICE.sign(rules.next_epoch(EPOCH))),
            (ALICE, "0x" + "11" * 64 + "1b"),
            (POOR, None),
            (CAROL, None),
        ):
            with pytest.raises(BadRequest):
                await town.ask(wallet, signature=signature)
        town.clock.move(rules.closes_at(EPOCH))
        with pytest.raises(BadRequest, match="closed"):
            await town.ask(ALICE)
        async with town.store.read() as tx:
            assert (await tx.execute(select(func.count()).select_from(earn_claim))).scalar_one() == 0

    run(work)


def test_a_contract_wallet_is_refused_and_a_delegated_account_is_paid(run):
    async def work(town):
        await town.open_day()
        codes = {ALICE.address: "0x6080", BOB.address: "0xef0100" + "ab" * 20}
        town.chain.eth_getCode = lambda address, _where: codes[address]
        with pytest.raises(BadRequest, match="contract"):
            await town.ask(ALICE)
        assert (await town.ask(BOB)).ok

    run(work)


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


def test_many_claims_at_once_are_one_transfer(run):
    async def work(town):
        await town.open_day()
        claims = [asyncio.create_task(town.ask(ALICE, agent=False)) for _ in range(8)]
        for _ in range(200):
            await town.clock.sleep(0)
            await town.pay()
        answers = await asyncio.gather(*claims, return_exceptions=True)
        assert {type(answer) for answer in answers} <= {Claimed, UpstreamDown}
        hashes = {answer.tx for answer in answers if isinstance(answer, Claimed)}
        assert len(hashes) == 1
        town.mine()
        await town.pay()
        assert town.held(ALICE) == 20_000
        assert town.chain.state.nonces[town.signer.address] == 1

    run(work)


def test_a_payout_that_reverts_for_good_is_released_and_may_be_claimed_again(run):
    async def work(town):
        await town.open_day()
        town.chain.frozen.add(ALICE.address)
        first = await town.ask(ALICE)
        town.chain.mine()
        assert (await town.pay()).failed == 0, "a revert that is not final decides nothing"
        assert (await town.ask(ALICE)).tx == first.tx
        town.mine()
        assert (await town.pay()).failed == 1
        assert (await town.status(ALICE))["epoch"]["claimed"] is False
        town.chain.frozen.clear()
        second = await town.ask(ALICE)
        assert second.tx != first.tx
        town.mine()
        await town.pay()
        assert town.held(ALICE) == 20_000
        await town.to(rules.closes_at(EPOCH))
        assert (await town.books())["balanced"] is True

    run(work)


def test_a_failure_after_the_closing_goes_to_the_next_pool_once(run):
    async def work(town):
        await town.open_day()
        town.chain.frozen.add(ALICE.address)
        town.clock.move(rules.closes_at(EPOCH) - timedelta(seconds=30))
        await town.ask(ALICE)
        town.clock.move(rules.closes_at(EPOCH))
        assert (await run_due(town, town.clock.now())).closed == [EPOCH]
        town.mine()
        assert (await town.pay()).failed == 1
        with pytest.raises(BadRequest, match="closed"):
            await town.ask(ALICE)
        following = rules.next_epoch(EPOCH)
        await town.to(rules.snapshot_at(following))
        await town.to(rules.opens_at(following))
        assert (await town.books(following))["poolUsd"] == "0.030000"
        assert (await town.books())["returnedLaterUsd"] == "0.020000"
        assert (await town.books())["balanced"] is True
        await town.to(rules.closes_at(following))
        third = rules.next_epoch(following)
        await town.to(rules.snapshot_at(third))
        await town.to(rules.opens_at(third))
        assert (await town.books(third))["poolUsd"] == "0.030000"

    run(work)


def test_a_pool_that_cannot_be_paid_stays_closed_and_rolls_over_whole(run):
    async def work(town):
        await run_due(town, town.clock.now())
        await town.pay()
        await town.earn_money(10**12 + 1)
        await town.to(rules.snapshot_at(EPOCH))
        done = await town.to(rules.opens_at(EPOCH))
        assert done.opened == []
        assert "not solvent" in done.waiting[EPOCH]
        assert town.earn.late == {(EPOCH, "open: not solvent")}
        with pytest.raises(UpstreamDown, match="not open"):
            await town.ask(ALICE)
        await town.to(rules.closes_at(EPOCH))
        assert (await town.books())["rolledOverUsd"] == (await town.books())["poolUsd"]

    run(work)


def test_a_payer_without_gas_for_all_of_them_pays_nobody(run):
    async def work(town):
        # Two transfers at twice the fee, and what the last of them must still have on the account to be taken.
        base_fee, gas = 10**8, 200_000
        town.chain.eth = gas * (2 * 2 * base_fee + 20 * base_fee) - 1
        await run_due(town, town.clock.now())
        await town.pay()
        await town.earn_money(30_000)
        await town.to(rules.snapshot_at(EPOCH))
        assert "not solvent" in (await town.to(rules.opens_at(EPOCH))).waiting[EPOCH]
        town.chain.eth += 1
        assert (await run_due(town, town.clock.now())).opened == [EPOCH]

    run(work)


def test_revenue_that_becomes_known_after_the_sealing_is_in_the_next_pool_once(run):
    async def work(town):
        await town.open_day(30_000)
        yesterday = rules.opens_at(EPOCH) - timedelta(microseconds=1)
        async with town.store.begin() as tx:
            await credit(tx, "eip155:4663/0xlate/0", 7, yesterday, town.clock.now())
        await town.to(rules.closes_at(EPOCH))
        assert (await town.books())["poolUsd"] == "0.030000"
        following = rules.next_epoch(EPOCH)
        third = rules.next_epoch(following)
        for epoch in (following, third):
            await town.to(rules.snapshot_at(epoch))
            await town.to(rules.opens_at(epoch))
            await town.to(rules.closes_at(epoch))
        later = await town.books(following)
        assert (later["revenueUsd"], later["calls"], later["poolUsd"]) == ("0.000007", 1, "0.030007")
        assert (await town.books(third))["revenueUsd"] == "0.000000"

    run(work)


def test_another_form_of_the_same_signature_is_the_same_claim(run):
    async def work(town):
        await town.open_day()
        signature = bytes.fromhex(ALICE.sign(EPOCH)[2:])
        order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
        high = (order - int.from_bytes(signature[32:64], "big")).to_bytes(32, "big")
        v = signature[64] % 27
        forms = [
            signature[:64] + bytes([v]),
            signature[:64] + bytes([v + 27]),
            signature[:32] + high + bytes([1 - v]),
            signature[:32] + high + bytes([28 - v]),
        ]
        answers = [await town.ask(ALICE, signature="0x" + form.hex()) for form in forms]
        answers.append(await town.ask(ALICE, signature="0x" + forms[0].hex().upper()))
        assert len({answer.tx for answer in answers}) == 1
        town.mine()
        await town.pay()
        assert town.held(ALICE) == 20_000
        assert town.chain.state.nonces[town.signer.address] == 1

    run(work)


def test_a_worker_that_was_down_for_days_catches_up_in_order(run):
    async def work(town):
        await town.earn_money(30_000)
        await run_due(town, town.clock.now())
        before = (await town.status(BOB))["balanceTokens"]
        town.clock.move(rules.snapshot_at(EPOCH) - timedelta(seconds=5))
        town.mine()
        town.clock.move(rules.snapshot_at(EPOCH))
        # Sold after the snapshot: it still counts, however late the snapshot is taken.
        town.chain.send(BOB.address, TOKEN, CAROL.address, THRESHOLD)
        town.mine()
        town.clock.move(rules.closes_at(EPOCH) + timedelta(days=3))
        town.mine()
        done = await run_due(town, town.clock.now())
        third = rules.epoch_of(rules.day_of(EPOCH) + timedelta(days=3))
        assert done.closed == [EPOCH, *rules.epochs_between(EPOCH, third)]
        books = await town.books()
        assert [line["address"].lower() for line in books["lines"]] == sorted([ALICE.address, BOB.address])
        assert before == "1000000"
        assert (books["poolUsd"], books["rolledOverUsd"]) == ("0.030000", "0.030000")
        assert (await town.program())["accruing"]["rolloverUsd"] == "0.030000"
        assert (await run_due(town, town.clock.now())).is_idle

    run(work)


def test_a_snapshot_taken_after_the_next_days_is_still_what_the_chain_held(run, monkeypatch):
    async def work(town):
        await town.earn_money(30_000)
        await run_due(town, town.clock.now())
        town.clock.move(rules.snapshot_at(EPOCH))
        # At the snapshot Bob had just enough.
        town.chain.send(BOB.address, TOKEN, CAROL.address, 1)
        town.mine()
        tomorrow = rules.next_epoch(EPOCH)
        town.clock.move(rules.snapshot_at(tomorrow))
        town.mine()
        with monkeypatch.context() as bad_day:
            bad_day.setattr(epochs, "take", fails_for(EPOCH))
            assert (await run_due(town, town.clock.now())).taken == [tomorrow]
        assert (await run_due(town, town.clock.now())).taken == [EPOCH]
        holders = [{line["address"].lower() for line in (await town.books(day))["lines"]} for day in (EPOCH, tomorrow)]
        assert holders == [{ALICE.address, BOB.address}, {ALICE.address}]

    def fails_for(epoch):
        async def take(deps, asked):
            if asked == epoch:
                raise UpstreamDown("the chain node refused to show logs")
            return await snapshot.take(deps, asked)

        return take

    run(work)


def test_the_index_reads_in_small_steps_and_undoes_a_reorganisation(run):
    async def work(town):
        town.chain.faults.log_range = 3
        index = holder_index(town)
        town.mine(20)
        await index.catch_up(await final_header(town.rpc, 0))
        town.chain.send(ALICE.address, TOKEN, CAROL.address, 5)
        town.mine(3)
        await index.catch_up(await final_header(town.rpc, 0))
        assert await _balances(town) == {ALICE.address: 2 * THRESHOLD - 5, BOB.address: THRESHOLD, CAROL.address: 5,
                                         POOR.address: THRESHOLD - 1}  # fmt: skip
        town.chain.resends = ALICE.address
        town.chain._rng = SimpleNamespace(random=lambda: 0.9)
        town.chain.reorganise(3)
        town.mine(2)
        await index.catch_up(await final_header(town.rpc, 0))
        assert await _balances(town) == {ALICE.address: 2 * THRESHOLD, BOB.address: THRESHOLD,
                                         POOR.address: THRESHOLD - 1}  # fmt: skip
        async with town.store.read() as tx:
            transfers = await tx.execute(select(func.count()).select_from(holder_transfer))
        assert transfers.scalar_one() == 3

    run(work)


def test_an_index_that_missed_a_transfer_is_noticed_and_read_again(run):
    async def work(town):
        await run_due(town, town.clock.now())
        await town.earn_money(1)
        town.clock.move(rules.snapshot_at(EPOCH))
        town.mine()
        index = holder_index(town)
        await index.catch_up(await final_header(town.rpc, DEPTH))
        async with town.store.begin() as tx:
            await tx.execute(update(holder_balance).where(holder_balance.c.address == BOB.address).values(balance=7))
        assert "index broken" in (await run_due(town, town.clock.now())).waiting[EPOCH]
        assert (await run_due(town, town.clock.now())).taken == [EPOCH]
        assert (await town.books())["eligibleWallets"] == 2

    run(work)


def test_an_index_with_a_balance_that_cannot_be_starts_again(run):
    async def work(town):
        index = holder_index(town)
        await index.catch_up(await final_header(town.rpc, 0))
        async with town.store.begin() as tx:
            await tx.execute(update(holder_balance).where(holder_balance.c.address == BOB.address).values(balance=7))
        town.chain.send(BOB.address, TOKEN, CAROL.address, 8)
        town.mine()
        assert await index.catch_up(await final_header(town.rpc, 0)) == 0
        assert await index.mark() is None
        await index.catch_up(await final_header(town.rpc, 0))
        assert (await _balances(town))[BOB.address] == THRESHOLD - 8

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


def test_a_claim_written_after_the_closing_is_never_paid(run):
    async def work(town):
        await town.open_day()
        await town.to(rules.closes_at(EPOCH))
        row = {"address": BOB.address, "signature": BOB.sign(EPOCH), "reserved_at": rules.opens_at(EPOCH)}
        async with town.store.begin() as tx:
            await tx.execute(insert(earn_claim), {"epoch": EPOCH, "attempt": 0, **row})
        did = await town.pay()
        assert (did.signed, did.refused) == (0, 1)
        assert (await town.books())["balanced"] is True

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
        from tickyard.features.earn.digest import Sealed

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


@pytest.mark.parametrize("caps", [Caps(15_000, 10**9, 10**9), Caps(10**9, 15_000, 10**9), Caps(10**9, 10**9, 15_000)])
def test_the_agent_holds_what_is_over_a_cap_and_pays_it_when_the_cap_is_raised(run, caps):
    async def work(town):
        await town.open_day()
        town.caps = caps
        for wallet in (ALICE, BOB):
            with pytest.raises(UpstreamDown, match="reserved"):
                await town.ask(wallet, agent=False)
        did = await town.pay()
        assert (did.signed, did.held) == (1, 1)
        town.caps = Caps(10**9, 10**9, 10**9)
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


def test_the_books_come_as_csv_too(run):
    async def work(town):
        await town.open_day()
        await town.ask(ALICE)
        answer = (await get_epoch_books(town, BooksAsk(id=EPOCH, format="csv"))).answer
        assert answer.content_type.startswith("text/csv")
        rows = list(csv.DictReader(io.StringIO(answer.text)))
        assert sum(round(float(row["shareUsd"]) * 10**6) for row in rows) == 30_000
        assert {row["claim"] for row in rows} == {"sent", ""}
        for unknown in (20200101, rules.next_epoch(EPOCH), 5):
            with pytest.raises(NotFound):
                await get_epoch_books(town, BooksAsk(id=unknown))

    run(work)


def test_a_clock_that_is_not_the_stores_is_told_of_once_a_minute(run, where):
    async def work(town):
        watch = DriftWatch()
        assert await watch.look(town.store) is None
        # The machine's clock goes wrong; the store's does not.
        town.clock.error = timedelta(seconds=-1)
        assert await watch.look(town.store) is None, "looked a moment ago"
        await town.clock.sleep(60)
        drift = await watch.look(town.store)
        if where.startswith("postgresql"):
            assert timedelta(milliseconds=300) < drift <= timedelta(seconds=1)
        else:
            assert drift is None, "one process, one clock"

    run(work)


def test_a_moment_always_has_a_next_one():
    now = rules.starts_at(EPOCH)
    moments = []
    for _ in range(4):
        now = next_due(now)
        moments.append((now - rules.starts_at(EPOCH)) / timedelta(hours=1))
    assert moments == [1, 23, 24, 25]


@pytest.mark.database
def test_on_postgresql_the_api_cannot_write_epochs_snapshots_revenue_or_payouts(postgres_server):
    url = postgres_server.new_database()

    async def make():
        store = Store.open(url, HandClock(rules.starts_at(EPOCH)), random.Random(1))
        await lay(store)
        await store.close()

    asyncio.run(make())
    may = {
        "tickyard_api": {"earn_claim", "payment", "alert"},
        "tickyard_worker": {"earn_epoch", "earn_share", "earn_close", "revenue", "holder_balance", "alert"},
        "tickyard_payout": {"earn_payout", "earn_payer", "lease"},
    }
    may_not = {
        "tickyard_api": {"earn_epoch", "earn_share", "earn_credit", "earn_rollover", "earn_close", "revenue",
                         "earn_payout", "earn_payer", "holder_balance", "holder_transfer", "holder_mark"},
        "tickyard_worker": {"earn_payout", "earn_payer", "earn_claim"},
        "tickyard_payout": {"earn_claim", "earn_epoch", "earn_share", "earn_close", "revenue", "payment", "alert"},
    }  # fmt: skip
    with psycopg.connect(url, autocommit=True) as connection:
        for role, tables in (*may.items(), *may_not.items()):
            for table in tables:
                allowed = connection.execute(
                    "SELECT has_table_privilege(%s, %s, 'INSERT') AND has_table_privilege(%s, %s, 'UPDATE')",
                    (role, table, role, table),
                ).fetchone()[0]
                assert allowed == (table in may[role]), f"{role} on {table}"
        connection.execute("SET ROLE tickyard_api")
        for statement in (
            "INSERT INTO earn_epoch (id, state) VALUES (1, 'open')",
            "UPDATE earn_epoch SET pool_raw = 1",
            "DELETE FROM earn_payout",
            "INSERT INTO revenue VALUES ('x', 1, 1, 1)",
            "DELETE FROM earn_claim",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


@pytest.mark.database
def test_on_postgresql_each_process_does_its_work_under_its_own_role(postgres_server, tmp_path):
    url = postgres_server.new_database()

    async def go():
        clock = HandClock(rules.starts_at(EPOCH) + timedelta(hours=12))
        chain = Chain(clock, random.Random(1), Faults())
        owner = Store.open(url, clock, random.Random(1))
        await lay(owner)
        stores = {}
        for kind in ("api", "worker", "payout"):
            async with owner.begin() as tx:
                await tx.execute(text(f"DROP ROLE IF EXISTS {kind}_login"))
                await tx.execute(text(f"CREATE ROLE {kind}_login LOGIN"))
                await tx.execute(text(f"GRANT tickyard_{kind} TO {kind}_login"))
            stores[kind] = Store.open(url.replace("postgres@", f"{kind}_login@"), clock, random.Random(1))
        process = Process("test", random.Random(1), Faults())
        rpc = FrailRpc(chain, clock, process)
        towns = {kind: Town(store, clock, chain, rpc, tmp_path) for kind, store in stores.items()}
        worker, api, payout = towns["worker"], towns["api"], towns["payout"]
        chain.give(TOKEN, ALICE.address, THRESHOLD)
        chain.give(USDG, payout.signer.address, 10**12)
        worker.mine()
        await run_due(worker, clock.now())
        await payout.pay()
        await worker.earn_money(30_000)
        await worker.to(rules.snapshot_at(EPOCH))
        await worker.to(rules.opens_at(EPOCH))
        with pytest.raises(UpstreamDown, match="reserved"):
            await api.ask(ALICE, agent=False)
        assert (await payout.pay()).signed == 1
        assert (await api.ask(ALICE, agent=False)).ok
        worker.mine()
        assert (await payout.pay()).confirmed == 1
        assert (await worker.to(rules.closes_at(EPOCH))).closed == [EPOCH]
        assert (await api.books())["balanced"] is True
        for store in (owner, *stores.values()):
            await store.close()

    asyncio.run(go())


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


async def _balances(town):
    async with town.store.read() as tx:
        found = await tx.execute(select(holder_balance))
        return {row.address: row.balance for row in found}
