"""The payer's key got out once, on the real contract: what it says to the desk stops nobody, as the runbook has it."""

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from sqlalchemy import insert, select

from simulated.people import TERMS, WALLETS
from tickyard.chain.rpc.client import Rpc
from tickyard.features.earn.books.digest import Books
from tickyard.features.earn.days.desks import desk_that_pays, opened_elsewhere
from tickyard.features.earn.room import EarnRoom
from tickyard.features.earn.tables import earn_claim, earn_epoch, earn_line, earn_share, earn_tally
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import ZERO_ADDRESS
from tickyard.payout.accepted import AcceptedBooks
from tickyard.payout.agent import Agent
from tickyard.payout.deploy import deployment
from tickyard.payout.halt import Halted, lift
from tickyard.payout.judge import PayoutCaps
from tickyard.payout.signing.signer import LocalSigner
from tickyard.sandbox.contracts import build
from tickyard.sandbox.node.abi import call_data, derived_address, words
from tickyard.sandbox.node.process import Node
from tickyard.sandbox.world.place import MULTICALL3
from tickyard.store.leases import take
from tickyard.store.opening import open_store
from yards.patience import STUCK_S
from yards.schema import lay

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]

EPOCH = 20261114
NOW = datetime(2026, 11, 15, 0, 30, tzinfo=UTC)
ALICE, BOB, CAROL = WALLETS[:3]
OWNER = derived_address("thief test owner")
BEHIND = 10
"""By so many blocks a node may be."""
OPEN, PAY = "open(uint256,bytes32,uint256)", "pay(uint256,(address,uint256)[])"
CAPS = PayoutCaps(10**12, 10**12, 10**12)


class Yard:
    """A desk on a node, a day of the reward program, and an agent."""

    def __init__(self, node, rpc, store, folder):
        self.node, self.rpc, self.store, self.folder = node, rpc, store, folder
        self.lost, self.new = LocalSigner(b"\x07" * 32), LocalSigner(b"\x08" * 32)

    async def begin(self):
        for account in (OWNER, self.lost.address, self.new.address):
            await self.node.call("hardhat_impersonateAccount", [account])
            await self.node.call("hardhat_setBalance", [account, hex(10**20)])
        multicall = await self.node.call("eth_call", [{"from": OWNER, "data": build.multicall3_creation()}, "latest"])
        await self.node.call("hardhat_setCode", [MULTICALL3, multicall])
        await self.node.call("hardhat_setCode", [TERMS.usdg, build.compiled("dollar")])
        start = call_data("initialise(string,string,string,bool,address)", b"Dollar", b"USDG", b"1", False, OWNER)
        await self.send(OWNER, TERMS.usdg, start)
        creation = deployment(TERMS.usdg, OWNER, self.lost.address, TERMS.chain_id)["data"]
        self.desk = (await self.send(OWNER, None, creation))["contractAddress"]
        await self.employ(self.lost)
        self.lease = await take(self.store, "payout", "test")

    async def new_desk(self):
        creation = deployment(TERMS.usdg, OWNER, self.new.address, TERMS.chain_id)["data"]
        self.desk = (await self.send(OWNER, None, creation))["contractAddress"]
        await self.employ(self.new)

    async def opened_elsewhere(self):
        earn = EarnRoom(TERMS, 1, self.desk, MULTICALL3)
        return await opened_elsewhere(SimpleNamespace(store=self.store, rpc=self.rpc, earn=earn), EPOCH)

    async def seal(self):
        books = Books(EPOCH, 30_000, 3)
        shares = sorted([(ALICE.address, 2), (BOB.address, 1)])
        books.add(shares)
        async with self.store.begin() as tx:
            day = {"id": EPOCH, "state": "open", "pool_raw": 30_000, "eligible_total": 3, "eligible_wallets": 2}
            await tx.execute(insert(earn_epoch), day | {"digest": books.digest, "desk": self.desk, "opened_at": NOW})
            rows = [{"epoch": EPOCH, "address": address, "balance": balance} for address, balance in shares]
            await tx.execute(insert(earn_share), rows)

    async def digest(self):
        async with self.store.read() as tx:
            return (await tx.execute(select(earn_epoch.c.digest))).scalar_one()

    async def lines(self):
        async with self.store.read() as tx:
            return {row.address: (row.state, row.amount_raw) for row in await tx.execute(select(earn_line))}

    async def mine(self, blocks):
        for _ in range(blocks):
            await self.node.call("evm_mine", [])

    async def send(self, sender, to, data):
        call = {"from": sender, "data": data, "gas": hex(10**7)} | ({"to": to} if to else {})
        hash_ = await self.node.call("eth_sendTransaction", [call])
        return await self.node.call("eth_getTransactionReceipt", [hash_])

    async def employ(self, key):
        """It gets money and approves the desk."""
        await self.send(OWNER, TERMS.usdg, call_data("mint(address,uint256)", key.address, 10**9))
        await self.send(key.address, TERMS.usdg, call_data("approve(address,uint256)", self.desk, 2**256 - 1))

    def agent(self, key):
        memory = AcceptedBooks(self.folder / "accepted.jsonl")
        agent = Agent(self.store, self.rpc, key, TERMS, self.desk, MULTICALL3, CAPS, memory, 1)
        agent.final_every_s = 0.0
        return agent

    async def claim(self, wallet, attempt):
        async with self.store.begin() as tx:
            row = {"epoch": EPOCH, "address": wallet.address, "attempt": attempt, "signature": wallet.sign(EPOCH)}
            await tx.execute(insert(earn_claim), row | {"reserved_at": NOW})

    async def is_paid(self, agent, wallet, amount, attempt=0):
        """Claims are paid one round after the desk has the books, and end some blocks later."""
        await self.claim(wallet, attempt)
        confirmed = 0
        async with asyncio.timeout(STUCK_S):
            while not confirmed:
                confirmed = (await agent.run_once(self.lease)).confirmed
                await self.node.call("evm_mine", [])
                await WallClock().sleep(0.02)
        data = call_data("balanceOf(address)", wallet.address)
        assert words(await self.node.call("eth_call", [{"to": TERMS.usdg, "data": data}, "latest"])) == [amount]


def in_yard(folder, work, begins=NOW - timedelta(minutes=5)):
    async def run():
        async with asyncio.timeout(STUCK_S):
            node = await Node.start(chain_id=TERMS.chain_id, now=begins, run_dir=folder)
            clock = WallClock()
            store = open_store(str(folder / "tickyard.db"), clock)
            try:
                await lay(store)
                async with Rpc([node.url], chain_id=TERMS.chain_id, clock=clock) as rpc:
                    yard = Yard(node, rpc, store, folder)
                    await yard.begin()
                    await work(yard)
            finally:
                await store.close()
                await node.stop()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("epoch", "account", "amount", "word"),
    [
        pytest.param(EPOCH, ZERO_ADDRESS, 0, None, id="a refusal to pay nobody"),
        pytest.param(2**31, CAROL.address, 1, "paid", id="no day, and none in PostgreSQL's integers"),
        pytest.param(2**200, CAROL.address, 1, "paid", id="no day, and none in any integers"),
    ],
)
def test_after_the_runbook_claims_are_paid_whatever_the_key_was_used_for(tmp_path, epoch, account, amount, word):
    async def work(yard):
        await yard.seal()
        await yard.is_paid(yard.agent(yard.lost), ALICE, 20_000)
        thief, desk = yard.lost.address, yard.desk
        if epoch != EPOCH:
            await yard.send(thief, desk, call_data(OPEN, epoch, 1, 10))
        receipt = await yard.send(thief, desk, call_data(PAY, epoch, [(account, amount)]))
        assert receipt["status"] == "0x1"
        # earn.md: paused, another account with money and an approval, setPayer, the agent with its key, unpaused.
        await yard.send(OWNER, desk, call_data("setPaused(bool)", True))
        await yard.employ(yard.new)
        await yard.send(OWNER, desk, call_data("setPayer(address)", yard.new.address))
        await yard.send(OWNER, desk, call_data("setPaused(bool)", False))
        agent = yard.agent(yard.new)
        if word is not None:
            with pytest.raises(Halted, match=f"for epoch {epoch}, which is no day that it pays"):
                await agent.run_once(yard.lease)
            await lift(yard.store)
        await yard.is_paid(agent, BOB, 10_000)

    in_yard(tmp_path, work)


@pytest.mark.parametrize("is_paid", [False, True])
def test_another_desk_pays_the_days_that_a_thief_opened_and_paid_on_in_advance(tmp_path, is_paid):
    async def work(yard):
        thief, old = yard.lost.address, yard.desk
        agent = yard.agent(yard.lost)
        await agent.run_once(yard.lease)
        await yard.send(thief, old, call_data(OPEN, EPOCH, 7, 10))
        if is_paid:
            # To one who has a share: nobody must be taken for paid by it.
            await yard.send(thief, old, call_data(PAY, EPOCH, [(ALICE.address, 1)]))
        await yard.mine(3)
        if is_paid:
            with pytest.raises(Halted, match=f"for epoch {EPOCH}, before that day was over"):
                await agent.run_once(yard.lease)
            await lift(yard.store)
        # earn.md: another key, and another desk; the old one stays paused.
        await yard.send(OWNER, old, call_data("setPaused(bool)", True))
        await yard.node.call("evm_mine", [hex(int(NOW.timestamp()))])
        await yard.new_desk()
        opened = await yard.opened_elsewhere()
        assert [(day.desk, day.is_in_time) for day in opened] == [(old, False)]
        assert desk_that_pays(yard.desk, opened, EPOCH, "ab" * 32) == yard.desk
        await yard.seal()
        # Claims open when the desk has our books, and by then the thief's payment is none.
        await yard.agent(yard.new).run_once(yard.lease)
        await yard.is_paid(yard.agent(yard.new), ALICE, 20_000 + is_paid, attempt=int(is_paid))
        await yard.is_paid(yard.agent(yard.new), BOB, 10_000)

    in_yard(tmp_path, work, NOW - timedelta(hours=12))


def test_a_replaced_desk_that_was_opened_when_the_day_was_over_pays_it(tmp_path):
    async def work(yard):
        old = yard.desk
        await yard.agent(yard.lost).run_once(yard.lease)
        await yard.send(yard.lost.address, old, call_data(OPEN, EPOCH, 7, 10))
        await yard.new_desk()
        opened = await yard.opened_elsewhere()
        assert [(day.desk, day.is_in_time) for day in opened] == [(old, True)]
        assert desk_that_pays(yard.desk, opened, EPOCH, "ab" * 32) == old

    in_yard(tmp_path, work)


@pytest.mark.parametrize("is_used", [False, True])
def test_a_replaced_desk_keeps_no_day_that_ended_after_its_successor_was_there(tmp_path, is_used):
    async def work(yard):
        # earn.md: the owner's key is lost. Whoever has the payer's key is the old desk's payer for ever.
        old = yard.desk
        await yard.agent(yard.lost).run_once(yard.lease)
        await yard.new_desk()
        if is_used:
            await yard.send(yard.new.address, yard.desk, call_data(OPEN, EPOCH - 1, 7, 10))
        await yard.node.call("evm_mine", [hex(int(NOW.timestamp()))])
        await yard.send(yard.lost.address, old, call_data(OPEN, EPOCH, 7, 10))
        assert await yard.opened_elsewhere() == []

    in_yard(tmp_path, work, NOW - timedelta(hours=12))


async def change_the_desk_after_a_payment_in_advance(yard, *whom):
    """earn.md: the key was in wrong hands, another one pays on another desk, and the old desk stays paused."""
    thief, old = yard.lost.address, yard.desk
    agent = yard.agent(yard.lost)
    await agent.run_once(yard.lease)
    await yard.send(thief, old, call_data(OPEN, EPOCH, 7, 10))
    await yard.send(thief, old, call_data(PAY, EPOCH, [(wallet.address, 1) for wallet in whom]))
    await yard.mine(3)
    with pytest.raises(Halted, match=f"for epoch {EPOCH}, before that day was over"):
        await agent.run_once(yard.lease)
    await lift(yard.store)
    await yard.send(OWNER, old, call_data("setPaused(bool)", True))
    await yard.new_desk()
    await yard.node.call("evm_mine", [hex(int(NOW.timestamp()))])
    await yard.mine(BEHIND + 3)


def test_who_was_paid_in_advance_by_another_desk_is_paid_also_by_an_agent_whose_node_was_behind(tmp_path):
    async def work(yard):
        await change_the_desk_after_a_payment_in_advance(yard, ALICE)
        agent = yard.agent(yard.new)
        await agent.run_once(yard.lease)
        await yard.seal()
        agent.finality = BEHIND
        for _ in range(3):
            await agent.run_once(yard.lease)
            await yard.mine(1)
        await yard.agent(yard.new).run_once(yard.lease)
        # Else the API would take her for paid, and no claim of hers.
        assert await yard.lines() == {ALICE.address: ("failed", 1)}
        await yard.is_paid(yard.agent(yard.new), ALICE, 20_001, attempt=1)

    in_yard(tmp_path, work, NOW - timedelta(hours=12))


def test_books_from_before_the_day_was_paid_learn_that_another_desk_had_paid_in_advance(tmp_path):
    async def work(yard):
        await change_the_desk_after_a_payment_in_advance(yard, ALICE, BOB)
        await yard.seal()
        # What the store that was lost knew of: the day is open on its desk, and one of the two is paid.
        payer, digest = yard.new.address, int(await yard.digest(), 16)
        await yard.send(payer, yard.desk, call_data(OPEN, EPOCH, digest, 30_000))
        await yard.send(payer, yard.desk, call_data(PAY, EPOCH, [(ALICE.address, 20_000)]))
        await yard.mine(3)
        await yard.agent(yard.new).run_once(yard.lease)
        assert await yard.lines() == {ALICE.address: ("confirmed", 20_000), BOB.address: ("failed", 1)}
        await yard.is_paid(yard.agent(yard.new), BOB, 10_001, attempt=1)
        async with yard.store.read() as tx:
            assert (await tx.execute(select(earn_tally.c.paid_raw))).scalar_one() == 30_000

    in_yard(tmp_path, work, NOW - timedelta(hours=12))
