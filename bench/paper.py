"""What measurements of the reward program stand on: a chain on paper, a clock that is moved, and rooms over both."""

import json
import random
import sys
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from aiohttp import web

from tickyard.chain.keccak import keccak256
from tickyard.chain.rpc.client import Rpc
from tickyard.features.earn import rules
from tickyard.features.earn.claims.message import EarnTerms
from tickyard.features.earn.room import EarnRoom
from tickyard.kernel.clock import WallClock
from tickyard.kernel.ids import ZERO_ADDRESS
from tickyard.payout.signing.signer import LocalSigner
from tickyard.store.sqlite.engine import SqliteStore

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "simulation"))
from simulated.chain import Chain
from simulated.faults import Faults
from simulated.words import DESK, MULTICALL, TOKEN, USDG, account_at, raw

TERMS = EarnTerms(4663, TOKEN, USDG)
EPOCH = 20261114
HEAD, DEPTH = 24 * 3600 + 10, 4
KEY = b"\x07" * 32


class DatedClock(WallClock):
    """Goes on from a given moment; what pauses and deadlines are measured by is moved apart from it."""

    def __init__(self, start: Any = None) -> None:
        self.offset = start - super().now() if start else timedelta(0)
        self.ahead_s = 0.0

    def now(self) -> Any:
        return super().now() + self.offset

    def timestamp(self) -> float:
        return self.now().timestamp()

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_s


def address(n: int) -> str:
    return "0x" + keccak256(n.to_bytes(8, "big"))[:20].hex()


def balance(owner: str) -> int:
    """Follows from the address, so that nobody has to remember a million of them."""
    return 10**24 + int(owner[2:14], 16) * 10**12


class PaperChain(Chain):
    """The simulated chain, with holders that nobody minted and blocks of one second that nobody mined."""

    def __init__(self, holders: int) -> None:
        super().__init__(DatedClock(rules.starts_at(EPOCH)), random.Random(1), Faults())
        self._supply = sum(balance(address(n)) for n in range(holders))
        self.state.payer = LocalSigner(KEY).address
        self.state.usdg[self.state.payer] = 10**15
        self.state.allowances[self.state.payer] = 10**30

    def eth_chainId(self) -> str:
        return hex(4663)

    def eth_blockNumber(self) -> str:
        return hex(HEAD)

    def eth_getBlockByNumber(self, which: str, _full: bool) -> Any:
        number = HEAD if which == "latest" else int(which, 16)
        time_ = hex(int(rules.starts_at(EPOCH).timestamp()) + number)
        return {"number": hex(number), "hash": f"0x{number:064x}", "timestamp": time_, "baseFeePerGas": "0x5f5e100"}

    def eth_getLogs(self, _query: Any) -> list[Any]:
        return []

    def _state_at(self, _where: Any) -> Any:
        return self.state

    def _view_call(self, to: str, data: bytes, state: Any) -> bytes:
        if to == TOKEN and data[:4].hex() == "70a08231":
            owner = account_at(data[4:], 0)
            return raw(0 if owner == ZERO_ADDRESS else balance(owner))
        return (
            raw(self._supply) if to == TOKEN and data[:4].hex() == "18160ddd" else super()._view_call(to, data, state)
        )

    def tick_open(self, digest: str, pool: int) -> None:
        self.state.books[EPOCH], self.state.pools[EPOCH] = digest, pool


class QuickChain(Chain):
    """Blocks as soon as something is sent. What is final is a quarter of an hour old, and still there."""

    kept_states = 20_000

    def eth_chainId(self) -> str:
        return hex(4663)

    def eth_sendRawTransaction(self, text: str) -> str:
        hash_ = super().eth_sendRawTransaction(text)
        self.mine()
        return str(hash_)


async def serve(chain: Chain, stack: AsyncExitStack) -> str:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=chain.handle(await request.read()), content_type="application/json")

    async def control(request: web.Request) -> web.Response:
        asked = json.loads(await request.read())
        for _ in range(asked.get("mine", 0)):
            chain.mine()
        if "open" in asked:
            chain.state.books[EPOCH], chain.state.pools[EPOCH] = asked["open"]
        return web.json_response({"calls": chain.calls, "paid": len(chain.state.paid)})

    app = web.Application(client_max_size=2**28)
    app.router.add_post("/", answer)
    app.router.add_post("/control", control)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return f"http://127.0.0.1:{runner.addresses[0][1]}/"


def deps_of(folder: Path, url: str, clock: DatedClock) -> Any:
    store = SqliteStore(folder / "earn.db", clock, random.Random(1))
    rpc = Rpc([url], chain_id=4663, clock=clock)
    return SimpleNamespace(store=store, rpc=rpc, clock=clock, earn=EarnRoom(TERMS, DEPTH, DESK, MULTICALL))
