"""What a signer should know, in plain words. The check's issues are these very sentences, with a code each."""

from dataclasses import dataclass
from typing import Final, Literal

from tickyard.features.trades.calldata import Swap
from tickyard.kernel.units import Price, TokenAmount, UsdgAmount, percent_text
from tickyard.market.swaps.fills import Mode, Side

_PREMIUM_MAX_PERCENT: Final = 5

IssueCode = Literal[
    "balance_short",
    "gas_short",
    "allowance_short",
    "recipient_blocked",
    "token_paused",
    "halted",
    "inactive",
    "premium_high",
    "impact_high",
    "slippage_wide",
    "pool_shallow",
    "quote_unreadable",
    "multiplier_pending",
]
Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What else we saw at the same block, and what the equity market says. None: could not be known."""

    balance: int
    is_paused: bool
    is_active: bool
    is_halted: bool | None
    equity_mid: Price | None
    has_bad_checksum: bool
    paused: str | None = None
    """Which of the two tokens moves for nobody now."""
    blocked_by: tuple[str, ...] = ()
    """Which of the two move for others, and neither to nor from the recipient."""


@dataclass(frozen=True, slots=True)
class Concern:
    code: IssueCode | None
    """None: said in the note alone."""
    severity: Severity
    text: str


@dataclass(frozen=True, slots=True)
class Share:
    """A part of something as an exact ratio; positive is worse for the caller."""

    num: int
    den: int

    def text(self) -> str:
        return percent_text(self.num, self.den)

    def is_over(self, bps: int) -> bool:
        return self.num * 10_000 > bps * self.den


def write_note(swap: Swap, symbol: str, seen: Circumstances, *, has_approval: bool) -> str:
    sentences = [steps_sentence(swap, symbol, has_approval), _bound(swap, symbol), impact_sentence(swap)]
    return " ".join([*sentences, *(f"Warning: {each.text}" for each in warnings(swap, symbol, seen))])


def steps_sentence(swap: Swap, symbol: str, has_approval: bool) -> str:
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


def impact_of(swap: Swap) -> Share | None:
    """How far the price as traded, fee included, is from the pool's price before it."""
    spot, paid = swap.fill.before.price, swap.fill.price
    if spot is None or paid is None:
        return None
    return Share(abs(paid.num * spot.den - spot.num * paid.den), paid.den * spot.num)


def impact_sentence(swap: Swap) -> str:
    impact = impact_of(swap)
    if impact is None:
        return "The price impact cannot be told for so small an amount."
    return f"Price impact {impact.text()} %, pool fee included."


def premium_of(swap: Swap, equity_mid: Price | None) -> Share | None:
    """By how much the price is above the equity quote when buying, or below it when selling."""
    paid = swap.fill.price
    if equity_mid is None or paid is None:
        return None
    worse = paid.num * equity_mid.den - equity_mid.num * paid.den
    return Share(worse if swap.trade.side is Side.BUY else -worse, equity_mid.num * paid.den)


def warnings(swap: Swap, symbol: str, seen: Circumstances) -> list[Concern]:
    found: list[Concern] = []
    if seen.balance < swap.spends_at_most:
        held = _amount(swap, seen.balance, symbol, is_in=True)
        # What is quoted may be affordable although the most that it may cost is not.
        is_sure = seen.balance < swap.fill.amounts(swap.trade.side)[0]
        severity: Severity = "error" if is_sure else "warning"
        found.append(Concern("balance_short", severity, f"The recipient holds only {held}: the swap may revert."))
    if seen.blocked_by:
        names, is_one = " and ".join(seen.blocked_by), len(seen.blocked_by) == 1
        who = f"The contract of {names} blocks" if is_one else f"The contracts of {names} block"
        text = f"{who} the recipient: the swap will revert."
        found.append(Concern("recipient_blocked", "error", text))
    if seen.paused is not None:
        text = f"{seen.paused} is paused, nobody can move it: the swap will revert."
        found.append(Concern("token_paused", "error", text))
    elif seen.is_paused:
        text = "The token is paused for a corporate action: the swap may revert."
        found.append(Concern("token_paused", "warning", text))
    if not seen.is_active:
        found.append(Concern("inactive", "warning", f"The issuer lists {symbol} as not active."))
    if seen.is_halted:
        found.append(Concern("halted", "warning", "Trading in the underlying is halted."))
    if seen.is_halted is None:
        text = "The equity quote could not be read, so halt and premium were not checked."
        found.append(Concern("quote_unreadable", "warning", text))
    elif seen.equity_mid is None:
        text = "The equity quote has no usable bid and ask, so the premium was not checked."
        found.append(Concern("quote_unreadable", "warning", text))
    premium = premium_of(swap, seen.equity_mid)
    if premium is not None and premium.is_over(_PREMIUM_MAX_PERCENT * 100):
        found.append(Concern("premium_high", "warning", premium_sentence(swap, premium)))
    if seen.has_bad_checksum:
        text = "The recipient's mixed-case checksum is wrong: make sure that the address is yours."
        found.append(Concern(None, "warning", text))
    return found


def premium_sentence(swap: Swap, premium: Share) -> str:
    where = "above" if swap.trade.side is Side.BUY else "below"
    return f"The price is {premium.text()} % {where} the equity quote times the multiplier."
