"""Pricing one swap."""

from tickyard.deps import Deps
from tickyard.kernel.errors import NoLiquidity
from tickyard.kernel.wire import AddressText, AmountField, Ask, Moment, SymbolField, Ticker, iso
from tickyard.market.fills import Trade, best_fill
from tickyard.market.quoting import DenomField, QuoteDetails, SideField, quote_fields


class QuoteAsk(Ask):
    symbol: SymbolField
    side: SideField
    amount: AmountField
    denom: DenomField = "usd"


class Quote(QuoteDetails):
    symbol: Ticker
    token_address: AddressText
    as_of: Moment


async def get_quote(deps: Deps, ask: QuoteAsk) -> Quote:
    """Price one swap on every fee tier at one block and return the best. Nothing is executed. A pool that
    could fill only a part is no fill. `asOf` is the time of the block.

    Freshness: asked of the chain's newest block at the moment of the call, never reused.
    Advice: A quote is not an order. To get transactions to sign use build_trade.
    """
    asset = deps.market.registry.find(ask.symbol)
    trade = Trade.parse(ask.side, ask.denom, ask.amount)
    if asset.address is None or asset.shown_address is None:
        raise NoLiquidity("this asset has no token on the chain")
    offer = await deps.market.offer(asset.address, trade)
    fill = best_fill(trade, offer.fills)
    return Quote(
        **quote_fields(trade, fill), symbol=asset.symbol, token_address=asset.shown_address, as_of=iso(offer.at)
    )
