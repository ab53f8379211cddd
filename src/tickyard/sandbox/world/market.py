"""The sandbox's pools: where they are, at which price they open, how their positions lie, how they stand."""

from collections.abc import Sequence
from dataclasses import dataclass

from tickyard.kernel.ids import Address
from tickyard.kernel.units import Price
from tickyard.sandbox.node.abi import call_data, create2_address, encode, keccak, words
from tickyard.sandbox.node.process import Node
from tickyard.sandbox.node.transact import QueuedCall
from tickyard.sandbox.world.listing import Listed, PoolPlan, Shape
from tickyard.sandbox.world.place import FACTORY, TICK_SPACINGS, TRADING_DESK, USDG
from tickyard.sandbox.world.spot import depth_e6, liquidity_for, price_at, sqrt_price
from tickyard.sandbox.world.walk import sway

POOL_CODE_HASH = bytes.fromhex("e34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54")

# The desk takes more, but the node's memory follows the length of a call.
_LOOKED_AT_ONCE = 64

# Ticks below and above the price, and the share of the pool's liquidity in percent. 100 ticks are 1 %.
_SHAPES: dict[Shape, tuple[tuple[int, int, int], ...]] = {
    "deep": ((-6_000, 6_000, 30), (-1_200, 1_200, 40), (-600, 600, 30)),
    "layered": ((-8_000, 8_000, 25), (-2_000, 800, 25), (-800, 2_000, 25), (-400, 400, 25)),
    "wide": ((-20_000, 20_000, 40), (-9_000, 9_000, 30), (-4_000, 4_000, 30)),
    "thin": ((-20_000, 20_000, 40), (-9_000, 9_000, 30), (-4_000, 4_000, 30)),
    "away": ((1_000, 3_000, 100), (3_000, 6_000, 100), (-6_000, -1_000, 100)),
    "bare": (),
}


@dataclass(frozen=True, slots=True)
class SandboxPair:
    """One pool of one listed token against USDG."""

    symbol: str
    pool: Address
    token: Address
    fee: int
    shape: Shape
    token_is_0: bool

    @property
    def is_live(self) -> bool:
        """Planned with liquidity in range."""
        return self.shape not in ("away", "bare")


@dataclass(frozen=True, slots=True)
class Spot:
    """How one pool stands at one block."""

    market: SandboxPair
    sqrt_x96: int
    liquidity: int

    @property
    def is_usable(self) -> bool:
        return self.sqrt_x96 > 0 and self.liquidity > 0

    @property
    def price(self) -> Price:
        return price_at(self.sqrt_x96, token_is_0=self.market.token_is_0)

    @property
    def depth_e6(self) -> int:
        return depth_e6(self.sqrt_x96, self.liquidity, token_is_0=self.market.token_is_0)


async def read_spots(node: Node, markets: Sequence[SandboxPair]) -> list[Spot]:
    """Price and in-range liquidity of many pools. Nobody else trades while the sandbox's own hands do."""
    parts = [markets[first : first + _LOOKED_AT_ONCE] for first in range(0, len(markets), _LOOKED_AT_ONCE)]
    calls = [call_data("look(address[])", [market.pool for market in part]) for part in parts]
    answers = await node.batch([("eth_call", [{"to": TRADING_DESK, "data": data}, "latest"]) for data in calls])
    spots = []
    for part, answer in zip(parts, answers, strict=True):
        _, _, *flat = words(answer)
        spots += [Spot(market, flat[2 * i], flat[2 * i + 1]) for i, market in enumerate(part)]
    return spots


def pool_address(token: str, fee: int) -> Address:
    low, high = sorted((token.lower(), USDG), key=lambda address: int(address, 16))
    return create2_address(FACTORY, keccak(encode(low, high, fee)), POOL_CODE_HASH)


def market_of(listed: Listed, plan: PoolPlan) -> SandboxPair:
    assert listed.address
    is_0 = int(listed.address, 16) < int(USDG, 16)
    return SandboxPair(
        listed.symbol, pool_address(listed.address, plan.fee), listed.address, plan.fee, plan.shape, is_0
    )


def opening_price(listed: Listed, plan: PoolPlan, mid_e6: int) -> Price:
    """Near the token's worth but not at it: within 0.4 %."""
    fair = Price(mid_e6 * listed.multiplier_e18, 10**24)
    return fair.times(Price(100_000 + sway(400, listed.symbol, plan.fee, "opening"), 100_000))


def open_step(listed: Listed, plan: PoolPlan, mid_e6: int) -> QueuedCall:
    """One transaction of the desk: create, initialise, fill."""
    market = market_of(listed, plan)
    if plan.shape == "bare":
        root, rows = 0, []
    else:
        root = sqrt_price(opening_price(listed, plan, mid_e6), token_is_0=market.token_is_0)
        rows = positions(market.fee, plan.shape, _liquidity(market, plan.depth_usd * 10**6, root))
    signature = "open(address,address,address,uint24,uint160,(int24,int24,uint128)[])"
    return QueuedCall(TRADING_DESK, call_data(signature, FACTORY, market.token, USDG, plan.fee, root, rows))


def refill_step(spot: Spot, depth: int) -> QueuedCall:
    """Fresh positions around a price that has left the old ones behind."""
    rows = positions(spot.market.fee, "wide", _liquidity(spot.market, depth, spot.sqrt_x96))
    return QueuedCall(TRADING_DESK, call_data("add(address,(int24,int24,uint128)[])", spot.market.pool, rows))


def positions(fee: int, shape: Shape, liquidity: int) -> list[tuple[int, int, int]]:
    """Rows for the desk: tick spacings below and above the price, and liquidity."""
    spacing = TICK_SPACINGS[fee]
    return [
        (below // spacing, -(-above // spacing), liquidity * share // 100) for below, above, share in _SHAPES[shape]
    ]


def _liquidity(market: SandboxPair, depth: int, sqrt_x96: int) -> int:
    return liquidity_for(depth, sqrt_x96, token_is_0=market.token_is_0)
