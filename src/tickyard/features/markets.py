"""Every pool, the deepest first."""

from typing import Annotated, Literal

from msgspec import Meta

from tickyard.chain.address import checksum
from tickyard.deps import Deps
from tickyard.kernel.ids import Symbol
from tickyard.kernel.operation import Kept
from tickyard.kernel.wire import AddressText, Answer, Ask, ChainId, Moment, MoneyText, PriceText, Ticker, TokenText, iso
from tickyard.market.swaps.charts import Chart
from tickyard.market.swaps.quoting import PAIR, VENUE, FeeTier

_REUSE_S = 5


class MarketsAsk(Ask):
    venue: Annotated[Literal["dex-v3"], Meta(description="The one there is.")] = "dex-v3"
    limit: Annotated[int, Meta(ge=1, le=200, examples=[50], description="Pools at most.")] = 50
    offset: Annotated[int, Meta(ge=0, le=1_000_000, examples=[0], description="Pools to skip.")] = 0


class MarketRow(Answer):
    symbol: Ticker
    pair: Literal["TOKEN/USDG"]
    pool: AddressText
    fee_tier: FeeTier
    price: PriceText | None
    usdg_liquidity: MoneyText
    token_liquidity: TokenText
    tvl_usd: MoneyText
    depth_usd: MoneyText


class Markets(Answer):
    venue: Literal["dex-v3"]
    chain_id: ChainId
    count: Annotated[int, Meta(examples=[50])]
    total: Annotated[int, Meta(examples=[300])]
    markets: list[MarketRow]
    as_of: Moment


async def list_markets(deps: Deps, ask: MarketsAsk) -> Kept[Markets]:
    """List every TOKEN/USDG pool, the deepest first, all read at one block. `depthUsd` is the USDG that moves the
    price by 1 % over the ticks that are really there, the smaller of both directions; `tvlUsd` is information, since
    balances can be faked. A pool without liquidity in range has a null price. `asOf` is the time of the block.

    Freshness: read from the chain's newest block, reused for at most 5 s.
    Advice: For the pools of one token use get_stats.
    """
    market = deps.market
    owned = [
        (asset.symbol, pool)
        for asset in market.registry.all()
        if asset.address
        for pool in market.pools.of(asset.address)
    ]
    pools = [pool for _, pool in owned]
    reading = await market.look(pools)
    ranked = sorted(
        zip(owned, reading.charts, strict=True), key=lambda pair: (-pair[1].spot.depth, pair[0][0], pair[0][1].fee)
    )
    rows = [_row(symbol, chart) for (symbol, _), chart in ranked[ask.offset : ask.offset + ask.limit]]
    answer = Markets(
        venue=VENUE,
        chain_id=deps.settings.chain_id,
        count=len(rows),
        total=len(ranked),
        markets=rows,
        as_of=iso(reading.at),
    )
    return Kept(answer, _REUSE_S)


def _row(symbol: Symbol, chart: Chart) -> MarketRow:
    spot, price = chart.spot, chart.spot.price
    return MarketRow(
        symbol=symbol,
        pair=PAIR,
        pool=checksum(spot.pool.address),
        fee_tier=spot.pool.fee,
        price=price.text() if price is not None else None,
        usdg_liquidity=chart.usdg.text(),
        token_liquidity=chart.tokens.text(),
        tvl_usd=chart.tvl.text(),
        depth_usd=spot.depth.text(),
    )
