"""Our swap math against the real pool and quoter bytecode, to the base unit.

Twice: on the sandbox's market, read as the service would read it, and on pools whose storage is written
directly, so that any state can be had: gaps, dust, a price exactly on a tick, the ends of all prices.
"""

import asyncio
import json
import random
import re

import pytest

from tickyard.chain.v3.math import HIGHEST_LIMIT, LOWEST_LIMIT, PoolState, swap
from tickyard.chain.v3.ticks import MAX_TICK, MIN_TICK, sqrt_ratio_at
from tickyard.kernel.clock import WallClock
from tickyard.sandbox.node.abi import call_data, encode, keccak, words
from tickyard.sandbox.node.process import Node, NodeError, find_root
from tickyard.sandbox.world.place import QUOTER, USDG

pytestmark = pytest.mark.node

SPACINGS = {100: 1, 500: 10, 3000: 60, 10_000: 200, 54_321: 16_383}
SENDER = "0x" + "5e" * 20
# Answers 1 to whatever it is asked: a balance for the pool, and a transfer that went well.
YES = "0x60015f5260205ff3"
# The node remembers every instruction of a call, some 2 MB per word walked: longer walks get a limit.
LONGEST_WALK_WORDS = 60
UNLOCKED, ONE_OBSERVATION = 1 << 240, (1 << 200) | (1 << 216)


class Lab:
    """A factory, a quoter, and as many pools in as many states as a test wants."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self._tokens = 0

    @classmethod
    async def build(cls, node: Node) -> "Lab":
        lab = cls(node)
        await node.call("hardhat_impersonateAccount", [SENDER])
        packages = find_root() / "node_modules" / "@uniswap"
        core, periphery = (
            packages / "v3-core/artifacts/contracts",
            packages / "v3-periphery/artifacts/contracts",
        )
        lab.factory = await lab._create(core / "UniswapV3Factory.sol/UniswapV3Factory.json")
        lab.quoter = await lab._create(periphery / "lens/QuoterV2.sol/QuoterV2.json", encode(lab.factory, SENDER))
        for fee in (100, 54_321):
            await lab._send(lab.factory, call_data("enableFeeAmount(uint24,int24)", fee, SPACINGS[fee]))
        return lab

    async def _create(self, artifact, arguments=b""):
        code = json.loads(artifact.read_text())["bytecode"]
        return (await self._send(None, code + arguments.hex()))["contractAddress"]

    async def _send(self, to, data):
        transaction = {"from": SENDER, "data": data, "gas": hex(30_000_000), "gasPrice": "0x0"} | (
            {"to": to} if to else {}
        )
        receipt = await self.node.call(
            "eth_getTransactionReceipt", [await self.node.call("eth_sendTransaction", [transaction])]
        )
        assert receipt["status"] == "0x1"
        return receipt

    async def place(self, pool: PoolState, protocol_fee: int = 0):
        """A pool in just this state; its two tokens in order."""
        tokens = [f"0x{self._tokens + i:040x}" for i in (0x10001, 0x10002)]
        self._tokens += 2
        await self.node.batch([("hardhat_setCode", [token, YES]) for token in tokens])
        await self._send(self.factory, call_data("createPool(address,address,uint24)", *tokens, pool.fee))
        found = await ask(self.node, self.factory, "getPool(address,address,uint24)", *tokens, pool.fee)
        address = f"0x{found[0]:040x}"
        slot0 = pool.sqrt_price_x96 | (pool.tick % 2**24) << 160 | ONE_OBSERVATION | protocol_fee << 232 | UNLOCKED
        storage, bitmap = {0: slot0, 4: pool.liquidity}, {}
        for tick, net in pool.ticks:
            storage[_key(tick, 5)] = abs(net) | (net % 2**128) << 128
            place = tick // pool.tick_spacing
            bitmap[place >> 8] = bitmap.get(place >> 8, 0) | 1 << (place & 255)
        storage |= {_key(word, 6): bits for word, bits in bitmap.items()}
        await self.node.batch(
            [("hardhat_setStorageAt", [address, hex(slot), f"0x{value:064x}"]) for slot, value in storage.items()]
        )
        return tokens


async def ask(node, to, signature, *arguments):
    call = {"to": to, "data": call_data(signature, *arguments)}
    return words(await node.call("eth_call", [call, "latest"]))


async def ask_each(node, to, signature, keys):
    calls = [{"to": to, "data": call_data(signature, key)} for key in keys]
    return [words(result) for result in await node.batch([("eth_call", [call, "latest"]) for call in calls])]


async def quote(node, quoter, tokens, fee, zero_for_one, amount, limit):
    """Open amount, price after, ticks crossed; None when the quoter reverts."""
    source, target = tokens if zero_for_one else reversed(tokens)
    name = "quoteExactInputSingle" if amount > 0 else "quoteExactOutputSingle"
    signature = f"{name}((address,address,uint256,uint24,uint160))"
    try:
        return (await ask(node, quoter, signature, source, target, abs(amount), fee, limit))[:3]
    except NodeError as error:
        if "revert" not in str(error):
            raise
        return None


async def read_pool(node, address, fee) -> PoolState:
    """A pool as it stands, with every tick within 30,000 of the price."""
    price, tick = (await ask(node, address, "slot0()"))[:2]
    tick = signed(tick)
    liquidity, spacing = [(await ask(node, address, view))[0] for view in ("liquidity()", "tickSpacing()")]
    reach = range((tick - 30_000) // spacing >> 8, ((tick + 30_000) // spacing >> 8) + 1)
    bitmap = await ask_each(node, address, "tickBitmap(int16)", reach)
    at = [
        ((word << 8) + bit) * spacing
        for word, (bits,) in zip(reach, bitmap, strict=True)
        for bit in range(256)
        if bits >> bit & 1
    ]
    infos = await ask_each(node, address, "ticks(int24)", at)
    ticks = tuple((tick, signed(info[1])) for tick, info in zip(at, infos, strict=True))
    # Nothing was missed: what is in range adds up to the pool's own figure, and all of it to zero.
    assert sum(net for place, net in ticks if place <= tick) == liquidity
    assert sum(net for _, net in ticks) == 0
    return PoolState(price, tick, liquidity, fee, spacing, ticks)


def signed(word: int) -> int:
    return word - 2**256 if word >> 255 else word


def _key(key: int, slot: int) -> int:
    return int.from_bytes(keccak(encode(key, slot)), "big")


async def in_lab(folder, work):
    """Run `work(lab)` on a node of its own."""
    async with await Node.start(chain_id=4663, now=WallClock().now(), run_dir=folder) as node:
        return await work(await Lab.build(node))


def quoter_crossings(pool: PoolState, before: int, after: int) -> int:
    """The quoter's own count: set bits between two ticks, whose places it finds by cutting towards zero."""
    places = [abs(tick) // pool.tick_spacing * (1 if tick >= 0 else -1) for tick in (before, after)]
    initialised = {tick // pool.tick_spacing for tick, _ in pool.ticks}
    count = sum(min(places) <= place <= max(places) for place in initialised)
    if after < before and after % pool.tick_spacing == 0:
        count -= places[1] in initialised
    if before < after and before % pool.tick_spacing == 0:
        count -= places[0] in initialised
    return count


def random_pool(seeded: random.Random) -> PoolState:
    fee = seeded.choice(list(SPACINGS))
    spacing = SPACINGS[fee]
    last = MAX_TICK // spacing
    reach = seeded.choice([4, 50, 700, 4000])
    centre = max(-last, min(last, seeded.choice([0, seeded.randint(-2000, 2000), seeded.randint(-last, last)])))
    net = {}
    for _ in range(seeded.randint(1, 8)):
        low, high = sorted(max(-last, min(last, centre + seeded.randint(-reach, reach))) for _ in range(2))
        if seeded.random() < 0.1:
            low, high = -last, last
        if low == high:
            continue
        size = seeded.randint(1, 1 << seeded.choice([4, 20, 45, 70, 100]))
        net[low * spacing] = net.get(low * spacing, 0) + size
        net[high * spacing] = net.get(high * spacing, 0) - size
    tick = max(-last, min(last - 1, centre + seeded.randint(-reach, reach) // 2)) * spacing + seeded.randrange(spacing)
    price = seeded.choice([sqrt_ratio_at(tick), seeded.randrange(sqrt_ratio_at(tick), sqrt_ratio_at(tick + 1))])
    if seeded.random() < 0.2:
        tick = tick // spacing * spacing
        price, tick = sqrt_ratio_at(tick), tick - 1
    return PoolState(price, tick, sum(n for t, n in net.items() if t <= tick), fee, spacing, tuple(sorted(net.items())))


def random_ask(seeded: random.Random, pool: PoolState):
    """Direction, signed amount and limit: from one unit to beyond all that the pool can fill."""
    zero_for_one = seeded.random() < 0.5
    is_input = seeded.random() < 0.5
    all_of_it = swap(pool, zero_for_one=zero_for_one, amount=2**255 - 1)
    size = max(all_of_it.amount_in if is_input else all_of_it.amount_out, 1)
    part = seeded.choice([1, seeded.randint(1, 1000), seeded.randint(1, size), 1 + size // seeded.randint(1, 10**6)])
    amount = seeded.choice([part, part, part, size, size + 1, 10 * size]) * (1 if is_input else -1)
    limit = None
    if seeded.random() < 0.3:
        limit = limit_at(pool, zero_for_one, seeded.randint(0, 600), seeded.choice([0, 0, 1, -1]))
    after = swap(pool, zero_for_one=zero_for_one, amount=amount, sqrt_price_limit=limit).tick_after
    if abs(after - pool.tick) > LONGEST_WALK_WORDS * 256 * pool.tick_spacing:
        limit = limit_at(pool, zero_for_one, LONGEST_WALK_WORDS * 256, 0)
    return zero_for_one, amount, limit


def limit_at(pool: PoolState, zero_for_one: bool, places: int, offset: int) -> int | None:
    """A price some ticks of the pool's grid ahead, or hard by; None when that is not ahead."""
    tick = (pool.tick // pool.tick_spacing + (-places if zero_for_one else places)) * pool.tick_spacing
    limit = sqrt_ratio_at(max(MIN_TICK, min(MAX_TICK, tick))) + offset
    price = pool.sqrt_price_x96
    is_ahead = LOWEST_LIMIT <= limit < price if zero_for_one else price < limit <= HIGHEST_LIMIT
    return limit if is_ahead else None


async def agree(node, quoter, pool, tokens, zero_for_one, amount, limit):
    """One question to both. True when the quoter had an answer."""
    told = await quote(node, quoter, tokens, pool.fee, zero_for_one, amount, limit or 0)
    ours = swap(pool, zero_for_one=zero_for_one, amount=amount, sqrt_price_limit=limit)
    if told is None:
        # It reverts on an output it cannot fill, and on a swap that moves no token at all.
        assert not ours.is_complete
        assert (amount < 0 and limit is None) or (ours.amount_in, ours.amount_out) == (0, 0)
        return False
    crossings = quoter_crossings(pool, pool.tick, ours.tick_after)
    assert ours.ticks_crossed <= crossings
    assert told == [ours.amount_out if amount > 0 else ours.amount_in, ours.sqrt_price_after, crossings]
    assert ours.is_complete or limit is not None or amount > 0
    return True


@pytest.mark.parametrize("seed", range(6))
def test_a_swap_in_any_state_equals_the_quoter(tmp_path, seed):
    async def compare(lab):
        seeded = random.Random(seed)
        answered = 0
        for _ in range(12):
            pool = random_pool(seeded)
            tokens = await lab.place(pool, protocol_fee=seeded.choice([0, 0x44, 0xAA]))
            for _ in range(10):
                answered += await agree(lab.node, lab.quoter, pool, tokens, *random_ask(seeded, pool))
        return answered

    assert asyncio.run(in_lab(tmp_path, compare)) > 60


def test_a_swap_on_the_market_equals_the_quoter(world):
    """One pool of each tier, shape and token order."""

    async def compare():
        seeded = random.Random(4663)
        kinds = {(pool.fee, pool.shape, pool.token_is_0): pool for pool in world.world.pools}
        answered = 0
        for market in kinds.values():
            if market.shape == "bare":
                continue
            pool = await read_pool(world.node, market.pool, market.fee)
            tokens = (market.token, USDG) if market.token_is_0 else (USDG, market.token)
            for _ in range(12):
                answered += await agree(world.node, QUOTER, pool, tokens, *random_ask(seeded, pool))
        assert {fee for fee, _, _ in kinds} == {100, 500, 3000, 10_000}
        return answered

    assert world.run(compare()) > 200


def test_the_factor_of_each_tick_bit_is_the_contracts():
    source = find_root() / "node_modules/@uniswap/v3-core/contracts/libraries/TickMath.sol"
    factors = re.findall(r"absTick & (0x[0-9a-f]+) != 0[^;]*?(0x[0-9a-f]{20,})", source.read_text())
    assert len(factors) == 20
    for bit, factor in factors:
        # A tick of one bit has that bit's factor alone; ticks of several bits are products of these.
        tick = -int(bit, 16)
        assert sqrt_ratio_at(tick) == -(-int(factor, 16) >> 32)
        assert sqrt_ratio_at(-tick) == -(-((2**256 - 1) // int(factor, 16)) >> 32)
