"""A market that never stands still, and the mirror that must follow it: for the proofs of the mirror."""

from dataclasses import dataclass, field

from eth_abi import decode, encode
from eth_utils import keccak

from tickyard.chain.rpc.client import Rpc
from tickyard.config.pinned import MAINNET
from tickyard.kernel.clock import WallClock
from tickyard.market.mirror.mirror import Mirror
from tickyard.market.mirror.offers import fills_of, winning_fills
from tickyard.market.reading import ChainReader
from tickyard.market.swaps.charts import ChartReader
from tickyard.market.swaps.fills import Trade, tied_best
from tickyard.market.swaps.pools import PoolBook
from tickyard.sandbox.node.abi import call_data, words
from tickyard.sandbox.node.process import NodeError
from tickyard.sandbox.node.transact import QueuedCall, send
from tickyard.sandbox.world.listing import by_symbol
from tickyard.sandbox.world.place import FACTORY, QUOTER, ROUTER, TICK_SPACINGS, TRADING_DESK, USDG, mint_step
from tickyard.sandbox.world.wallets import MAKER

LOWEST, HIGHEST = 4295128740, 1461446703485210103287273052203988822378723970341
QUOTES = {
    True: "quoteExactInputSingle((address,address,uint256,uint24,uint160))",
    False: "quoteExactOutputSingle((address,address,uint256,uint24,uint160))",
}


def calldata(signature, *values):
    types = signature.partition("(")[2][:-1]
    return "0x" + (keccak(text=signature)[:4] + encode([types], [values])).hex()


def signed(word):
    return word - 2**256 if word >> 255 else word


class Ahead(WallClock):
    """Every transaction here is a block and every block a second: a chain in such a hurry is soon ahead of the wall."""

    def seconds(self):
        return super().seconds() + 86_400


@dataclass
class Followed:
    """A mirror over a node, stepped by hand. What is confirmed stays fresh: time is not what is tested here."""

    rpc: Rpc
    book: PoolBook
    mirror: Mirror

    @classmethod
    def over(cls, url, fees=(100, 500, 3000, 10000), fresh_s=10**9, **rpc):
        clock = Ahead()
        node = Rpc([url], chain_id=4663, clock=clock, **{"budget_s": 60, "try_s": 60, **rpc})
        reader = ChainReader(node, MAINNET.multicall3, clock)
        book = PoolBook(reader, MAINNET, fees, clock)
        charts = ChartReader(reader, book, MAINNET)
        return cls(node, book, Mirror(node, charts, MAINNET, clock, fresh_s=fresh_s, calls_max=1000, every=book.every))

    def offer(self, token, trade):
        """(block, fills by fee: the open leg), or None while the mirror does not answer."""
        served = self.mirror.serve(self.book.of(token), to_trade=True)
        if served is None:
            return None
        head, charts = served
        fills = fills_of(charts, trade)
        assert tied_best(trade, winning_fills(charts, trade)) == tied_best(trade, fills)
        return head, {fill.before.pool.fee: trade.open_leg(fill) for fill in fills}


@dataclass
class Bustle:
    """Everything that moves pools, at random, on the sandbox's chain."""

    yard: object
    rng: object
    symbols: list
    positions: list = field(default_factory=list)
    """(pool, lower, upper, liquidity) that can be burned."""
    opened: set = field(default_factory=set)
    done: dict = field(default_factory=dict)

    def pools(self):
        return [pool for pool in self.yard.world.pools if pool.symbol in self.symbols and pool.is_live]

    async def call(self, to, signature, *values, sender=MAKER):
        return await send(self.yard.node, sender, QueuedCall(to, call_data(signature, *values)))

    async def view(self, to, signature, *values):
        data = call_data(signature, *values)
        return words(await self.yard.node.call("eth_call", [{"to": to, "data": data}, "latest"]))

    async def act(self):
        """One random thing; its name."""
        name = self.rng.choices(["swap", "mint", "burn", "collect", "open", "donate"], [50, 20, 15, 6, 5, 4])[0]
        try:
            await getattr(self, name)()
        except NodeError:
            name += " refused"
        self.done[name] = self.done.get(name, 0) + 1
        return name

    async def swap(self):
        pool = self.rng.choice(self.pools())
        root = (await self.view(pool.pool, "slot0()"))[0]
        factor = self.rng.choice([1.0001, 1.001, 1.004, 1.02, 1.1, 1.3])
        target = int(root * factor) if self.rng.random() < 0.5 else int(root / factor)
        if self.rng.random() < 0.5:
            await self.call(TRADING_DESK, "trade(address[],uint160[])", [pool.pool], [target])
            return
        amount = self.rng.randint(1, 10 ** self.rng.randint(1, 10)) * self.rng.choice([1, -1])
        goes_down = self.rng.random() < 0.5
        usdg_in = goes_down != pool.token_is_0
        if (amount > 0) != usdg_in:
            amount *= 10**8
        await self._swap_exact(pool, goes_down, amount)

    async def _swap_exact(self, pool, goes_down, amount):
        token_in, token_out = (USDG, pool.token) if goes_down != pool.token_is_0 else (pool.token, USDG)
        name = "exactInputSingle" if amount > 0 else "exactOutputSingle"
        bound = 0 if amount > 0 else 2**255
        await send(self.yard.node, MAKER, mint_step(token_in, MAKER, 10**40))
        await self.call(token_in, "approve(address,uint256)", ROUTER, 2**256 - 1)
        data = calldata(
            f"{name}((address,address,uint24,address,uint256,uint256,uint160))",
            token_in,
            token_out,
            pool.fee,
            MAKER,
            abs(amount),
            bound,
            0,
        )
        await send(self.yard.node, MAKER, QueuedCall(ROUTER, data))

    async def mint(self):
        pool = self.rng.choice(self.pools())
        spacing = TICK_SPACINGS[pool.fee]
        tick = signed((await self.view(pool.pool, "slot0()"))[1])
        below, above = sorted(self.rng.sample(range(-60, 61), 2))
        if self.rng.random() < 0.2:
            below, above = below * 10, above * 10 + 1
        size = self.rng.randint(1, 10 ** self.rng.choice([10, 14, 18]))
        await self.call(TRADING_DESK, "add(address,(int24,int24,uint128)[])", pool.pool, [(below, above, size)])
        # The desk rounds the tick toward zero.
        middle = abs(tick) // spacing * (1 if tick >= 0 else -1)
        self.positions.append((pool.pool, (middle + below) * spacing, (middle + above) * spacing, size))

    async def burn(self):
        if not self.positions:
            return
        index = self.rng.randrange(len(self.positions))
        pool, lower, upper, size = self.positions[index]
        part = self.rng.choice([size, size, max(1, size // 3), 0])
        await self.as_desk(pool, "burn(int24,int24,uint128)", lower, upper, part)
        self.positions[index] = (pool, lower, upper, size - part)
        if size == part:
            self.positions.pop(index)

    async def collect(self):
        if self.positions:
            pool, lower, upper, _ = self.rng.choice(self.positions)
            most = 2**128 - 1
            await self.as_desk(pool, "collect(address,int24,int24,uint128,uint128)", MAKER, lower, upper, most, most)

    async def donate(self):
        """Tokens that nobody asked for: the pool holds more, and stands as before."""
        pool = self.rng.choice(self.pools())
        await self.call(USDG, "mint(address,uint256)", pool.pool, self.rng.randint(1, 10**9))

    async def open(self):
        there = {(pool.symbol, pool.fee) for pool in self.yard.world.pools} | self.opened
        left = [(s, f) for s in self.symbols for f in TICK_SPACINGS if (s, f) not in there]
        if not left:
            return
        symbol, fee = self.rng.choice(left)
        self.opened.add((symbol, fee))
        token = self.yard.world.tokens[symbol]
        price = by_symbol()[symbol].price_e6
        is_0 = int(token, 16) < int(USDG, 16)
        root = int((price / 10**18) ** 0.5 * 2**96) if is_0 else int((10**18 / price) ** 0.5 * 2**96)
        signature = "open(address,address,address,uint24,uint160,(int24,int24,uint128)[])"
        await self.call(TRADING_DESK, signature, FACTORY, token, USDG, fee, root, [(-30, 30, 10**15)])

    async def as_desk(self, pool, signature, *values):
        await self.yard.node.call("hardhat_impersonateAccount", [TRADING_DESK])
        await self.call(pool, signature, *values, sender=TRADING_DESK)


def random_trade(rng):
    side, denom = rng.choice(["buy", "sell"]), rng.choice(["usd", "token"])
    size = rng.choice([1, 2, rng.randint(1, 10**4), rng.randint(10**4, 10**8), rng.randint(10**8, 10**12), 10**18])
    if denom == "token" and rng.random() < 0.8:
        size *= 10**9
    places = 6 if denom == "usd" else 18
    digits = str(size).rjust(places + 1, "0")
    return Trade.parse(side, denom, f"{digits[:-places]}.{digits[-places:]}")


async def asked(node, book, token, trade):
    """The quoter's own complete fills at the newest block, through somebody else's codec: {fee: open leg}."""
    is_in = trade.mode.value == "exactIn"
    token_in, token_out = (USDG, token) if trade.side.value == "buy" else (token, USDG)
    told = {}
    for pool in book.of(token):
        state = [{"to": pool.address, "data": call_data(view)} for view in ("slot0()", "liquidity()")]
        slot0, liquidity = await node.batch([("eth_call", [call, "latest"]) for call in state])
        root = words(slot0)[0]
        if not root or not words(liquidity)[0]:
            continue
        goes_down = pool.token_is_0 == (trade.side.value == "sell")
        limit = max(root // 4, LOWEST) if goes_down else min(root * 4, HIGHEST)
        data = calldata(QUOTES[is_in], token_in, token_out, int(trade.fixed), pool.fee, limit)
        try:
            result = await node.call("eth_call", [{"to": QUOTER, "data": data}, "latest"])
        except NodeError:
            continue
        amount, after, _, _ = decode(["uint256", "uint160", "uint32", "uint256"], bytes.fromhex(result[2:]))
        if after != limit and amount:
            told[pool.fee] = amount
    return told
