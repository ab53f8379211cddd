"""Paying a paid route with the reference client, the way any buyer would.

What a buyer must do beside the defaults is here too: allow USDG, which no client knows by itself, and in the
sandbox sign by the sandbox's clock, which may be ahead of the wall.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec
from eth_account import Account
from x402 import x402Client
from x402.http import decode_payment_response_header
from x402.http.clients.httpx import PaymentError, x402AsyncTransport
from x402.mechanisms.evm.exact import ExactEvmClientScheme
from x402.mechanisms.evm.signers import EthAccountSigner

from tickyard.client.caller import Caller, RawReply, failure_of
from tickyard.client.errors import KeptUnreadable, TickyardError
from tickyard.client.payer import Payer
from tickyard.client.routes import Request
from tickyard.client.sandbox_time import scheme_ahead
from tickyard.config.pinned import CHAIN_ID, MAINNET
from tickyard.kernel.clock import Clock, WallClock
from tickyard.payments.refusal import NOTHING_TAKEN

FIRST_NETWORK = f"eip155:{CHAIN_ID}"
_MOST_PER_CALL = "1000000"
_RECEIPT = "payment-response"
# Longer than the service waits for a settlement.
_WAIT_S = 90
_CLOCK_WAIT_S = 5


class CannotPay(Exception):
    """One sentence for the terminal."""


@dataclass(frozen=True, slots=True)
class PaidAnswer:
    """What came back: the answer, and the receipt when something was paid."""

    status: int
    body: bytes
    receipt: dict[str, Any] | None
    headers: Mapping[str, str]
    is_uncertain: bool = False
    """Whether a payment is out of our hands, and its end not known."""
    is_untaken: bool = False
    """Whether the service says that nothing was taken by this request."""
    is_all_untaken: bool = False
    """Whether it has said so each time that this payment was presented."""


async def pay(
    url: str,
    *,
    wallet_key: str,
    network: str | None = None,
    method: str = "GET",
    body: bytes | None = None,
    clock: Clock | None = None,
) -> PaidAnswer:
    """Call a route and pay if it asks for it. With `network` on that one only, else on the first it offers."""
    headers = {"content-type": "application/json"} if body is not None else {}
    try:
        ahead_s = await ahead_of_the_wall(url, clock or WallClock())
        transport = x402AsyncTransport(_client(wallet_key, network, ahead_s))
        # trust_env would put a proxy from the environment in the place of the paying transport.
        async with httpx.AsyncClient(transport=transport, timeout=_WAIT_S, trust_env=False) as http:
            answer = await http.request(method, url, content=body, headers=headers)
    except PaymentError as error:
        if isinstance(error.__cause__, httpx.HTTPError):
            # The client wraps what happens after it has paid as well.
            raise CannotPay("the service did not answer to the payment, which may have been taken") from None
        raise CannotPay(f"the payment was not made: {error}") from None
    except httpx.HTTPError as error:
        raise CannotPay(f"the service did not answer ({type(error).__name__})") from None
    return PaidAnswer(answer.status_code, answer.content, _receipt(answer.headers), dict(answer.headers))


def _client(wallet_key: str, network: str | None, ahead_s: int) -> x402Client:
    signer = EthAccountSigner(Account.from_key(wallet_key))
    client = x402Client()
    client.register("eip155:*", ExactEvmClientScheme(signer))
    client.register(FIRST_NETWORK, scheme_ahead(signer, ahead_s))
    client.set_spend_controls(
        {
            "allowed_assets": [
                {"network": FIRST_NETWORK, "asset": MAINNET.usdg, "max_amount_per_payment": _MOST_PER_CALL}
            ]
        }
    )
    if network is not None:
        client.register_policy(lambda _version, offers: [offer for offer in offers if offer.network == network])
    return client


async def pay_once(
    base_url: str,
    request: Request,
    *,
    wallet_key: str,
    network: str | None,
    file: Path,
    show: Callable[[PaidAnswer], None],
    tell: Callable[[str], None],
) -> PaidAnswer:
    """One request with the house's own client. What it paid and got no answer to is presented again the next time, and
    what it got and did not finish to `show`."""
    try:
        payer = Payer(wallet_key, limit_usd="1", network=network, file=file)
    except KeptUnreadable as error:
        raise CannotPay(str(error)) from None
    caller = Caller(base_url, payer=payer, timeout_s=_WAIT_S)
    try:
        begun_on = caller.begun_on(request)
        if begun_on is not None:
            tell(f"repeating the payment begun on {begun_on}")
        reply = await caller.fetch(
            request, is_repeatable=request.method == "GET", on_paid=lambda reply: show(_answer(reply))
        )
    except KeptUnreadable as error:
        raise CannotPay(str(error)) from None
    except TickyardError as error:
        if caller.is_uncertain(request):
            raise CannotPay(f"its outcome is not known: run the same command again ({error})") from None
        raise CannotPay(f"the payment was not made: {error}") from None
    finally:
        await caller.close()
    is_sure = begun_on is None and all(each is not None and _is_untaken(each) for each in reply.before)
    return replace(
        _answer(reply),
        is_uncertain=caller.is_uncertain(request),
        is_untaken=_is_untaken(reply),
        is_all_untaken=is_sure and _is_untaken(reply),
    )


def _is_untaken(reply: RawReply) -> bool:
    """Whether the service itself says that nothing was taken by this request. What a 4xx means the payer judges."""
    if reply.status != 502:
        return False
    failure = failure_of(reply)
    return failure.code == "upstream_error" and failure.message.endswith(NOTHING_TAKEN)


def _answer(reply: RawReply) -> PaidAnswer:
    headers = httpx.Headers(dict(reply.headers))
    return PaidAnswer(reply.status, reply.body, _receipt(headers), dict(headers))


async def ahead_of_the_wall(url: str, wall: Clock) -> int:
    """By how many seconds the service's sandbox clock is ahead; a service without one keeps wall time."""
    parts = urlsplit(url)
    async with httpx.AsyncClient(timeout=_CLOCK_WAIT_S, trust_env=False) as http:
        answer = await http.get(f"{parts.scheme}://{parts.netloc}/sandbox/clock")
    if answer.status_code != 200:
        return 0
    try:
        shown = msgspec.json.decode(answer.content, type=dict[str, datetime])["now"]
    except (msgspec.DecodeError, KeyError):
        raise CannotPay("the sandbox's clock cannot be read") from None
    return max(0, int((shown - wall.now()).total_seconds()))


def _receipt(headers: httpx.Headers) -> dict[str, Any] | None:
    header = headers.get(_RECEIPT)
    if header is None:
        return None
    try:
        return decode_payment_response_header(header).model_dump(by_alias=True, exclude_none=True)
    except ValueError:
        raise CannotPay("the answer came with a receipt that cannot be read") from None
