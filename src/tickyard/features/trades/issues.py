"""What stands against signing: the note's warnings, and what only the check can know."""

from typing import Final

from tickyard.features.trades.evidence import Evidence
from tickyard.features.trades.note import Concern, Severity, impact_of, impact_sentence, steps_sentence, warnings
from tickyard.features.trades.plan import Planned
from tickyard.features.trades.reasons import WORDS
from tickyard.kernel.units import UsdgAmount, percent_text, ratio_text
from tickyard.market.listing.asset import multiplier_text

_IMPACT_HIGH_BPS: Final = 300
_SLIPPAGE_WIDE_BPS: Final = 500
_ORDER: Final[dict[Severity, int]] = {"error": 0, "warning": 1, "info": 2}


def find_issues(planned: Planned, seen: Evidence, gas_money: int, depth_floor_usd: int) -> list[Concern]:
    """The worst first. `gas_money`: wei that the transactions ask for."""
    wanted, swap = planned.wanted, planned.swap
    symbol = wanted.asset.symbol
    found = [each for each in warnings(swap, symbol, planned.seen) if each.code is not None]
    for code in ("recipient_blocked", "token_paused"):
        # The run knows better than the flags: a frozen dollar, a pause of all tokens.
        if seen.run is not None and any(step.refusal and step.refusal.code == code for step in seen.run.steps):
            text = next((each.text for each in found if each.code == code), WORDS[code])
            found = [each for each in found if each.code != code]
            found.append(Concern(code, "error", text))
    if seen.ether < gas_money:
        held, needed = (ratio_text(wei, 10**18, 18) for wei in (seen.ether, gas_money))
        text = f"The recipient holds {held} ETH, and the transactions may ask for {needed} ETH of gas."
        found.append(Concern("gas_short", "error", text))
    impact = impact_of(swap)
    if impact is not None and impact.is_over(_IMPACT_HIGH_BPS):
        found.append(Concern("impact_high", "warning", impact_sentence(swap)))
    if wanted.ask.slippage_bps > _SLIPPAGE_WIDE_BPS:
        percent = percent_text(wanted.ask.slippage_bps, 10_000)
        text = f"The slippage bound is {percent} % wide: up to so much may be lost to others who trade before you."
        found.append(Concern("slippage_wide", "warning", text))
    depth = swap.fill.before.depth
    if depth < depth_floor_usd * 10**6:
        text = f"The pool is shallow: {UsdgAmount(depth).text()} USDG move its price by 1 %."
        found.append(Concern("pool_shallow", "warning", text))
    pending = wanted.asset.pending_multiplier_e18(seen.block.at)
    if pending is not None:
        text = f"A multiplier of {multiplier_text(pending)} is announced: what one token stands for will change."
        found.append(Concern("multiplier_pending", "info", text))
    if planned.has_approval:
        found.append(Concern("allowance_short", "info", steps_sentence(swap, symbol, has_approval=True)))
    return sorted(found, key=lambda each: _ORDER[each.severity])
