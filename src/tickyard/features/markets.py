"""Every pool, the deepest first."""

from typing import Annotated, Literal

from msgspec import Meta

from tickyard.chain.address import checksum
from tickyard.deps import Deps
from tickyard.kernel.ids import Symbol
from tickyard.kernel.operation import Kept
from tickyard.kernel.wire import AddressText, Answer, Ask, ChainId, Moment, MoneyText, PriceText, Ticker, TokenText, iso
from tickyard.market.poolviews import PoolView, read_views, view_calls
from tickyard.market.quoting import PAIR, VENUE, FeeTier

_REUSE_S = 5


class MarketsAsk(Ask):
    venue: Literal["dex-v3"] = "dex-v3"
    limit: Annotated[int, Meta(ge=1, le=200, examples=[50])] = 50
    offset: Annotated[int, Meta(ge=0, le=1_000_000, examples=[0])] = 0


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
    price by 1 % within the active range; `tvlUsd` is information, since balances can be faked. A pool without
    liquidity in range has a null price. `asOf` is the time of the block.

    Freshness: read from the chain's newest block, reused for at most 5 s; asOf is the block's time.
    Limits: at most 200 pools a call, more with `offset`.
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
    reading = await market.read(view_calls(pools, deps.settings.contracts))
    views = read_views(pools, market.pools, reading.results)
    ranked = sorted(zip(owned, views, strict=True), key=lambda pair: (-_depth(pair[1]), pair[0][0], pair[0][1].fee))
    rows = [_row(symbol, view) for (symbol, _), view in ranked[ask.offset : ask.offset + ask.limit]]
    answer = Markets(
        venue=VENUE,
        chain_id=deps.settings.chain_id,
        count=len(rows),
        total=len(ranked),
        markets=rows,
        as_of=iso(reading.at),
    )
    return Kept(answer, _REUSE_S)


def _depth(view: PoolView) -> int:
    return view.state.depth if view.state.is_usable else 0


def _row(symbol: Symbol, view: PoolView) -> MarketRow:
    state, price = view.state, view.state.price
    return MarketRow(
        symbol=symbol,
        pair=PAIR,
        pool=checksum(state.pool.address),
        fee_tier=state.pool.fee,
        price=price.text() if price is not None else None,
        usdg_liquidity=view.usdg.text(),
        token_liquidity=view.tokens.text(),
        tvl_usd=view.tvl.text(),
        depth_usd=state.depth.text(),
    )
