"""The reference facilitator behind three routes, for one network."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from aiohttp import web
from pydantic import BaseModel, ValidationError
from x402 import x402FacilitatorSync
from x402.mechanisms.evm.exact import ExactEvmFacilitatorScheme
from x402.schemas import PaymentAbortedError, SettleRequest, SettleResponse, VerifyRequest, VerifyResponse

from tickyard.kernel.clock import Clock
from tickyard.kernel.wire import encode
from tickyard.sandbox.facilitator.rules import MALFORMED, Rules
from tickyard.sandbox.facilitator.signer import RelayerSigner
from tickyard.sandbox.world.wallets import relayer

# The local chain mines at once; a receipt that takes longer than this is worth reporting as pending.
_RECEIPT_S = 20.0
_AT_ONCE = 16
T = TypeVar("T")


class ReferenceFacilitator:
    """The three routes of a facilitator. The reference code blocks, so each call has a thread to itself."""

    def __init__(self, chain_id: int, rpc_url: str, clock: Clock) -> None:
        self._network = network = f"eip155:{chain_id}"
        key = relayer(chain_id).private_key
        signer = RelayerSigner(key, rpc_url, _RECEIPT_S)
        rules = Rules(network, clock)
        self._reference = x402FacilitatorSync()
        self._reference.register([network], ExactEvmFacilitatorScheme(signer))
        self._reference.on_before_verify(rules.check)
        self._reference.on_before_settle(rules.check)
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="facilitator")

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


def _json(model: BaseModel) -> web.Response:
    return web.Response(text=model.model_dump_json(by_alias=True, exclude_none=True), content_type="application/json")


def _malformed() -> web.Response:
    return web.Response(status=400, body=encode({"error": MALFORMED}), content_type="application/json")
