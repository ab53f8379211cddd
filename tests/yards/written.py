"""A chain that a test writes down, and a mirror over it: no node, no sockets, and time by hand."""

import asyncio
from collections import Counter
from datetime import UTC, datetime
from types import SimpleNamespace

from eth_abi import decode, encode

from tickyard.chain.rpc.client import Head
from tickyard.chain.v3.bitmap import TickLiquidity
from tickyard.chain.v3.math import PoolState
from tickyard.chain.v3.ticks import sqrt_ratio_at
from tickyard.config.pinned import MAINNET
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.kernel.units import TokenAmount, UsdgAmount
from tickyard.market.mirror.mirror import Mirror
from tickyard.market.swaps.charts import Chart, Crowded
from tickyard.market.swaps.pools import Pool, PoolSpot

SIZE, PRICE = 10**18, sqrt_ratio_at(30) + 12_345
SPAN = range(-40_000, 40_001)
FRESH_S = 3.0


def pool(number):
    return Pool(Address(f"0x{number:040x}"), Address(f"0x{0xFFFF + number:040x}"), 3000, token_is_0=True, spacing=60)


def block(number, branch=0, at=None):
    return Head(number, f"0x{branch:02x}{number:062x}", 1_000_000 + number if at is None else at)


class Clock:
    now = 5_000.0

    def monotonic(self):
        return self.now

    async def sleep(self, seconds):
        self.now += seconds


class World:
    """A node, its logs, and whoever reads pools from nothing."""

    def __init__(self):
        self.clock = Clock()
        self.block = block(10)
        self.usdg, self.tokens = Counter(), Counter()
        self.moved = {}
        """Pools whose price is another: their root and tick."""
        self.nonsense = set()
        self.deadlines = []
        self.frozen, self.crowded, self.failing, self.extra_ticks = set(), set(), set(), set()
        self.logs, self.log_reads, self.witnessed, self.built, self.forgotten = [], [], [], [], []
        self.time_says = self.meanwhile = None
        self.built_at = None
        self.build_s = 0.0
        self.every = []
        self.mirror = Mirror(self, self, MAINNET, self.clock, fresh_s=FRESH_S, calls_max=1000, every=lambda: self.every)
        self.mirror._logs = SimpleNamespace(read=self._read_logs)

    def step(self):
        return asyncio.run(self.mirror.step())

    def serves(self, *pools, **how):
        served = self.mirror.serve(pools, **how)
        if served is not None:
            assert [chart.spot.pool for chart in served[1]] == list(pools)
        return None if served is None else served[0].number

    async def head(self, *, deadline):
        self.deadlines.append(deadline - self.clock.now)
        return self.block

    async def _read_logs(self, pools, since, head, until):
        self.log_reads.append((list(pools), since.number, head.number))
        return self.logs

    async def eth_call(self, to, data, *, block, deadline):
        assert (to, block) == (MAINNET.multicall3, self.block.hash)
        self.deadlines.append(deadline - self.clock.now)
        [calls] = decode(["(address,bool,bytes)[]"], bytes.fromhex(data[8:]))
        if self.meanwhile is not None:
            self.meanwhile()
        return encode(["(bool,bytes)[]"], [[self._told(Address(to), data) for to, _, data in calls]])

    def _told(self, to, data):
        name, argument = data[:4].hex(), int.from_bytes(data[4:36], "big", signed=True) if len(data) == 36 else None
        if name == "0f28c97d":
            return True, self._word(self.block.timestamp if self.time_says is None else self.time_says)
        if name == "3850c7bd":
            self.witnessed.append(to)
            root, tick = self.moved.get(to, (PRICE, 30))
            return True, b"" if to in self.nonsense else b"".join(map(self._word, (root, tick, 0, 1, 1, 0, 1)))
        if name == "70a08231":
            which = self.usdg if to == MAINNET.usdg else self.tokens
            return True, self._word(SIZE + which[f"0x{argument:040x}"])
        if name == "23b872dd":
            return ("0x" + data[16:36].hex()) not in self.frozen, self._word(1)
        if name in ("f3058399", "46141319"):
            return True, self._word(0)
        if name == "f30dba93":
            net = SIZE if argument < 0 else -SIZE
            return True, b"".join(map(self._word, (SIZE, net, 0, 0, 0, 0, 0, 1)))
        if name == "5339c296":
            there = {-10, 10} | self.extra_ticks
            return True, self._word(sum(1 << place % 256 for place in there if place // 256 == argument))
        assert name == "1a686502"
        return True, self._word(SIZE)

    @staticmethod
    def _word(number):
        return (number % 2**256).to_bytes(32, "big")

    async def read_each(self, pools, *, reach, block, extra, ticks_max):
        assert (reach, block, ticks_max, len(extra)) == (27_740, self.block.hash, 1_000, 2 * len(pools))
        self.clock.now += self.build_s
        self.built.append([each.address for each in pools])
        words = [b"" if each.address not in self.frozen else None for each in pools for _ in range(2)]
        at = self.block.timestamp if self.built_at is None else self.built_at
        return [self._chart(each) for each in pools], words, datetime.fromtimestamp(at, UTC)

    def _chart(self, which):
        if which.address in self.crowded:
            return Crowded(which)
        if which.address in self.failing:
            return UpstreamDown("no")
        root, tick = self.moved.get(which.address, (PRICE, 30))
        curve = PoolState(root, tick, SIZE, 3000, 60, ((-600, SIZE), (600, -SIZE)))
        ticks = {-600: TickLiquidity(SIZE, SIZE), 600: TickLiquidity(SIZE, -SIZE)}
        usdg = UsdgAmount(SIZE + self.usdg[which.address])
        return Chart(
            PoolSpot(which, root, SIZE, curve), SPAN, ticks, usdg, TokenAmount(SIZE + self.tokens[which.address])
        )

    def forget(self, pools):
        self.forgotten += [each.address for each in pools]
