"""The registry: which tokens exist, by symbol. The address in here is the identity of a token.

It is refreshed in the background and always served from memory. A refresh that lies (an address changes, a
symbol repeats, a fifth of the list vanishes) is refused as a whole and the last good one stays, across
restarts too: it is kept in a file.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from tickyard.chain.address import checksum
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import NotFound, UpstreamDown
from tickyard.kernel.ids import Address, Symbol
from tickyard.market.asset import Asset, MultiplierSchedule
from tickyard.observe import metrics
from tickyard.observe.log import log
from tickyard.sources.issuer.api import Issuer
from tickyard.sources.issuer.border import ListedAsset

REFRESH_S: Final = 60
_RETRY_S: Final = 5
_VANISHED_MAX_PERCENT: Final = 20


class _Kept(msgspec.Struct):
    """The file: what is served, and where those were that have left the list."""

    assets: list[ListedAsset]
    departed: dict[Symbol, Address]


ReadSchedules = Callable[[list[Address]], Awaitable[dict[Address, MultiplierSchedule]]]


class ListingRefused(Exception):
    """A refresh that contradicts what we know. The message is for the log."""


def check_refresh(
    old: Iterable[ListedAsset], new: Iterable[ListedAsset], departed: Mapping[Symbol, Address] = MappingProxyType({})
) -> None:
    """Raise Refused when the new list cannot be an honest successor of the old one.

    `departed`: the addresses of assets that were listed once. Who comes back must come back to the same one.
    """
    new = list(new)
    by_symbol = {asset.symbol: asset for asset in new}
    addresses = [asset.address for asset in new if asset.address is not None]
    if len(by_symbol) != len(new):
        raise ListingRefused("a symbol is listed twice")
    if len(set(addresses)) != len(addresses):
        raise ListingRefused("two symbols share an address")
    old = list(old)
    homes = {**departed, **{known.symbol: known.address for known in old if known.address}}
    for symbol, address in homes.items():
        listed = by_symbol.get(symbol)
        # An asset may gain its address; one that has it keeps it, or is gone.
        if listed and listed.address != address:
            raise ListingRefused(f"{symbol} changed its address")
    vanished = sum(known.symbol not in by_symbol for known in old)
    if vanished * 100 > len(old) * _VANISHED_MAX_PERCENT:
        raise ListingRefused(f"{vanished} of {len(old)} assets vanished at once")


class Registry:
    def __init__(self, issuer: Issuer, read_schedules: ReadSchedules, clock: Clock, file: Path) -> None:
        self._issuer = issuer
        self._read_schedules = read_schedules
        self._clock = clock
        self._file = file
        self._assets: dict[Symbol, Asset] = {}
        self._departed: dict[Symbol, Address] = {}
        self._schedules: dict[Address, MultiplierSchedule] = {}
        self.refreshed_at: datetime | None = None
        self.on_change: list[Callable[[], None]] = []
        self.loaded = asyncio.Event()
        """Set once there is a list to serve."""

    def find(self, symbol: Symbol) -> Asset:
        asset = self._assets.get(symbol)
        if asset is None:
            self._must_be_loaded()
            raise NotFound("no asset has this symbol; GET /v1/assets lists them all")
        return asset

    def all(self) -> list[Asset]:
        """Every asset, by symbol."""
        self._must_be_loaded()
        return list(self._assets.values())

    def addresses(self) -> list[Address]:
        """Every token's address."""
        return [asset.address for asset in self.all() if asset.address is not None]

    def _must_be_loaded(self) -> None:
        if not self._assets:
            raise UpstreamDown("the asset registry has not been read yet", retry_after_s=_RETRY_S)

    def reuse_s(self, wanted_s: int, now: datetime) -> int:
        """So many seconds, but never past the moment at which a scheduled multiplier flips by itself."""
        second = int(now.timestamp())
        flips = [s.effective_at - second for s in self._schedules.values() if s.effective_at > second]
        return min([wanted_s, *flips])

    def load_last_good(self) -> None:
        """Start from the list that the last process kept."""
        if not self._file.exists():
            return
        try:
            kept = msgspec.json.decode(self._file.read_bytes(), type=_Kept)
        except (OSError, msgspec.MsgspecError):
            log.warning("kept registry is unreadable, ignoring it")
            return
        self._departed = kept.departed
        self._serve(kept.assets)

    async def refresh(self) -> None:
        """Ask the issuer and the chain. Raises UpstreamDown when the issuer does not answer."""
        known = [asset.listed for asset in self._assets.values()]
        try:
            listing = await self._issuer.assets()
            check_refresh(known, listing.assets, self._departed)
        except UpstreamDown:
            await self._renew_multipliers(known)
            raise
        except ListingRefused as refusal:
            metrics.registry_refreshes.labels("refused").inc()
            log.error("registry refresh refused, the last good one stays", reason=str(refusal))
            await self._renew_multipliers(known)
            return
        await self._read_multipliers(listing.assets)
        if sorted(listing.assets, key=lambda asset: asset.symbol) != known:
            self._keep(known, listing.assets)
        self._serve(listing.assets)
        self.refreshed_at = self._clock.now()
        metrics.registry_refreshes.labels("ok").inc()

    async def keep_fresh(self) -> None:
        """Refresh for ever."""
        while True:
            try:
                await self.refresh()
                pause = REFRESH_S
            except UpstreamDown as failure:
                metrics.registry_refreshes.labels("failed").inc()
                log.warning("registry refresh failed, the last good one stays", reason=failure.message)
                pause = _RETRY_S
            await self._clock.sleep(pause)

    async def _renew_multipliers(self, known: list[ListedAsset]) -> None:
        """A silent or lying issuer is no reason to miss a split: the chain tells it."""
        if known:
            await self._read_multipliers(known)
            self._serve(known)

    async def _read_multipliers(self, listed: Iterable[ListedAsset]) -> None:
        try:
            read = await self._read_schedules([asset.address for asset in listed if asset.address is not None])
        except UpstreamDown as failure:
            # The last known schedules go on flipping by themselves; the registry's values fill the gaps.
            log.warning("multipliers not read from the chain", reason=failure.message)
        else:
            # A token that did not answer this time keeps what it said before.
            self._schedules = {**self._schedules, **read}

    def _serve(self, listed: Iterable[ListedAsset]) -> None:
        assets = {}
        for entry in sorted(listed, key=lambda each: each.symbol):
            schedule = self._schedules.get(entry.address) if entry.address else None
            assets[entry.symbol] = Asset(entry, schedule, checksum(entry.address) if entry.address else None)
        self._report_differences(assets)
        has_changed = assets != self._assets
        self._assets = assets
        self.loaded.set()
        metrics.registry_assets.set(len(assets))
        if has_changed:
            for tell in self.on_change:
                tell()

    def _report_differences(self, assets: dict[Symbol, Asset]) -> None:
        now = self._clock.now()
        for asset in assets.values():
            known = self._assets.get(asset.symbol)
            if asset.multiplier_e18(now) != asset.listed.multiplier_e18 and asset != known:
                metrics.multiplier_differences.inc()
                log.warning("registry and chain disagree on a multiplier, the chain wins", symbol=asset.symbol)

    def _keep(self, known: Iterable[ListedAsset], listed: Iterable[ListedAsset]) -> None:
        listed = list(listed)
        here = {asset.symbol for asset in listed}
        left = {asset.symbol: asset.address for asset in known if asset.address and asset.symbol not in here}
        self._departed = {symbol: at for symbol, at in {**self._departed, **left}.items() if symbol not in here}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._file.with_suffix(".new")
        fresh.write_bytes(msgspec.json.encode(_Kept(listed, self._departed)))
        fresh.replace(self._file)
