"""The supply of tokens, prices on both sides, and all their pools."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Annotated

from msgspec import Meta

from tickyard.chain import erc20, stock_token
from tickyard.chain.address import checksum
from tickyard.chain.multicall import Call
from tickyard.deps import Deps
from tickyard.kernel.errors import Failure, UpstreamDown
from tickyard.kernel.ids import Address
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
from tickyard.market.batch import ItemError, SymbolsField, chosen, item_error
from tickyard.market.listing.asset import Asset, multiplier_text
from tickyard.market.swaps.charts import Chart
from tickyard.market.swaps.pools import deepest
from tickyard.market.swaps.quoting import FeeTier

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


class StatsItem(Answer):
    symbol: Ticker
    stats: Stats | None
    error: ItemError | None


class ManyStats(Answer):
    stats: list[StatsItem]
    count: Annotated[int, Meta(examples=[2])]
    as_of: Moment


class ManyStatsAsk(Ask):
    symbols: SymbolsField | None = None


async def get_stats(deps: Deps, ask: StatsAsk) -> Kept[Stats]:
    """Show one token's supply, its price in the deepest pool against the equity quote, the 24-hour change of the
    sampled price (null until a day of history exists), and every TOKEN/USDG pool, all read at one block.
    `asOf` is the time of the block.

    Freshness: read from the chain's newest block, reused for at most 5 s.
    Advice: For what a trade of a given size really costs use get_quote.
    """
    asset = deps.market.registry.find(ask.symbol)
    if asset.address is None:
        quote, seconds = await deps.market.mids.one(asset.symbol)
        return Kept(_without_token(deps, asset, quote.mid, deps.clock.now()), min(seconds, _REUSE_S))
    pools = deps.market.pools.of(asset.address)
    look = deps.market.look(pools, extra=_calls(asset.address))
    reading, (quote, seconds) = await asyncio.gather(look, deps.market.mids.one(asset.symbol))
    answer = _stats(deps, asset, reading.charts, reading.extra, quote.mid, reading.at)
    return Kept(answer, min(seconds, _REUSE_S))


async def list_stats(deps: Deps, ask: ManyStatsAsk) -> Kept[ManyStats]:
    """Show supply, prices and pools of up to 50 tokens, or of all, read at one block in one call. Each item has its
    stats or its own error. `asOf` is the time of the block.

    Freshness: read from the chain's newest block, reused for at most 5 s.
    Limits: at most 50 tickers a call, or all of them.
    Advice: Use this instead of many get_stats calls.
    """
    wanted = chosen(deps.market.registry, ask.symbols)
    pools = {a.address: deps.market.pools.of(a.address) for _, a in wanted if isinstance(a, Asset) and a.address}
    asked = [pool for its in pools.values() for pool in its]
    look = deps.market.look(asked, extra=[call for token in pools for call in _calls(token)])
    reading, copy = await asyncio.gather(look, deps.market.mids.all())
    charts, words = iter(reading.charts), iter(reading.extra)
    seen = {token: (list(islice(charts, len(its))), (next(words), next(words))) for token, its in pools.items()}
    items = []
    for symbol, asset in wanted:
        quote = copy.value.get(symbol)
        try:
            if isinstance(asset, Failure):
                raise asset
            mid = quote.mid if quote is not None else None
            if asset.address is None:
                stats = _without_token(deps, asset, mid, reading.at)
            else:
                stats = _stats(deps, asset, *seen[asset.address], mid, reading.at)
            items.append(StatsItem(symbol=symbol, stats=stats, error=None))
        except Failure as failure:
            items.append(StatsItem(symbol=symbol, stats=None, error=item_error(failure)))
    answer = ManyStats(stats=items, count=len(items), as_of=iso(reading.at))
    return Kept(answer, min(deps.market.mids.reuse_s(copy), _REUSE_S))


def _calls(token: Address) -> list[Call]:
    return [Call(token, erc20.TOTAL_SUPPLY), Call(token, stock_token.UI_MULTIPLIER)]


def _stats(
    deps: Deps,
    asset: Asset,
    charts: Sequence[Chart],
    own: Sequence[bytes | None],
    mid: Price | None,
    at: datetime,
) -> Stats:
    """The token's pools and the answers to `_calls`, beside the equity quote."""
    supply_word, multiplier_word = own
    if supply_word is None or multiplier_word is None:
        raise UpstreamDown("the chain node failed to read the token")
    best = deepest(chart.spot for chart in charts)
    assert asset.address is not None
    change = deps.market.samples.change_24h(asset.address, deps.clock.now())
    multiplier_e18 = stock_token.read_multiplier(multiplier_word)
    price = _price(asset, mid, multiplier_e18, best.price if best else None, change)
    supply = TokenAmount(erc20.read_amount(supply_word))
    equity = Price.parse(price.equity_token_usd)
    return Stats(
        symbol=asset.symbol,
        name=asset.name,
        token_address=asset.shown_address,
        chain_id=deps.settings.chain_id,
        supply=Supply(total_tokens=supply.text(), value_usd=equity.value_of(supply).text() if equity else None),
        price=price,
        pools=[_pool(chart) for chart in charts],
        as_of=iso(at),
    )


def _without_token(deps: Deps, asset: Asset, mid: Price | None, at: datetime) -> Stats:
    """An asset that is listed but not deployed on the chain: the equity side is all there is."""
    return Stats(
        symbol=asset.symbol,
        name=asset.name,
        token_address=None,
        chain_id=deps.settings.chain_id,
        supply=Supply(total_tokens=None, value_usd=None),
        price=_price(asset, mid, asset.multiplier_e18(at)),
        pools=[],
        as_of=iso(at),
    )


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


def _pool(chart: Chart) -> PoolStats:
    price = chart.spot.price
    return PoolStats(
        pool=checksum(chart.spot.pool.address),
        fee_tier=chart.spot.pool.fee,
        price=price.text() if price is not None else None,
        usdg_liquidity=chart.usdg.text(),
        token_liquidity=chart.tokens.text(),
        tvl_usd=chart.tvl.text(),
    )
