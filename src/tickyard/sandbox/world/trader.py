"""What happens in the market: trades that follow the walk, and the hands of whoever plays with the sandbox."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby

from tickyard.kernel.errors import BadRequest, NoLiquidity, NotFound
from tickyard.kernel.ids import Address
from tickyard.kernel.units import Amount, Price, TokenAmount, UsdgAmount
from tickyard.sandbox.node.abi import call_data, words
from tickyard.sandbox.node.process import Node, NodeError
from tickyard.sandbox.node.transact import QueuedCall, send
from tickyard.sandbox.world import place
from tickyard.sandbox.world.listing import by_symbol
from tickyard.sandbox.world.market import SandboxPair, Spot, read_spots, refill_step
from tickyard.sandbox.world.place import mint_step
from tickyard.sandbox.world.spot import sqrt_price
from tickyard.sandbox.world.walk import draw, mid_e6, sway
from tickyard.sandbox.world.world import World

# The node keeps a trace of every instruction: a few small transactions are cheaper to it than a large one.
_SWAPS_PER_TRANSACTION = 10
# Its states stay with it, some 20 KB a swap: with so many, two hours of a laptop's market are a sixth of its memory.
_DEEPEST_PER_ROUND = 30
_OTHERS_PER_ROUND = 8
_NOISE_BPS = 12
# The pool's own limits, exclusive.
_SQRT_MIN = 4295128739
_SQRT_MAX = 1461446703485210103287273052203988822378723970342


async def trade_round(node: Node, world: World, moment: datetime, seed: int) -> int:
    """Pull a drawn part of the pools near their tokens' worth; returns how many were traded."""
    markets = [market for market in world.pools if market.is_live and market.symbol not in world.held]
    spots = [spot for spot in await read_spots(node, markets) if spot.is_usable]
    deepest, others = _split(spots)
    chosen = [*_drawn(deepest, _DEEPEST_PER_ROUND, seed), *_drawn(others, _OTHERS_PER_ROUND, seed)]
    for first in range(0, len(chosen), _SWAPS_PER_TRANSACTION):
        part = chosen[first : first + _SWAPS_PER_TRANSACTION]
        await send(node, world.maker, _trade_step(part, [_aim(world, spot, moment, seed) for spot in part]))
    return len(chosen)


def _split(spots: Iterable[Spot]) -> tuple[list[Spot], list[Spot]]:
    """Each symbol's deepest pool, and all the others."""
    deepest: list[Spot] = []
    others: list[Spot] = []
    for _, group in groupby(spots, key=lambda spot: spot.market.symbol):
        first, *rest = sorted(group, key=lambda spot: spot.depth_e6, reverse=True)
        deepest.append(first)
        others += rest
    return deepest, others


def _drawn(spots: Sequence[Spot], count: int, seed: int) -> list[Spot]:
    return sorted(spots, key=lambda spot: draw(seed, spot.market.pool))[:count]


def _aim(world: World, spot: Spot, moment: datetime, seed: int) -> int:
    """Near the token's worth, but never quite at it."""
    listed = by_symbol()[spot.market.symbol]
    worth = Price(mid_e6(listed, moment) * world.multiplier_e18(listed, moment), 10**24)
    noise = sway(_NOISE_BPS * 10, seed, spot.market.pool, "noise") or 1
    return sqrt_price(worth.times(Price(100_000 + noise, 100_000)), token_is_0=spot.market.token_is_0)


def _trade_step(spots: Sequence[Spot], limits: Sequence[int]) -> QueuedCall:
    pools = [spot.market.pool for spot in spots]
    return QueuedCall(place.TRADING_DESK, call_data("trade(address[],uint160[])", pools, limits))


async def move_price(node: Node, world: World, symbol: str, price_e6: int) -> tuple[Address, Price]:
    """Trade the symbol's deepest pool to this price; returns the pool and the price it then has.

    The pool stays the deepest: where the move leaves its liquidity behind, the maker adds as much as it had.
    """
    if symbol not in by_symbol():
        raise NotFound(f"no asset with symbol {symbol}")
    before = await deepest_spot(node, [market for market in world.pools if market.symbol == symbol])
    target = sqrt_price(Price(price_e6, 10**6), token_is_0=before.market.token_is_0) if price_e6 > 0 else 0
    if not _SQRT_MIN < target < _SQRT_MAX:
        raise BadRequest("price is outside of what a pool can hold")
    await send(node, world.maker, _trade_step([before], [target]))
    [after] = await read_spots(node, [before.market])
    if after.sqrt_x96 != target:
        raise NoLiquidity(f"the pool of {symbol} cannot trade now")
    if after.depth_e6 < before.depth_e6:
        missing = before.depth_e6 - after.depth_e6
        await send(node, world.maker, refill_step(after, missing + missing // 100 + 1))
    return after.market.pool, after.price


async def deepest_spot(node: Node, markets: Sequence[SandboxPair]) -> Spot:
    usable = [spot for spot in await read_spots(node, markets) if spot.is_usable] if markets else []
    if not usable:
        raise NoLiquidity("this asset has no pool with liquidity")
    return max(usable, key=lambda spot: spot.depth_e6)


async def fund(node: Node, world: World, address: str, asset: str, amount: str) -> str:
    """Give somebody more of ETH, USDG, SERVICE or a listed symbol; returns the balance after."""
    if asset == "ETH":
        balance = int(await node.call("eth_getBalance", [address, "latest"]), 16) + TokenAmount.parse(amount)
        await node.call("hardhat_setBalance", [address, hex(balance)])
        return TokenAmount(balance).text()
    token, unit = _token(world, asset)
    await send(node, world.maker, mint_step(token, address, unit.parse(amount)))
    return unit(await balance_of(node, token, address)).text()


def _token(world: World, asset: str) -> tuple[str, type[Amount]]:
    if asset == "USDG":
        return place.USDG, UsdgAmount
    if asset == "SERVICE":
        return place.SERVICE_TOKEN, TokenAmount
    if asset not in world.tokens:
        raise NotFound(f"no token for {asset} on this chain")
    return world.tokens[asset], TokenAmount


async def balance_of(node: Node, token: str, address: str) -> int:
    data = call_data("balanceOf(address)", address)
    return words(await node.call("eth_call", [{"to": token, "data": data}, "latest"]))[0]


async def follow_clock(node: Node, now: datetime) -> None:
    """Bring the chain's time up to `now` with an empty block. Never backwards: a chain cannot."""
    wanted = int(now.timestamp())
    if await _block_time(node) >= wanted:
        return
    try:
        await node.call("evm_mine", [wanted])
    except NodeError:
        # Somebody's transaction may have mined a later block between the two calls.
        if await _block_time(node) < wanted:
            raise


async def _block_time(node: Node) -> int:
    block = await node.call("eth_getBlockByNumber", ["latest", False])
    return int(block["timestamp"], 16)
