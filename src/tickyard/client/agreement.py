"""Whether a build says exactly what an order says.

No network: this is what stands between a service that may be wrong and a signature.
"""

from dataclasses import dataclass
from typing import Final

from tickyard.chain.v3.swap_reader import DecodedSwap, UnreadableSwap, decode_approval, decode_swap
from tickyard.client.answers.shared import TradeBuild, TransactionStep
from tickyard.client.errors import TradeRefused
from tickyard.client.order import Order
from tickyard.config.pinned import CHAIN_ID, MAINNET
from tickyard.kernel.errors import Failure
from tickyard.kernel.ids import Address
from tickyard.kernel.units import TokenAmount, UsdgAmount

_BPS: Final = 10_000
_DEADLINE_MAX_S: Final = 86_400


@dataclass(frozen=True, slots=True)
class Agreed:
    """What will be signed: the steps, and what they are about."""

    steps: tuple[tuple[Address, bytes], ...]
    token_in: Address
    token_out: Address
    swap: DecodedSwap


def agree(build: TradeBuild, order: Order, account: str, now: int) -> Agreed:
    """The steps of a build that says what the order says, read from its calldata. Raises TradeRefused."""
    if build.chain_id != CHAIN_ID or build.symbol != order.symbol.upper():
        raise TradeRefused("the build is for another asset or chain")
    if not 1 <= len(build.steps) <= 2 or any(step.value != "0" for step in build.steps):
        raise TradeRefused("the build has steps that a trade does not need")
    token, usdg, router = Address(build.token_address.lower()), MAINNET.usdg, MAINNET.router
    if order.token is not None and order.token.lower() != token:
        raise TradeRefused("the build is for another token than the order")
    token_in, token_out = (usdg, token) if order.side == "buy" else (token, usdg)
    *before, last = [(Address(step.to.lower()), _data(step)) for step in build.steps]
    if last[0] != router:
        raise TradeRefused("the last step does not go to the router")
    try:
        swap = decode_swap(last[1])
        approvals = [(to, decode_approval(data)) for to, data in before]
    except UnreadableSwap as unreadable:
        raise TradeRefused(f"the calldata cannot be read: {unreadable}") from None
    pool = (swap.token_in, swap.token_out, swap.fee, swap.price_limit)
    if pool != (token_in, token_out, build.quote.fee_tier, 0) or swap.recipient != account.lower():
        raise TradeRefused("the calldata trades something else, or for somebody else")
    if (swap.is_exact_input, swap.amount) != (order.is_exact_in, order.fixed):
        raise TradeRefused("the calldata trades another amount than the order")
    if swap.deadline != build.deadline or not now < swap.deadline <= now + _DEADLINE_MAX_S:
        raise TradeRefused("the deadline of the calldata has passed, or is too far away")
    _check_bound(build, order, swap)
    if not order.allows(swap.bound):
        raise TradeRefused("the calldata allows a worse price than the limit of the order")
    spends = swap.amount if order.is_exact_in else swap.bound
    for to, approval in approvals:
        if (to, approval.spender, approval.amount) != (token_in, router, spends):
            raise TradeRefused("the approval allows something else than the swap needs")
    return Agreed((*before, last), token_in, token_out, swap)


def _check_bound(build: TradeBuild, order: Order, swap: DecodedSwap) -> None:
    """Never looser than the order allows, measured from what the build itself quotes."""
    try:
        usdg, tokens = UsdgAmount.parse(build.quote.usd_amount), TokenAmount.parse(build.quote.token_amount)
    except Failure:
        raise TradeRefused("the quote of the build cannot be read") from None
    quoted_in, quoted_out = (usdg, tokens) if order.side == "buy" else (tokens, usdg)
    if order.is_exact_in:
        is_loose = swap.bound * _BPS < quoted_out * (_BPS - order.slippage_bps) or not swap.bound
    else:
        is_loose = swap.bound * _BPS > quoted_in * (_BPS + order.slippage_bps)
    if is_loose or (quoted_in if order.is_exact_in else quoted_out) != swap.amount:
        raise TradeRefused("the bound in the calldata is looser than the order allows")


def _data(step: TransactionStep) -> bytes:
    try:
        return bytes.fromhex(step.data.removeprefix("0x"))
    except ValueError:
        raise TradeRefused("the calldata cannot be read") from None
