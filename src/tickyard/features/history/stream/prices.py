"""Prices as they move: each symbol's deepest pool, at most once a second."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tickyard.deps import Deps
from tickyard.features.history.stream.told import Told
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.units import percent_text
from tickyard.kernel.wire import iso
from tickyard.market.listing.asset import Asset
from tickyard.market.market import NamedBlock
from tickyard.market.swaps.charts import NEAR, Chart
from tickyard.market.swaps.pools import Pool, deepest
from tickyard.sources.issuer.api import IssuerQuote

_WITHOUT_MIRROR_S: Final = 5.0
"""Where the mirror has no answer a look costs a round trip for everybody together."""
_BEHIND_S: Final = 30.0
"""A node that lags by more is not asked; after so long a chain that still has fewer blocks was rolled back."""


class PriceFeed:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._looked_at: float | None = None
        self.latest: dict[str, Told] = {}
        """What was last told of each symbol that somebody follows."""
        self._told_at: dict[str, float] = {}
        self._has_asked = False

    def forget(self) -> None:
        """Nobody follows a price now: what was told is not the newest for long, nor what the issuer said."""
        self.latest.clear()
        self._has_asked = False

    async def ask_issuer(self) -> None:
        """Have its quotes at hand, so that no price waits for it."""
        with contextlib.suppress(UpstreamDown):
            await self._deps.market.mids.all()
        self._has_asked = True

    async def moved(self, symbols: set[str] | None) -> list[Told]:
        """An event for each of these symbols whose price is another than the one last told."""
        market = self._deps.market
        for symbol in self.latest.keys() - symbols if symbols is not None else ():
            # What nobody follows is not the newest for long.
            del self.latest[symbol]
        if not self._has_asked:
            # The first price is told with its premium, and is looked at when that can be: it grows old over nothing.
            await self.ask_issuer()
        try:
            assets = [asset for asset in market.registry.all() if asset.address and _is_wanted(asset, symbols)]
            pools = {asset.symbol: market.pools.of(asset.address) for asset in assets if asset.address}
            seen = await self._look({symbol: its for symbol, its in pools.items() if its})
        except UpstreamDown:
            return []
        held = market.mids.at_hand()
        # None while the issuer is silent: the price is the pools' own, and only its premium hangs on the issuer.
        quotes = held.value if held is not None else {}
        told = []
        for asset in assets:
            if asset.symbol not in seen:
                continue
            block, charts = seen[asset.symbol]
            best = deepest(chart.spot for chart in charts)
            price = best.price if best is not None else None
            if best is None or price is None:
                self.latest.pop(asset.symbol, None)
                continue
            if self._is_behind(asset.symbol, block):
                continue
            said = self._said(asset, price.text(), block, quotes.get(asset.symbol))
            before = self.latest.get(asset.symbol)
            if before is None or before.around["price"] != said["price"]:
                self.latest[asset.symbol] = Told("price", {asset.symbol: None}, said)
                self._told_at[asset.symbol] = self._deps.clock.monotonic()
                told.append(self.latest[asset.symbol])
        return told

    def _is_behind(self, symbol: str, block: NamedBlock) -> bool:
        """Whether a newer block's price has just been told: where a node fails, the next may be a few blocks behind,
        and what was the price before the last one is no move."""
        told = self.latest.get(symbol)
        if told is None or block.number >= told.around["blockNumber"]:
            return False
        return self._deps.clock.monotonic() - self._told_at[symbol] < _BEHIND_S

    async def _look(self, pools: Mapping[str, Sequence[Pool]]) -> dict[str, tuple[NamedBlock, Sequence[Chart]]]:
        """Each symbol's pools as they stand: from memory those that are held, the others now and then from the chain.
        One that cannot be read costs no other its price."""
        market = self._deps.market
        seen: dict[str, tuple[NamedBlock, Sequence[Chart]]] = {}
        for symbol, its in pools.items() if market.live is not None else ():
            served = market.live.serve(its) if market.live is not None else None
            if served is not None:
                seen[symbol] = NamedBlock.of(served[0]), served[1]
        rest = {symbol: its for symbol, its in pools.items() if symbol not in seen}
        now = self._deps.clock.monotonic()
        if not rest or (self._looked_at is not None and now - self._looked_at < _WITHOUT_MIRROR_S):
            return seen
        self._looked_at = now
        block, charts = await market.look_at_each([pool for its in rest.values() for pool in its], reach=NEAR)
        for symbol, its in rest.items():
            if all(pool in charts for pool in its):
                seen[symbol] = block, [charts[pool] for pool in its]
        return seen

    def _said(self, asset: Asset, price: str, block: NamedBlock, quote: IssuerQuote | None) -> dict[str, Any]:
        premium = None
        if quote is not None and quote.mid is not None:
            equity = quote.mid.times(asset.multiplier(block.at))
            whole, _, rest = price.partition(".")
            num, den = int(whole + rest), 10 ** len(rest)
            premium = percent_text(num * equity.den - equity.num * den, equity.num * den)
        return {
            "symbol": asset.symbol,
            "price": price,
            "premiumPct": premium,
            "blockNumber": block.number,
            "asOf": iso(block.at),
        }


def _is_wanted(asset: Asset, symbols: set[str] | None) -> bool:
    return symbols is None or asset.symbol in symbols
