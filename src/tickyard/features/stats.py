"""One token's supply, prices on both sides, and all its pools."""

import asyncio
from typing import Annotated

from msgspec import Meta

from tickyard.chain import erc20, stock_token
from tickyard.chain.address import checksum
from tickyard.chain.multicall import Call
from tickyard.deps import Deps
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.operation import Kept
from tickyard.kernel.units import Price, TokenAmount, percent_text
from tickyard.kernel.wire import (
    AddressText,
    Answer,
    Ask,
    ChainId,
    Moment,
    MoneyText,
    MultiplierText,
    PriceText,
    SymbolField,
    Ticker,
    TokenText,
    iso,
)
from tickyard.market.asset import Asset, multiplier_text
from tickyard.market.pools import deepest
from tickyard.market.poolviews import PoolView, read_views, view_calls
from tickyard.market.quoting import FeeTier

Percent = Annotated[str, Meta(examples=["-0.1250"], description="Percent with four decimals.")]
_REUSE_S = 5


class StatsAsk(Ask):
    symbol: SymbolField


class Supply(Answer):
    total_tokens: TokenText | None
    value_usd: MoneyText | None


class StatsPrice(Answer):
    dex_usd: PriceText | None
    equity_token_usd: PriceText
    underlying_mid_usd: PriceText
    multiplier: MultiplierText
    dex_premium_pct: Percent | None
    change24h_pct: Percent | None


class PoolStats(Answer):
    pool: AddressText
    fee_tier: FeeTier
    price: PriceText | None
    usdg_liquidity: MoneyText
    token_liquidity: TokenText
    tvl_usd: MoneyText


class Stats(Answer):
    symbol: Ticker
    name: Annotated[str, Meta(examples=["Apple"])]
    token_address: AddressText | None
    chain_id: ChainId
    supply: Supply
    price: StatsPrice
    pools: list[PoolStats]
    as_of: Moment


async def get_stats(deps: Deps, ask: StatsAsk) -> Kept[Stats]:
    """Show one token's supply, its price in the deepest pool against the equity quote, the 24-hour change of the
    sampled price (null until a day of history exists), and every TOKEN/USDG pool, all read at one block.
    `asOf` is the time of the block."""
    asset = deps.market.registry.find(ask.symbol)
    if asset.address is None:
        return await _without_token(deps, asset)
    pools = deps.market.pools.of(asset.address)
    calls = [
        Call(asset.address, erc20.TOTAL_SUPPLY),
        Call(asset.address, stock_token.UI_MULTIPLIER),
        *view_calls(pools, deps.settings.contracts),
    ]
    reading, (quote, seconds) = await asyncio.gather(deps.market.read(calls), deps.market.mids.one(asset.symbol))
    supply_word, multiplier_word, *pool_words = reading.results
    if supply_word is None or multiplier_word is None:
        raise UpstreamDown("the chain node failed to read the token")
    views = read_views(pools, deps.market.pools, pool_words)
    best = deepest(view.state for view in views)
    change = deps.market.samples.change_24h(asset.address, deps.clock.now())
    multiplier_e18 = stock_token.read_multiplier(multiplier_word)
    price = _price(asset, quote.mid, multiplier_e18, best.price if best else None, change)
    supply = TokenAmount(erc20.read_amount(supply_word))
    equity = Price.parse(price.equity_token_usd)
    stats = Stats(
        symbol=asset.symbol,
        name=asset.name,
        token_address=asset.shown_address,
        chain_id=deps.settings.chain_id,
        supply=Supply(total_tokens=supply.text(), value_usd=equity.value_of(supply).text() if equity else None),
        price=price,
        pools=[_pool(view) for view in views],
        as_of=iso(reading.at),
    )
    return Kept(stats, min(seconds, _REUSE_S))


async def _without_token(deps: Deps, asset: Asset) -> Kept[Stats]:
    """An asset that is listed but not deployed on the chain: the equity side is all there is."""
    quote, seconds = await deps.market.mids.one(asset.symbol)
    now = deps.clock.now()
    stats = Stats(
        symbol=asset.symbol,
        name=asset.name,
        token_address=None,
        chain_id=deps.settings.chain_id,
        supply=Supply(total_tokens=None, value_usd=None),
        price=_price(asset, quote.mid, asset.multiplier_e18(now)),
        pools=[],
        as_of=iso(now),
    )
    return Kept(stats, min(seconds, _REUSE_S))


def _price(
    asset: Asset,
    mid: Price | None,
    multiplier_e18: int,
    dex: Price | None = None,
    change: tuple[int, int] | None = None,
) -> StatsPrice:
    if mid is None:
        raise UpstreamDown(f"the issuer's quote for {asset.symbol} is not usable at the moment")
    equity = mid.times(Price(multiplier_e18, stock_token.MULTIPLIER_ONE))
    premium = None
    if dex is not None:
        premium = percent_text(dex.num * equity.den - equity.num * dex.den, equity.num * dex.den)
    return StatsPrice(
        dex_usd=dex.text() if dex is not None else None,
        equity_token_usd=equity.text(),
        underlying_mid_usd=mid.text(),
        multiplier=multiplier_text(multiplier_e18),
        dex_premium_pct=premium,
        change24h_pct=percent_text(*change) if change is not None else None,
    )


def _pool(view: PoolView) -> PoolStats:
    price = view.state.price
    return PoolStats(
        pool=checksum(view.state.pool.address),
        fee_tier=view.state.pool.fee,
        price=price.text() if price is not None else None,
        usdg_liquidity=view.usdg.text(),
        token_liquidity=view.tokens.text(),
        tvl_usd=view.tvl.text(),
    )
