"""The equity quote of one asset, per underlying share and per token."""

from typing import Annotated

from msgspec import Meta

from tickyard.deps import Deps
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.operation import Kept
from tickyard.kernel.units import Price
from tickyard.kernel.wire import Answer, Ask, Moment, MultiplierText, PriceText, SymbolField, Ticker, iso
from tickyard.market.asset import multiplier_text
from tickyard.sources.issuer import IssuerQuote

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


class PriceRecord(Answer):
    symbol: Ticker
    currency: Annotated[str, Meta(examples=["USD"])]
    underlying: UnderlyingPrice
    token: TokenPrice
    halted: bool
    as_of: Moment
    daily_high: DayFigure | None
    daily_low: DayFigure | None
    daily_trading_volume: Volume | None


class PriceAsk(Ask):
    symbol: SymbolField


async def get_price(deps: Deps, ask: PriceAsk) -> Kept[PriceRecord]:
    """Read the equity quote of one asset: bid, ask and mid per underlying share and, times the multiplier, per
    token. Off hours the spread can be very wide and the mid far off; both sides are shown. `asOf` is the
    moment at which the issuer made the quote."""
    asset = deps.market.registry.find(ask.symbol)
    quote, seconds = await deps.market.mids.one(asset.symbol)
    now = deps.clock.now()
    return Kept(_record(quote, asset.multiplier_e18(now)), deps.market.registry.reuse_s(seconds, now))


def _record(quote: IssuerQuote, multiplier_e18: int) -> PriceRecord:
    if quote.bid is None or quote.ask is None:
        raise UpstreamDown(f"the issuer's quote for {quote.symbol} is not usable at the moment")
    mid = quote.bid.midway(quote.ask)
    multiplier = Price(multiplier_e18, 10**18)
    return PriceRecord(
        symbol=quote.symbol,
        currency=quote.currency,
        underlying=UnderlyingPrice(bid=quote.bid.text(), ask=quote.ask.text(), mid=mid.text()),
        token=TokenPrice(
            bid=quote.bid.times(multiplier).text(),
            ask=quote.ask.times(multiplier).text(),
            mid=mid.times(multiplier).text(),
            multiplier=multiplier_text(multiplier_e18),
        ),
        halted=quote.is_halted,
        as_of=iso(quote.generated_at),
        daily_high=quote.daily_high,
        daily_low=quote.daily_low,
        daily_trading_volume=quote.daily_volume,
    )
