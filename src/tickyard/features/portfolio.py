"""What a wallet holds, and what it is worth."""

import asyncio
from typing import Annotated

from msgspec import Meta

from tickyard.chain.address import checksum
from tickyard.deps import Deps
from tickyard.kernel.units import UsdgAmount
from tickyard.kernel.wire import (
    AddressField,
    AddressText,
    Answer,
    Ask,
    ChainId,
    Moment,
    MoneyText,
    PriceText,
    Ticker,
    TokenText,
    iso,
)
from tickyard.market.balances import Holding, read_holdings
from tickyard.sources.issuer.api import IssuerQuote


class PortfolioAsk(Ask):
    address: AddressField


class Position(Answer):
    symbol: Ticker
    name: Annotated[str, Meta(examples=["Apple"])]
    address: AddressText
    balance: TokenText
    decimals: Annotated[int, Meta(examples=[18])]
    usd_price: PriceText | None
    usd_value: MoneyText | None


class Portfolio(Answer):
    address: AddressText
    chain_id: ChainId
    positions: list[Position]
    total_usd_value: MoneyText
    as_of: Moment


async def get_portfolio(deps: Deps, ask: PortfolioAsk) -> Portfolio:
    """List a wallet's stock tokens, all read at one block, the most valuable first, each priced by the equity mid
    times the multiplier. A position without a usable quote has null price and value, sorts last and adds nothing
    to the total. `asOf` is the time of the block.

    Freshness: balances from the newest block, prices from quotes at most 15 s old.
    """
    holdings, quotes = await asyncio.gather(
        read_holdings(deps.market, ask.address, deps.market.registry.all()), deps.market.mids.all()
    )
    priced = [_position(holding, quotes.value.get(holding.asset.symbol)) for holding in holdings.held]
    priced.sort(key=lambda each: (each[1] is None, -(each[1] or 0), each[0].symbol))
    return Portfolio(
        address=checksum(ask.address),
        chain_id=deps.settings.chain_id,
        positions=[position for position, _ in priced],
        total_usd_value=UsdgAmount(sum(value for _, value in priced if value is not None)).text(),
        as_of=iso(holdings.at),
    )


def _position(holding: Holding, quote: IssuerQuote | None) -> tuple[Position, UsdgAmount | None]:
    price = quote.mid.times(holding.multiplier) if quote is not None and quote.mid is not None else None
    value = price.value_of(holding.balance) if price is not None else None
    asset = holding.asset
    position = Position(
        symbol=asset.symbol,
        name=asset.name,
        address=asset.shown_address or "",
        balance=holding.balance.text(),
        decimals=18,
        usd_price=price.text() if price is not None else None,
        usd_value=value.text() if value is not None else None,
    )
    return position, value
