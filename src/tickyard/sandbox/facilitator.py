"""A facilitator for one network: the reference one, verifying and settling for real on a local chain.

    python -m tickyard.sandbox.facilitator --network eip155:4663 --rpc-url URL --run-dir DIR

Writes `DIR/facilitator-4663.json` when it is ready. Lives as long as its stdin. A process of its own, because
the reference code blocks while it waits for the chain, and because no other process may hold a relayer's key.
"""

import argparse
import asyncio
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import uvloop
from aiohttp import web
from pydantic import BaseModel, ValidationError
from x402 import x402FacilitatorSync
from x402.mechanisms.evm.exact import ExactEvmFacilitatorScheme
from x402.schemas import PaymentAbortedError, SettleRequest, SettleResponse, VerifyRequest, VerifyResponse

from tickyard.config.pinned import CHAIN_ID
from tickyard.kernel.clock import Clock, WallClock
from tickyard.kernel.wire import encode
from tickyard.sandbox.clock import CLOCK_FILE, SandboxClock
from tickyard.sandbox.facilitator_front import port_file
from tickyard.sandbox.facilitator_rules import MALFORMED, Rules
from tickyard.sandbox.facilitator_signer import RelayerSigner
from tickyard.sandbox.lifeline import on_parent_gone
from tickyard.sandbox.wallets import relayer

# The local chain mines at once; a receipt that takes longer than this is worth reporting as pending.
_RECEIPT_S = 20.0
_AT_ONCE = 16
T = TypeVar("T")


class Facilitator:
    """The three routes of a facilitator. The reference code blocks, so each call has a thread to itself."""

    def __init__(self, network: str, rpc_url: str, clock: Clock) -> None:
        self._network = network
        key = relayer(chain_id_of(network)).private_key
        signer = RelayerSigner(key, rpc_url, _RECEIPT_S)
        rules = Rules(network, clock)
        self._reference = x402FacilitatorSync()
        self._reference.register([network], ExactEvmFacilitatorScheme(signer))
        self._reference.on_before_verify(rules.check)
        self._reference.on_before_settle(rules.check)
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="facilitator")

    def add_to(self, app: web.Application) -> None:
        app.router.add_get("/supported", self.supported)
        app.router.add_post("/verify", self.verify)
        app.router.add_post("/settle", self.settle)

    async def supported(self, _request: web.Request) -> web.Response:
        return _json(self._reference.get_supported())

    async def verify(self, request: web.Request) -> web.Response:
        try:
            asked = VerifyRequest.model_validate_json(await request.read())
        except ValidationError:
            return _malformed()
        try:
            answer = await self._apart(
                lambda: self._reference.verify(asked.payment_payload, asked.payment_requirements)
            )
        except PaymentAbortedError as refusal:
            answer = VerifyResponse(is_valid=False, invalid_reason=refusal.reason)
        return _json(answer)

    async def settle(self, request: web.Request) -> web.Response:
        try:
            asked = SettleRequest.model_validate_json(await request.read())
        except ValidationError:
            return _malformed()
        try:
            answer = await self._apart(
                lambda: self._reference.settle(asked.payment_payload, asked.payment_requirements)
            )
        except PaymentAbortedError as refusal:
            answer = SettleResponse(success=False, error_reason=refusal.reason, transaction="", network=self._network)
        return _json(answer)

    async def _apart(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def chain_id_of(network: str) -> int:
    return int(network.removeprefix("eip155:"))


def _json(model: BaseModel) -> web.Response:
    return web.Response(text=model.model_dump_json(by_alias=True, exclude_none=True), content_type="application/json")


def _malformed() -> web.Response:
    return web.Response(status=400, body=encode({"error": MALFORMED}), content_type="application/json")


async def run(network: str, rpc_url: str, run_dir: Path) -> None:
    chain_id = chain_id_of(network)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    on_parent_gone(stop.set)
    app = web.Application()
    Facilitator(network, rpc_url, _clock(chain_id, run_dir)).add_to(app)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        _announce(run_dir / port_file(chain_id), runner.addresses[0][1])
        await stop.wait()
    finally:
        await runner.cleanup()


def _clock(chain_id: int, run_dir: Path) -> Clock:
    """The second network keeps wall time; the first follows the sandbox's clock, where there is one."""
    file = run_dir / CLOCK_FILE
    return SandboxClock(file) if chain_id == CHAIN_ID and file.exists() else WallClock()


def _announce(path: Path, port: int) -> None:
    """A reader sees nothing or all of it."""
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(encode({"port": port}))
    unfinished.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(prog="tickyard.sandbox.facilitator")
    parser.add_argument("--network", required=True, help="such as eip155:4663")
    parser.add_argument("--rpc-url", required=True)
    parser.add_argument("--run-dir", type=Path, required=True)
    asked = parser.parse_args()
    uvloop.run(run(asked.network, asked.rpc_url, asked.run_dir))


if __name__ == "__main__":
    main()
