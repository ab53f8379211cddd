"""How much of a token can change hands before its price has moved: per pool, and all pools together."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Final

from msgspec import Meta

from tickyard.chain.address import checksum
from tickyard.chain.v3.depth import Move, largest_trade, to_move
from tickyard.chain.v3.quoter import price_limit
from tickyard.deps import Deps
from tickyard.kernel.operation import Kept
from tickyard.kernel.units import TokenAmount, UsdgAmount, percent_text
from tickyard.kernel.wire import (
    AddressText,
    Answer,
    Ask,
    ChainId,
    Moment,
    MoneyText,
    PriceText,
    SymbolField,
    Ticker,
    TokenText,
    iso,
)
from tickyard.market.swaps.charts import TENTH, Chart
from tickyard.market.swaps.pools import PoolSpot
from tickyard.market.swaps.quoting import BlockNumber, FeeTier

MOVES_BPS: Final = (10, 50, 100, 200, 500, 1000)
_REUSE_S: Final = 1


class DepthAsk(Ask):
    symbol: SymbolField
    max_impact_bps: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=5000,
                examples=[100],
                description="Also tell the largest trade whose price is at most so much worse; 100 is 1 %.",
            ),
        ]
        | None
    ) = None


class PriceMove(Answer):
    move_pct: Annotated[str, Meta(examples=["1.0000"], description="By how many percent the price moves.")]
    usdg: MoneyText
    tokens: TokenText


class PoolDepth(Answer):
    pool: AddressText
    fee_tier: FeeTier
    price: PriceText | None
    depth_usd: MoneyText
    up: list[PriceMove]
    down: list[PriceMove]


class AllDepth(Answer):
    up: list[PriceMove]
    down: list[PriceMove]


class LargestTrade(Answer):
    buy_usd: Annotated[MoneyText, Meta(description="The most USDG that may be spent in one trade.")]
    sell_tokens: Annotated[TokenText, Meta(description="The most tokens that may be sold in one trade.")]


class Depth(Answer):
    symbol: Ticker
    chain_id: ChainId
    block_number: BlockNumber
    as_of: Moment
    pools: list[PoolDepth]
    all: AllDepth
    largest: LargestTrade | None


async def get_depth(deps: Deps, ask: DepthAsk) -> Kept[Depth]:
    """Show what it takes to move one token's price by 0.1 to 10 %, up and down, in every pool and in all of them
    together, over the liquidity that is really there, exact, all at one block. With `maxImpactBps` also the largest
    trade in one pool whose average price, fee included, is at most so much worse than the pool's price before it; zero
    where its tokens do not move, because they are paused or the pool is blocked.
    `depthUsd` is the smaller of both directions at 1 %.

    Freshness: of the chain's newest block, reused for at most a second; asOf is the block's time.
    Advice: For the price of one trade use get_quote.
    """
    asset = deps.market.registry.find(ask.symbol)
    pools = deps.market.pools.of(asset.address) if asset.address is not None else ()
    if ask.max_impact_bps is None:
        head, charts = await deps.market.look_at_block(pools, reach=TENTH)
        largest = None
    else:
        head, looked = await deps.market.look_to_trade(pools)
        charts = [chart for chart, _ in looked]
        largest = _largest([chart for chart, can_trade in looked if can_trade], ask.max_impact_bps)
    spots = [chart.spot for chart in charts]
    shown = [_pool(spot) for spot in spots]
    answer = Depth(
        symbol=asset.symbol,
        chain_id=deps.settings.chain_id,
        block_number=head.number,
        as_of=iso(head.at),
        pools=shown,
        all=AllDepth(up=_together(spots, 1), down=_together(spots, -1)),
        largest=largest,
    )
    return Kept(answer, _REUSE_S)


def _pool(spot: PoolSpot) -> PoolDepth:
    return PoolDepth(
        pool=checksum(spot.pool.address),
        fee_tier=spot.pool.fee,
        price=spot.price.text() if spot.price is not None else None,
        depth_usd=spot.depth.text(),
        up=_together([spot], 1),
        down=_together([spot], -1),
    )


def _together(spots: Sequence[PoolSpot], sign: int) -> list[PriceMove]:
    return [_shown(bps, [_move(spot, sign * bps) for spot in spots]) for bps in MOVES_BPS]


def _move(spot: PoolSpot, bps: int) -> Move:
    if not spot.is_usable or spot.curve is None:
        return Move(0, 0)
    return to_move(spot.curve, bps, token_is_0=spot.pool.token_is_0)


def _shown(bps: int, moves: Sequence[Move]) -> PriceMove:
    return PriceMove(
        move_pct=percent_text(bps, 10_000),
        usdg=UsdgAmount(sum(move.usdg for move in moves)).text(),
        tokens=TokenAmount(sum(move.tokens for move in moves)).text(),
    )


def _largest(charts: Iterable[Chart], bps: int) -> LargestTrade:
    """A trade goes through one pool: the largest is the largest of any of them."""
    buys, sells = [0], [0]
    for chart in charts:
        spot = chart.spot
        if spot.is_usable and spot.curve is not None:
            is_0 = spot.pool.token_is_0
            for amounts, is_buy, held in ((buys, True, chart.tokens), (sells, False, chart.usdg)):
                limit = price_limit(spot.sqrt_price_x96, is_0 != is_buy)
                most = largest_trade(spot.curve, bps, limit, token_is_0=is_0, is_buy=is_buy, payable=held)
                amounts.append(most)
    return LargestTrade(buy_usd=UsdgAmount(max(buys)).text(), sell_tokens=TokenAmount(max(sells)).text())
