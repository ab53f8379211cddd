"""A whole day of the reward program: real processes on a real chain and a real PostgreSQL, and a node that misbehaves."""

import asyncio
import gzip
import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import aiohttp
import psycopg
import pytest
from aiohttp import ClientSession, web

from tickyard.features.earn import rules
from tickyard.features.earn.claims.message import EarnTerms, claim_message
from tickyard.kernel.clock import WallClock
from tickyard.sandbox.commands.claimant import sign
from tickyard.sandbox.node.abi import call_data, words
from tickyard.sandbox.node.process import Node
from tickyard.sandbox.node.transact import QueuedCall, send
from tickyard.sandbox.world import place
from tickyard.sandbox.world.holders import DESK, HOLDERS, holders, holding, payout_wallet
from tickyard.sandbox.world.wallets import MAKER
from tickyard.store.tables import to_micros
from yards.patience import STUCK_S

pytestmark = [pytest.mark.node, pytest.mark.database, pytest.mark.timeout(300)]

TERMS = EarnTerms(4663, place.SERVICE_TOKEN, place.USDG)
REVENUE = 123_456_789
PEOPLE = 200
OTHERS_HOLD = (2_000_000 + 1_250_000) * 10**18
"""The named wallets of the sandbox that take part: demo and alice."""
CLOCK = WallClock()
CHECK = Path(__file__).parents[2] / "docs" / "check_epoch.py"


class BadWire:
    """Between everybody and the node. Once it is bad it forgets transactions, loses answers, and is late."""

    def __init__(self, url, seed):
        self._url = url
        self._rng = random.Random(seed)
        self.is_bad = False
        self.forgotten = self.lost = self.late = 0

    async def serve(self, stack):
        """Its address."""
        # The node leaves an idle connection after five seconds: leave it first.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=2)
        self._session = await stack.enter_async_context(ClientSession(connector=connector))
        app = web.Application(client_max_size=2**28)
        app.router.add_post("/", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.2, access_log=None)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}/"

    async def _answer(self, request):
        body = await request.read()
        if not self.is_bad:
            return web.Response(body=await self._forward(body), content_type="application/json")
        asked = json.loads(body)
        calls = asked if isinstance(asked, list) else [asked]
        answers, kept = [], []
        for each in calls:
            # A batch carries many payouts, so there are few of them: the first is forgotten for certain.
            if each["method"] == "eth_sendRawTransaction" and (not self.forgotten or self._rng.random() < 0.2):
                self.forgotten += 1
                answers.append({"jsonrpc": "2.0", "id": each["id"], "result": "0x" + "00" * 32})
            else:
                kept.append(each)
        if self._rng.random() < 0.1:
            self.late += 1
            await CLOCK.sleep(self._rng.uniform(0, 0.4))
        if kept:
            answers += json.loads(await self._forward(json.dumps(kept).encode()))
        if self._rng.random() < 0.05:
            self.lost += 1
            request.transport.close()
        return web.json_response(answers if isinstance(asked, list) else answers[0])

    async def _forward(self, body):
        headers = {"content-type": "application/json"}
        async with self._session.post(self._url, data=body, headers=headers) as response:
            return await response.read()


@dataclass
class Yard:
    node: Node
    wire: BadWire
    up: object
    http: ClientSession
    bases: list
    books: psycopg.Connection
    epoch: int
    signatures: dict

    async def post(self, base, path, body):
        async with self.http.post(base + path, json=body) as response:
            return response.status, await response.json()

    async def get(self, path):
        async with self.http.get(self.up.base + path) as response:
            assert response.status == 200
            return await response.json()

    async def to(self, moment):
        status, answer = await self.post(self.up.base, "/sandbox/clock", {"to": moment.isoformat()})
        assert status == 200, answer

    async def claim(self, wallet, base):
        """As a patient client does: a 502 says when to come again, an answer lost on the way is asked for again."""
        body = {"address": wallet.address, "epoch": self.epoch, "signature": self.signatures[wallet.address]}
        async with asyncio.timeout(STUCK_S):
            while True:
                status, answer = await self.post(base, "/v1/earn/claim", body)
                if status == 200:
                    return answer
                assert status == 502, answer
                await CLOCK.sleep(0.2)

    async def usdg_of(self, address):
        data = call_data("balanceOf(address)", address)
        return words(await self.node.call("eth_call", [{"to": place.USDG, "data": data}, "latest"]))[0]

    async def reorganise(self):
        """Two blocks with payouts in them are mined and taken back. How many payouts they held."""
        payer = payout_wallet().address
        await self.node.call("evm_setIntervalMining", [0])
        mined = await self._nonce(payer)
        deadline = CLOCK.monotonic() + 60
        while await self._nonce(payer, "pending") == mined:
            assert CLOCK.monotonic() < deadline, (mined, self.states(), self.shown("payout"), self.shown("api"))
            await CLOCK.sleep(0.05)
        snapshot = await self.node.call("evm_snapshot")
        for _ in range(2):
            await self.node.call("evm_mine")
        held = await self._nonce(payer) - mined
        assert await self.node.call("evm_revert", [snapshot])
        await self.node.call("evm_setIntervalMining", [250])
        await CLOCK.sleep(0.6)
        return held

    async def _nonce(self, address, when="latest"):
        return int(await self.node.call("eth_getTransactionCount", [address, when]), 16)

    def shown(self, part):
        return (self.up.run_dir / f"{part}.log").read_text()[-3000:]

    def states(self):
        found = self.books.execute("SELECT state, count(*) FROM earn_line GROUP BY state").fetchall()
        return Counter(dict(found))

    async def until_paid(self, people, *, but_for):
        """So many are paid, and nothing is under way. Who cannot be paid may ask again, and fails each time."""
        deadline = CLOCK.monotonic() + 90
        while (states := self.states()).pop("failed", 0) == 0 or states != Counter(confirmed=people):
            assert CLOCK.monotonic() < deadline, (self.states(), self.shown("payout"))
            await CLOCK.sleep(0.2)
        failed = self.books.execute("SELECT DISTINCT address FROM earn_line WHERE state = 'failed'").fetchall()
        assert failed == [(but_for.address,)]


@pytest.fixture
def on_a_day(running, postgres_server, tmp_path):
    """`on_a_day(work)`: the work gets a yard with three API processes, a worker and an agent, and claims just open."""

    async def go(work):
        async with AsyncExitStack() as stack:
            where = postgres_server.new_database()
            now = CLOCK.now()
            node = await Node.start(chain_id=4663, now=now, run_dir=tmp_path, interval_ms=2000)
            await stack.enter_async_context(node)
            wire = BadWire(node.url, 7)
            url = await wire.serve(stack)
            up = running.Up(TICKYARD_DATABASE_URL=where, TICKYARD_SANDBOX_RPC_URL=url)
            stack.callback(shutil.rmtree, up.run_dir, ignore_errors=True)
            stack.push_async_callback(asyncio.to_thread, up.stop)
            await asyncio.to_thread(up.wait_ready)
            settings = json.loads((up.run_dir / "settings.json").read_text())
            settings |= _as_api(where)
            more = [_replica(running, settings, tmp_path, n) for n in (2, 3)]
            for process in more:
                stack.push_async_callback(asyncio.to_thread, process.stop)
            for process in more:
                await asyncio.to_thread(process.wait_ready)
            http = await stack.enter_async_context(
                ClientSession(
                    connector=aiohttp.TCPConnector(limit=0, force_close=True), timeout=aiohttp.ClientTimeout(total=60)
                )
            )
            books = stack.enter_context(psycopg.connect(where, autocommit=True))
            now = datetime.fromisoformat(up.get("/sandbox/clock")[1]["now"])
            if now >= rules.snapshot_at(rules.accruing_epoch(now)):
                # The last hour of a day: its snapshot is over, so this is about the next day.
                now = rules.closes_at(rules.accruing_epoch(now)) + timedelta(seconds=1)
                moved = await asyncio.to_thread(up.ask, "POST", "/sandbox/clock", {"to": now.isoformat()}, limit_s=60)
                assert moved[0] == 200
            epoch = rules.accruing_epoch(now)
            bases = [up.base, *(process.base for process in more)]
            # Beforehand, and on another thread: the wire must not wait for the pens of two hundred people.
            signatures = await asyncio.to_thread(_sign_all, epoch)
            yard = Yard(node, wire, up, http, bases, books, epoch, signatures)
            earned_at = to_micros(rules.starts_at(epoch))
            books.execute("INSERT INTO revenue VALUES ('eip155:4663/0x0/0', %s, %s, %s)", (REVENUE, *[earned_at] * 2))
            await yard.to(rules.snapshot_at(epoch) + timedelta(seconds=1))
            await yard.to(rules.opens_at(epoch) + timedelta(seconds=1))
            assert (await yard.get("/v1/earn"))["epoch"]["claimOpen"] is True
            return await work(yard)

    return lambda work: asyncio.run(go(work))


def _sign_all(epoch):
    return {each.address: sign(each.private_key, claim_message(TERMS, epoch, each.address)) for each in _people()}


def _people():
    """Two hundred of those who take part."""
    return [holders()[n] for n in range(HOLDERS) if holding(n) >= rules.threshold_raw(18)][:PEOPLE]


def _as_api(where):
    """The settings of a process whose account may do what an API may, and no more."""
    with psycopg.connect(where, autocommit=True) as owner:
        owner.execute("DROP ROLE IF EXISTS earn_day_api")
        owner.execute("CREATE ROLE earn_day_api LOGIN IN ROLE tickyard_api")
    return {"TICKYARD_DATABASE_URL": where.replace("postgres@", "earn_day_api@")}


def _replica(running, settings, folder, n):
    port = running.free_port()
    environ = {**settings, "TICKYARD_PORT": str(port), "TICKYARD_METRICS_PORT": str(port + 1000)}
    return running.Process("serve", folder / f"serve-{n}.log", environ)


def test_a_day_with_two_hundred_claims_over_three_processes_and_a_bad_node(on_a_day):
    wallets = _people()
    held = {holders()[n].address: holding(n) for n in range(HOLDERS) if holding(n) >= rules.threshold_raw(18)}
    total = sum(held.values()) + OTHERS_HOLD
    shares = {wallet.address: REVENUE * held[wallet.address] // total for wallet in wallets}

    async def work(yard):
        frozen = wallets[5]
        await send(yard.node, MAKER, QueuedCall(place.USDG, call_data("freeze(address)", frozen.address)))
        await yard.node.call("evm_setIntervalMining", [250])
        yard.wire.is_bad = True
        # Every wallet twice, over two processes: a claimant who presses the button again.
        asked = [(wallet, yard.bases[(n + again) % 3]) for again in (0, 1) for n, wallet in enumerate(wallets)]
        claiming = asyncio.gather(*(yard.claim(wallet, base) for wallet, base in asked))
        undone = []
        while len(undone) < 3 and yard.states().total() < PEOPLE:
            undone.append(await yard.reorganise())
        assert max(undone) > 0
        told = {}
        for answer in await claiming:
            told.setdefault(answer["address"].lower(), set()).add(answer["tx"])
        assert told.keys() == shares.keys()
        await yard.until_paid(PEOPLE - 1, but_for=frozen)
        await send(yard.node, MAKER, QueuedCall(place.USDG, call_data("unfreeze(address)", frozen.address)))
        again = await yard.claim(frozen, yard.bases[1])
        assert again["tx"] not in told[frozen.address]
        await yard.until_paid(PEOPLE, but_for=frozen)
        yard.wire.is_bad = False
        assert {address: await yard.usdg_of(address) for address in shares} == shares
        await yard.to(rules.closes_at(yard.epoch) + timedelta(seconds=1))
        books = await yard.get(f"/v1/earn/epochs/{yard.epoch}")
        assert (books["state"], books["balanced"]) == ("closed", True)
        assert [_raw(books[name]) for name in ("poolUsd", "paidUsd", "inFlightUsd", "rolledOverUsd")] == [
            REVENUE, sum(shares.values()), 0, REVENUE - sum(shares.values())
        ]  # fmt: skip
        assert min(yard.wire.forgotten, yard.wire.lost, yard.wire.late) > 0
        await _check_from_the_chain_alone(yard, sum(shares.values()))
        await _use_the_key_elsewhere(yard)

    on_a_day(work)


async def _check_from_the_chain_alone(yard, paid_raw):
    """The script of the documentation, with nothing of ours but the file."""
    file = yard.up.run_dir / "books.csv.gz"
    async with yard.http.get(f"{yard.up.base}/v1/earn/epochs/{yard.epoch}/books.csv.gz") as response:
        file.write_bytes(await response.read())
    command = [sys.executable, str(CHECK), yard.node.url, DESK, str(file), str(yard.epoch)]
    shown = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=STUCK_S)
    assert shown.stdout == (
        f"{yard.epoch}: {len(_people()) + 2} wallets share {REVENUE / 1e6:f} USDG; {PEOPLE} were paid {paid_raw / 1e6:f}\n"
    ), shown.stderr
    forged = gzip.decompress(file.read_bytes()).replace(b",1\n", b",2\n", 1) + b"\n"
    file.write_bytes(gzip.compress(forged))
    for how in ([], ["-O"]):
        command = [sys.executable, *how, str(CHECK), yard.node.url, DESK, str(file), str(yard.epoch)]
        shown = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=STUCK_S)
        assert "not the books that the desk was opened with" in shown.stderr
        assert (shown.stdout, shown.returncode) == ("", 1)


async def _use_the_key_elsewhere(yard):
    """Whoever else sends with the payout key takes nonces away, and nothing else: the agent goes on."""
    payer = payout_wallet().address
    await yard.node.call("hardhat_impersonateAccount", [payer])
    await send(yard.node, payer, QueuedCall(place.USDG, call_data("transfer(address,uint256)", MAKER, 1)))
    await yard.node.call("hardhat_stopImpersonatingAccount", [payer])
    assert "HALTED" not in yard.shown("payout")


def _raw(usd):
    whole, fraction = usd.split(".")
    return int(whole) * 10**6 + int(fraction)
