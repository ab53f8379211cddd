"""Pricing one swap, or many."""

from typing import Annotated

from msgspec import Meta

from tickyard.deps import Deps
from tickyard.kernel.errors import Failure, NoLiquidity
from tickyard.kernel.ids import Address, read_symbol
from tickyard.kernel.wire import AddressText, AmountField, Answer, Ask, Moment, SymbolField, Ticker, iso
from tickyard.market.batch import BATCH_MAX, ItemError, item_error
from tickyard.market.listing.asset import Asset
from tickyard.market.swaps.fills import Fill, Trade, best_fill
from tickyard.market.swaps.quoting import BlockNumber, DenomField, QuoteDetails, SideField, quote_fields


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

    Freshness: of the chain's newest block, at most about two seconds old, never reused.
    Advice: A quote is not an order. To get transactions to sign use build_trade; for many quotes use get_quotes.
    """
    asset, address, trade = _asked(deps, ask)
    offer = await deps.market.offer(address, trade)
    return _quote(asset, trade, offer.fills, iso(offer.at))


def remembered_quote(deps: Deps, ask: QuoteAsk) -> Quote | None:
    """The same from the pools in memory; None: somebody must be asked."""
    asset, address, trade = _asked(deps, ask)
    served = deps.market.remembered_offer(address, trade)
    return None if served is None else _quote(asset, trade, served[1], iso(served[0].at))


def _asked(deps: Deps, ask: QuoteAsk) -> tuple[Asset, Address, Trade]:
    asset = deps.market.registry.find(ask.symbol)
    trade = Trade.parse(ask.side, ask.denom, ask.amount)
    if asset.address is None or asset.shown_address is None:
        raise NoLiquidity("this asset has no token on the chain")
    return asset, asset.address, trade


def _quote(asset: Asset, trade: Trade, fills: list[Fill], as_of: str) -> Quote:
    assert asset.shown_address is not None
    fill = best_fill(trade, fills)
    return Quote(**quote_fields(trade, fill), symbol=asset.symbol, token_address=asset.shown_address, as_of=as_of)


class QuoteItemAsk(Ask):
    """One swap to price."""

    symbol: SymbolField
    side: SideField
    amount: AmountField
    denom: DenomField = "usd"


class QuotesAsk(Ask):
    quotes: Annotated[
        list[QuoteItemAsk],
        Meta(
            min_length=1,
            max_length=BATCH_MAX,
            examples=[[{"symbol": "AAPL", "side": "buy", "amount": "100"}]],
            description="Each as for a single quote.",
            extra={"says": f"a list of 1 to {BATCH_MAX} objects with symbol, side, amount and perhaps denom"},
        ),
    ]


class QuotesItem(Answer):
    quote: Quote | None
    error: ItemError | None


class Quotes(Answer):
    block_number: BlockNumber
    as_of: Moment
    count: Annotated[int, Meta(examples=[1])]
    quotes: list[QuotesItem]


async def get_quotes(deps: Deps, ask: QuotesAsk) -> Quotes:
    """Price up to 50 swaps, all at one block, in the order asked. Each item has its quote or its own error: an
    unknown symbol, a pool that cannot fill it. An item out of shape fails them all. Nothing is executed.

    Freshness: of the chain's newest block, at most about two seconds old, never reused.
    Limits: at most 50 swaps a call.
    """
    deps.market.registry.all()  # without a list nothing can be said of any symbol: that failure is the whole request's
    read = [_read(deps, item) for item in ask.quotes]
    good = [each for each in read if not isinstance(each, Failure)]
    block, offered = await deps.market.offers([(asset.address, trade) for asset, trade in good if asset.address])
    fills = iter(offered)
    items = []
    for each in read:
        try:
            if isinstance(each, Failure):
                raise each
            quote = _quote(*each, next(fills), iso(block.at))
            items.append(QuotesItem(quote=quote, error=None))
        except Failure as failure:
            items.append(QuotesItem(quote=None, error=item_error(failure)))
    return Quotes(block_number=block.number, as_of=iso(block.at), count=len(items), quotes=items)


def _read(deps: Deps, item: QuoteItemAsk) -> tuple[Asset, Trade] | Failure:
    try:
        asset = deps.market.registry.find(read_symbol(item.symbol))
        trade = Trade.parse(item.side, item.denom, item.amount)
        if asset.address is None:
            raise NoLiquidity("this asset has no token on the chain")
    except Failure as failure:
        return failure
    return asset, trade
