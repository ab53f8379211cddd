"""The equity quotes of assets, per underlying share and per token."""

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta

from tickyard.deps import Deps
from tickyard.kernel.errors import Failure, UpstreamDown
from tickyard.kernel.ids import Symbol
from tickyard.kernel.operation import Kept
from tickyard.kernel.units import Price
from tickyard.kernel.wire import Answer, Ask, Moment, MultiplierText, PriceText, SymbolField, Ticker, iso
from tickyard.market.batch import ItemError, SymbolsField, chosen, item_error
from tickyard.market.listing.asset import Asset, multiplier_text
from tickyard.sources.issuer.api import IssuerQuote

DayFigure = Annotated[str, Meta(examples=["374.6"], description="Per underlying share.")]
Volume = Annotated[str, Meta(examples=["55329941"], description="Underlying shares traded today.")]


class UnderlyingPrice(Answer):
    bid: PriceText
    ask: PriceText
    mid: PriceText


class TokenPrice(Answer):
    bid: PriceText
    ask: PriceText
    mid: PriceText
    multiplier: MultiplierText


class PlainPrice(Answer):
    symbol: Ticker
    currency: Annotated[str, Meta(examples=["USD"])]
    underlying: UnderlyingPrice
    token: TokenPrice
    halted: bool
    as_of: Moment


class PriceRecord(PlainPrice):
    daily_high: DayFigure | None
    daily_low: DayFigure | None
    daily_trading_volume: Volume | None


class PriceItem(Answer):
    symbol: Ticker
    price: PlainPrice | None
    error: ItemError | None


class Prices(Answer):
    prices: list[PriceItem]
    count: Annotated[int, Meta(examples=[2])]


class PriceAsk(Ask):
    symbol: SymbolField


class PricesAsk(Ask):
    symbols: SymbolsField | None = None


async def get_price(deps: Deps, ask: PriceAsk) -> Kept[PriceRecord]:
    """Read the equity quote of one asset: bid, ask and mid per underlying share and, times the multiplier, per
    token. Off hours the spread can be very wide and the mid far off; both sides are shown. `asOf` is the
    moment at which the issuer made the quote.

    Freshness: the issuer's quote, reused for at most 5 s; a copy up to 15 s old stands in for a silent issuer.
    Advice: For the price in the pools use get_stats, for the price of a trade of a given size get_quote.
    """
    asset = deps.market.registry.find(ask.symbol)
    quote, seconds = await deps.market.mids.one(asset.symbol)
    now = deps.clock.now()
    record = PriceRecord(
        **_fields(quote, asset.multiplier_e18(now)),
        daily_high=quote.daily_high,
        daily_low=quote.daily_low,
        daily_trading_volume=quote.daily_volume,
    )
    return Kept(record, deps.market.registry.reuse_s(seconds, now))


async def list_prices(deps: Deps, ask: PricesAsk) -> Kept[Prices]:
    """Read the equity quotes of up to 50 assets, or of all, in one call. Each item has a price or its own error; the
    day's range and volume are left out (one asset's price has them).

    Freshness: the issuer's quote, reused for at most 5 s; a copy up to 15 s old stands in for a silent issuer.
    Limits: at most 50 tickers a call, or all of them.
    Advice: Use this instead of many get_price calls.
    """
    wanted = chosen(deps.market.registry, ask.symbols)
    copy = await deps.market.mids.all()
    now = deps.clock.now()
    items = [_item(symbol, asset, copy.value.get(symbol), now) for symbol, asset in wanted]
    return Kept(
        Prices(prices=items, count=len(items)),
        deps.market.registry.reuse_s(deps.market.mids.reuse_s(copy), now),
    )


def _item(symbol: Symbol, asset: Asset | Failure, quote: IssuerQuote | None, now: datetime) -> PriceItem:
    if isinstance(asset, Failure):
        return PriceItem(symbol=symbol, price=None, error=item_error(asset))
    try:
        if quote is None:
            raise UpstreamDown(f"the issuer has no quote for {symbol}")
        return PriceItem(symbol=symbol, price=PlainPrice(**_fields(quote, asset.multiplier_e18(now))), error=None)
    except UpstreamDown as failure:
        return PriceItem(symbol=symbol, price=None, error=item_error(failure))


def _fields(quote: IssuerQuote, multiplier_e18: int) -> dict[str, Any]:
    if quote.bid is None or quote.ask is None:
        raise UpstreamDown(f"the issuer's quote for {quote.symbol} is not usable at the moment")
    mid = quote.bid.midway(quote.ask)
    multiplier = Price(multiplier_e18, 10**18)
    return {
        "symbol": quote.symbol,
        "currency": quote.currency,
        "underlying": UnderlyingPrice(bid=quote.bid.text(), ask=quote.ask.text(), mid=mid.text()),
        "token": TokenPrice(
            bid=quote.bid.times(multiplier).text(),
            ask=quote.ask.times(multiplier).text(),
            mid=mid.times(multiplier).text(),
            multiplier=multiplier_text(multiplier_e18),
        ),
        "halted": quote.is_halted,
        "as_of": iso(quote.generated_at),
    }
