"""What a signer should know, in plain words."""

from dataclasses import dataclass

from tickyard.features.trades.calldata import Swap
from tickyard.kernel.units import Price, TokenAmount, UsdgAmount, percent_text
from tickyard.market.fills import Mode, Side

_PREMIUM_MAX_PERCENT = 5


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What else we saw at the same block, and what the equity market says. None: could not be known."""

    balance: int
    is_paused: bool
    is_recipient_blocked: bool
    is_active: bool
    is_halted: bool | None
    equity_mid: Price | None
    has_bad_checksum: bool


def write_note(swap: Swap, symbol: str, seen: Circumstances, *, has_approval: bool) -> str:
    sentences = [_steps(swap, symbol, has_approval), _bound(swap, symbol), _impact(swap)]
    return " ".join([*sentences, *_warnings(swap, symbol, seen)])


def _steps(swap: Swap, symbol: str, has_approval: bool) -> str:
    verb = "buys" if swap.trade.side is Side.BUY else "sells"
    if not has_approval:
        return f"One step: the swap, which {verb} {symbol} for USDG."
    spent = _amount(swap, swap.spends_at_most, symbol, is_in=True)
    return f"Two steps: approve the router for exactly {spent}, then the swap, which {verb} {symbol} for USDG."


def _bound(swap: Swap, symbol: str) -> str:
    if swap.trade.mode is Mode.EXACT_IN:
        return f"You receive at least {_amount(swap, swap.bound, symbol, is_in=False)}, or the swap reverts."
    return f"You pay at most {_amount(swap, swap.bound, symbol, is_in=True)}, or the swap reverts."


def _amount(swap: Swap, raw: int, symbol: str, *, is_in: bool) -> str:
    is_usdg = (swap.trade.side is Side.BUY) == is_in
    return f"{UsdgAmount(raw).text()} USDG" if is_usdg else f"{TokenAmount(raw).text()} {symbol}"


def _impact(swap: Swap) -> str:
    spot, paid = swap.fill.before.price, swap.fill.price
    if spot is None or paid is None:
        return "The price impact cannot be told for so small an amount."
    difference = abs(paid.num * spot.den - spot.num * paid.den)
    return f"Price impact {percent_text(difference, paid.den * spot.num)} %, pool fee included."


def _warnings(swap: Swap, symbol: str, seen: Circumstances) -> list[str]:
    found = []
    if seen.balance < swap.spends_at_most:
        found.append(
            f"The recipient holds only {_amount(swap, seen.balance, symbol, is_in=True)}: the swap may revert."
        )
    if seen.is_recipient_blocked:
        found.append("The token contract blocks the recipient: the swap will revert.")
    if seen.is_paused:
        found.append("The token is paused for a corporate action: the swap may revert.")
    if not seen.is_active:
        found.append(f"The issuer lists {symbol} as not active.")
    if seen.is_halted is None:
        found.append("The equity quote could not be read, so halt and premium were not checked.")
    elif seen.is_halted:
        found.append("Trading in the underlying is halted.")
    if premium := _premium(swap, seen.equity_mid):
        found.append(premium)
    if seen.has_bad_checksum:
        found.append("The recipient's mixed-case checksum is wrong: make sure that the address is yours.")
    return [f"Warning: {text}" for text in found]


def _premium(swap: Swap, equity_mid: Price | None) -> str | None:
    """Paying far above the equity quote, or selling far below it."""
    paid = swap.fill.price
    if equity_mid is None or paid is None:
        return None
    is_buy = swap.trade.side is Side.BUY
    worse = paid.num * equity_mid.den - equity_mid.num * paid.den
    worse = worse if is_buy else -worse
    if worse * 100 <= _PREMIUM_MAX_PERCENT * equity_mid.num * paid.den:
        return None
    percent = percent_text(worse, equity_mid.num * paid.den)
    return f"The price is {percent} % {'above' if is_buy else 'below'} the equity quote times the multiplier."
