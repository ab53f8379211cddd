"""A whole day of the reward program on a real chain and a real PostgreSQL, with a node that misbehaves."""

import asyncio
import importlib.util
import json
import random
import subprocess
import sys
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from aiohttp import ClientSession, web
from sqlalchemy import insert, select

from tickyard.chain.rpc import Rpc
from tickyard.features.earn import rules
from tickyard.features.earn.books import BooksAsk, get_epoch_books
from tickyard.features.earn.desk import EarnDesk
from tickyard.features.earn.epochs import run_due
from tickyard.features.earn.message import Terms, claim_message
from tickyard.features.earn.operations import ClaimAsk, claim
from tickyard.features.earn.tables import earn_payout
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.payout.accepted import AcceptedSnapshots
from tickyard.payout.agent import Agent
from tickyard.payout.judge import Caps
from tickyard.payout.keystore import open_keystore
from tickyard.payout.run import run_agent
from tickyard.sandbox import place
from tickyard.sandbox.claim import sign
from tickyard.sandbox.holders import holders, holding, settle_holders, write_payout_keystore
from tickyard.sandbox.node import Node
from tickyard.sandbox.transact import Step, send, send_all
from tickyard.sandbox.wallets import MAKER
from tickyard.sandbox.words import call_data, words
from tickyard.store.engine import Store
from tickyard.store.migrate import migrate
from tickyard.store.revenue import revenue

pytestmark = [pytest.mark.node, pytest.mark.database, pytest.mark.timeout(300)]

_spec = importlib.util.spec_from_file_location(
    "postgres_server", Path(__file__).parents[1] / "store" / "postgres_server.py"
)
_postgres = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_postgres)

TERMS = Terms(4663, place.SERVICE_TOKEN, place.USDG)
DEPTH = 4
POOL = 123_456_789
PEOPLE = 200
REPLICA = Path(__file__).with_name("earn_replica.py")


class MovedClock(WallClock):
    def __init__(self):
        self.offset = timedelta(0)

    def now(self):
        return super().now() + self.offset

    def timestamp(self):
        return self.now().timestamp()


@dataclass
class Yard:
    node: Node
    clock: MovedClock
    store: Store
    rpc: Rpc
    earn: EarnDesk
    folder: Path
    where: str
    epoch: int

    async def to(self, moment):
        """Move both clocks, and let the chain go on until what came before is final."""
        self.clock.offset += moment - self.clock.now()
        await self.node.call("evm_setNextBlockTimestamp", [int(moment.timestamp())])
        await self.node.call("evm_mine")
        await self.node.call("hardhat_mine", [hex(DEPTH + 2), "0x1"])
        return await run_due(self, self.clock.now())

    async def usdg_of(self, address):
        data = call_data("balanceOf(address)", address)
        return words(await self.node.call("eth_call", [{"to": place.USDG, "data": data}, "latest"]))[0]

    def agent(self, rpc):
        signer = open_keystore(*(self.folder / name for name in ("payout.json", "payout.password")))
        memory = AcceptedSnapshots(self.folder / "accepted.jsonl")
        return Agent(self.store, rpc, signer, TERMS, Caps(10**9, 10**9, 10**9), memory, DEPTH)


class BadWire:
    """Between the agent and its node: forgets transactions, loses answers, is late."""

    def __init__(self, url, seed):
        self._url = url
        self._rng = random.Random(seed)
        self.forgotten = self.lost = 0

    async def answer(self, request):
        asked = await request.json()
        calls = asked if isinstance(asked, list) else [asked]
        kept, forged = [], []
        for each in calls:
            if each["method"] == "eth_sendRawTransaction" and self._rng.random() < 0.15:
                self.forgotten += 1
                forged.append({"jsonrpc": "2.0", "id": each["id"], "result": "0x" + "00" * 32})
            else:
                kept.append(each)
        if self._rng.random() < 0.1:
            await WallClock().sleep(self._rng.uniform(0, 0.4))
        answers = forged
        if kept:
            async with ClientSession() as session, session.post(self._url, json=kept) as response:
                answers = forged + await response.json(content_type=None)
        if self._rng.random() < 0.1:
            self.lost += 1
            request.transport.close()
        return web.json_response(answers if isinstance(asked, list) else answers[0])


@pytest.fixture
def on_a_day(tmp_path):
    """`on_a_day(work)`: the work gets a yard whose claims have just opened."""

    async def go(work, where):
        async with AsyncExitStack() as stack:
            clock = MovedClock()
            node = await stack.enter_async_context(
                await Node.start(chain_id=4663, now=clock.now(), run_dir=tmp_path, interval_ms=0)
            )
            await place.unlock_maker(node)
            await place.place_contracts(node)
            await send_all(node, MAKER, place.first_steps(), per_block=50)
            await settle_holders(node)
            write_payout_keystore(tmp_path)
            store = Store.open(where, clock)
            stack.push_async_callback(store.close)
            await migrate(store)
            rpc = Rpc([node.url], chain_id=4663, clock=clock)
            stack.push_async_callback(rpc.close)
            epoch = rules.accruing_epoch(clock.now() + timedelta(days=1))
            yard = Yard(node, clock, store, rpc, EarnDesk(TERMS, DEPTH), tmp_path, where, epoch)
            await yard.to(rules.starts_at(epoch))
            row = {
                "settlement": "eip155:4663/0x/0",
                "amount_raw": POOL,
                "settled_at": clock.now(),
                "credited_at": clock.now(),
            }
            async with store.begin() as tx:
                await tx.execute(insert(revenue), row)
            return await work(yard)

    def run(work):
        server = _postgres.PostgresServer()
        try:
            return asyncio.run(go(work, server.new_database()))
        finally:
            server.stop()

    return run


async def _replicas(yard, people):
    """Three API processes, each claiming for a third of the people."""
    processes = []
    for n in range(3):
        asked = {
            "where": yard.where, "node": yard.node.url, "token": TERMS.token, "usdg": TERMS.usdg,
            "offset_us": yard.clock.offset // timedelta(microseconds=1), "epoch": yard.epoch,
            "holders": people[n::3],
        }  # fmt: skip
        processes.append(
            await asyncio.create_subprocess_exec(
                sys.executable, str(REPLICA), json.dumps(asked), stdout=subprocess.PIPE
            )
        )
    answers = []
    for process in processes:
        out, _ = await asyncio.wait_for(process.communicate(), 150)
        assert process.returncode == 0
        answers += json.loads(out)
    return answers


def test_a_day_with_two_hundred_claims_over_three_processes_and_a_bad_node(on_a_day):
    async def work(yard):
        async with AsyncExitStack() as stack:
            wire = BadWire(yard.node.url, 7)
            app = web.Application()
            app.router.add_post("/", wire.answer)
            runner = web.AppRunner(app, shutdown_timeout=0.2)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
            rpc = Rpc([url], chain_id=4663, clock=yard.clock, try_s=1.0)
            stack.push_async_callback(rpc.close)
            agent = yard.agent(rpc)
            paying = asyncio.create_task(run_agent(agent, "test"))
            stack.push_async_callback(_stop, paying)
            async with asyncio.timeout(20):
                while (await run_due(yard, yard.clock.now())).waiting or not await _knows_payer(yard):
                    await yard.clock.sleep(0.1)
            assert (await yard.to(rules.snapshot_at(yard.epoch))).taken == [yard.epoch]
            assert (await yard.to(rules.opens_at(yard.epoch))).opened == [yard.epoch]
            people = [n for n in range(300) if holding(n) >= rules.threshold_raw(18)][:PEOPLE]
            frozen = holders()[people[5]]
            await send(yard.node, MAKER, Step(place.USDG, call_data("freeze(address)", frozen.address)))
            await yard.node.call("evm_setAutomine", [False])
            await yard.node.call("evm_setIntervalMining", [250])
            before = await yard.node.call("evm_snapshot")
            claiming = asyncio.create_task(_replicas(yard, people))
            await yard.clock.sleep(4)
            # The chain falls back to where it was before the first claim: whatever was mined since is gone.
            await yard.node.call("evm_revert", [before])
            answers = await claiming
            by_wallet = {}
            for answer in answers:
                by_wallet.setdefault(answer["address"], set()).add(answer["tx"])
            assert len(by_wallet) == PEOPLE
            assert [address for address, hashes in by_wallet.items() if len(hashes) > 1] == []
            await _until_ended(yard, PEOPLE)
            await send_unfrozen(yard, frozen)
            second = await _claim_again(yard, frozen)
            assert second.tx not in by_wallet[frozen.address]
            await _until_ended(yard, PEOPLE + 1)
            total = sum(holding(n) for n in range(300) if holding(n) >= rules.threshold_raw(18))
            for n in people:
                assert await yard.usdg_of(holders()[n].address) == POOL * holding(n) // total
            await yard.node.call("evm_setIntervalMining", [0])
            assert (await yard.to(rules.closes_at(yard.epoch))).closed == [yard.epoch]
            books = (await get_epoch_books(yard, BooksAsk(id=yard.epoch))).answer
            assert books.balanced is True
            paid = sum(POOL * holding(n) // total for n in people)
            assert books.paid_usd == f"{paid // 10**6}.{paid % 10**6:06d}"
            assert wire.forgotten > 0
            assert wire.lost > 0

    on_a_day(work)


async def _stop(task):
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _knows_payer(yard):
    from tickyard.features.earn.tables import earn_payer

    async with yard.store.read() as tx:
        return (await tx.execute(select(earn_payer))).one_or_none() is not None


async def _until_ended(yard, count):
    async with asyncio.timeout(90):
        while True:
            async with yard.store.read() as tx:
                states = (await tx.execute(select(earn_payout.c.state))).scalars().all()
            if len(states) == count and "signed" not in states:
                return
            await yard.clock.sleep(0.2)


async def send_unfrozen(yard, wallet):
    step = Step(place.USDG, call_data("unfreeze(address)", wallet.address))
    await yard.node.call(
        "eth_sendTransaction",
        [{"from": MAKER, "to": step.to, "data": step.data, "gas": hex(500_000), "gasPrice": "0x0"}],
    )
    await yard.clock.sleep(0.6)


async def _claim_again(yard, wallet):
    ask = ClaimAsk(
        address=wallet.address,
        epoch=yard.epoch,
        signature=sign(wallet.private_key, claim_message(TERMS, yard.epoch, wallet.address)),
    )
    deps = SimpleNamespace(store=yard.store, rpc=yard.rpc, clock=yard.clock, earn=yard.earn)
    async with asyncio.timeout(60):
        while True:
            with suppress(UpstreamDown):
                return await claim(deps, ask)
            await yard.clock.sleep(0.2)
