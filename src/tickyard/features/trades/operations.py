"""`POST /v1/trade/build`."""

import asyncio

from tickyard.deps import Deps
from tickyard.features.trades.plan import Planned, Wanted, equity_quote
from tickyard.features.trades.wire import BuildAsk, TradeBuild


async def build_trade(deps: Deps, ask: BuildAsk) -> TradeBuild:
    """Quote one swap and build the unsigned transactions for it, to be signed and sent in order by the
    recipient: an approval for exactly what is needed, only if the allowance is short, then the swap with its
    bound and its deadline. Nothing is executed and no key is involved. `note` says what the steps do, the bound,
    the price impact, and what may go wrong.

    Freshness: asked of the chain's newest block at the moment of the call, never reused; the transactions expire at
    deadline.
    Limits: slippage from 0.01 % to 50 %.
    Advice: The recipient's wallet must sign and send the steps in order; show the user the note first.
    """
    wanted = Wanted.read(deps, ask)
    offer, equity = await asyncio.gather(
        deps.market.offer(wanted.token, wanted.trade, wanted.extra_calls()),
        equity_quote(deps, wanted.asset.symbol),
    )
    swap = wanted.swap(offer.fills, deps.clock.seconds() + deps.settings.deadline_s)
    return Planned.of(wanted, swap, offer.extra, equity, offer.at).build(deps.settings.chain_id)
