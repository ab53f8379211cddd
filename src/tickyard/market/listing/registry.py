"""The registry: which tokens exist, by symbol. The address in here is the identity of a token.

It is refreshed in the background and always served from memory. Who is who is pinned in the store when first seen, and
so is the last good list, one truth for all processes: a refresh that lies (an address or a uid changes, a symbol
repeats, a fifth of the list vanishes) is refused as a whole, before a restart and after it. Fewer that vanish stay as
they were last, under a status of ours, until a person forgets them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Final

from tickyard.chain.address import checksum
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import NotFound, UpstreamDown
from tickyard.kernel.ids import Address, Symbol
from tickyard.market.listing.asset import Asset, MultiplierSchedule
from tickyard.market.listing.identity import UNLISTED, ListingRefused, check_refresh, last_good, unlisted
from tickyard.market.listing.kept import ListingBook, ListingBroken
from tickyard.observe import metrics
from tickyard.observe.log import log
from tickyard.sources.issuer.api import Issuer
from tickyard.sources.issuer.border import ListedAsset
from tickyard.store.engine import Store

REFRESH_S: Final = 60
_RETRY_S: Final = 5

ReadSchedules = Callable[[list[Address]], Awaitable[dict[Address, MultiplierSchedule]]]


class Registry:
    def __init__(self, issuer: Issuer, read_schedules: ReadSchedules, clock: Clock, store: Store) -> None:
        self._issuer = issuer
        self._read_schedules = read_schedules
        self._clock = clock
        self._book = ListingBook(store)
        self._assets: dict[Symbol, Asset] = {}
        self._at: dict[Address, Symbol] = {}
        self._by_uid: dict[str, Symbol] = {}
        self._confirmed: float | None = None
        self._schedules: dict[Address, MultiplierSchedule] = {}
        self.refreshed_at: datetime | None = None
        self.on_change: list[Callable[[], None]] = []
        self.loaded = asyncio.Event()
        """Set once there is a list to serve."""

    def find(self, symbol: Symbol) -> Asset:
        asset = self._assets.get(symbol)
        if asset is None:
            self._must_be_loaded()
            raise NotFound("no asset has this symbol; the list of assets names them all")
        return asset

    def all(self) -> list[Asset]:
        """Every asset, by symbol."""
        self._must_be_loaded()
        return list(self._assets.values())

    def addresses(self) -> list[Address]:
        """Every token's address."""
        return [asset.address for asset in self.all() if asset.address is not None]

    def symbol_at(self, address: Address) -> Symbol | None:
        """Whose token stands there."""
        return self._at.get(address)

    def symbol_of(self, uid: str) -> Symbol | None:
        """Who has this token uid."""
        return self._by_uid.get(uid)

    def _must_be_loaded(self) -> None:
        if not self._assets:
            raise UpstreamDown("the asset registry has not been read yet", retry_after_s=_RETRY_S)

    def reuse_s(self, wanted_s: int, now: datetime) -> int:
        """So many seconds, but never past the moment at which a scheduled multiplier flips by itself."""
        second = int(now.timestamp())
        flips = [s.effective_at - second for s in self._schedules.values() if s.effective_at > second]
        return min([wanted_s, *flips])

    def age_s(self) -> int | None:
        """How long ago the issuer last confirmed what is served. None: there is nothing to serve yet."""
        return None if self._confirmed is None else max(0, int(self._clock.monotonic() - self._confirmed))

    async def follow_store(self) -> None:
        """Serve what the store knows: at the start, and when another process or a person has changed it.

        Not before the chain was asked for the multipliers: the list has the issuer's, of whenever it was kept.
        """
        kept = await self._book.news()
        if kept is not None:
            await self._read_multipliers(kept.assets)
            age = (self._clock.now() - kept.seen_at).total_seconds()
            self._confirmed = self._clock.monotonic() - max(0.0, age)
            metrics.registry_confirmed.set(kept.seen_at.timestamp())
            self._serve(kept.assets)

    async def refresh(self) -> None:
        """Ask the store, the issuer and the chain. Raises UpstreamDown when one of the first two does not answer."""
        try:
            await self.follow_store()
            listing = await self._issuer.assets()
            known = self._listed()
            kept = last_good(known, listing.assets, listing.broken)
            told = [*listing.assets, *kept]
            check_refresh(known, told, self._book.pins)
            gone = unlisted(known, told)
            assets = [*told, *gone]
            has_changed = sorted(assets, key=lambda asset: asset.symbol) != known
            if not await self._book.keep(assets, has_changed=has_changed):
                await self.refresh()
                return
        except UpstreamDown:
            await self._renew_multipliers()
            raise
        except ListingRefused as refusal:
            metrics.registry_refreshes.labels("refused").inc()
            if refusal.changed:
                # A list that is refused for something else clears nobody of a doubt.
                metrics.registry_changed_identities.set(len(refusal.changed))
            log.error(
                "registry refresh refused, the last good one stays", reason=str(refusal), changed=list(refusal.changed)
            )
            await self._renew_multipliers()
            return
        doubtful = {each.symbol for each in kept} | {each.symbol for each in listing.broken} & self._book.pins.keys()
        if doubtful:
            log.error(
                "the issuer's entry of a pinned token is broken, the last good one stays", changed=sorted(doubtful)
            )
        if left := {each.symbol for each in gone} & {each.symbol for each in known if each.status != UNLISTED}:
            log.warning("the issuer no longer lists a token, what it said last stays", symbols=sorted(left))
        await self._read_multipliers(assets)
        self._serve(assets)
        self.refreshed_at = self._clock.now()
        self._confirmed = self._clock.monotonic()
        metrics.registry_confirmed.set(self._clock.timestamp())
        metrics.registry_changed_identities.set(len(doubtful))
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
            except ListingBroken as broken:
                metrics.registry_refreshes.labels("failed").inc()
                log.error("the store's list of assets is damaged, the one in memory stays", reason=str(broken))
                pause = REFRESH_S
            await self._clock.sleep(pause)

    def _listed(self) -> list[ListedAsset]:
        return [asset.listed for asset in self._assets.values()]

    async def _renew_multipliers(self) -> None:
        """A silent or lying issuer is no reason to miss a split: the chain tells it."""
        if known := self._listed():
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
        self._at = {asset.address: symbol for symbol, asset in assets.items() if asset.address}
        # Of two with one uid it is the one that has the token.
        by_token = sorted(assets.items(), key=lambda each: each[1].address is not None)
        self._by_uid = {asset.listed.id: symbol for symbol, asset in by_token}
        self.loaded.set()
        metrics.registry_assets.set(len(assets))
        metrics.registry_unlisted.set(sum(asset.listed.status == UNLISTED for asset in assets.values()))
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
