"""The issuer's last good list as the store keeps it, with the pins that go with it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from tickyard.kernel.ids import Address, Symbol
from tickyard.market.listing.identity import (
    ListingRefused,
    check_identities,
    check_listing,
    check_refresh,
    identity_of,
    last_good,
)
from tickyard.sources.issuer.api import Listing
from tickyard.sources.issuer.border import ListedAsset
from tickyard.store import identities as rows
from tickyard.store.engine import Store, Transaction
from tickyard.store.identities import AssetIdentity

_CONFIRM_EVERY: Final = timedelta(minutes=5)
"""How exactly the store knows when the list was last confirmed: not every process must write it every minute."""


class ListingBroken(Exception):
    """What the store keeps cannot be read or contradicts the pins. The message is one sentence for the operator."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the list of assets kept in the store is damaged ({why}); `tickyard registry forget` drops it (who is who "
            "stays pinned), and it is read from the issuer again"
        )


class _KeptAsset(msgspec.Struct):
    """A ListedAsset whose free-form part may be any JSON: Raw in a union with None takes no objects."""

    id: str
    symbol: Symbol
    name: str
    address: Address | None
    multiplier_e18: int
    pending_multiplier_e18: int | None
    pending_effective_at: datetime | None
    status: str
    logo_url: str
    isin: str
    trading_capabilities: msgspec.Raw = msgspec.Raw(b"null")


@dataclass(frozen=True, slots=True)
class KeptListing:
    version: int
    seen_at: datetime
    assets: list[ListedAsset]


def encode_listing(assets: Iterable[ListedAsset]) -> str:
    kept = []
    for asset in assets:
        fields: dict[str, Any] = {name: getattr(asset, name) for name in _KeptAsset.__struct_fields__}
        fields["trading_capabilities"] = asset.trading_capabilities or msgspec.Raw(b"null")
        kept.append(_KeptAsset(**fields))
    return msgspec.json.encode(kept).decode()


def decode_listing(body: str) -> list[ListedAsset]:
    try:
        kept = msgspec.json.decode(body, type=list[_KeptAsset])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ListingBroken("it is none") from None
    assets = []
    for entry in kept:
        fields = {name: getattr(entry, name) for name in _KeptAsset.__struct_fields__}
        raw = bytes(entry.trading_capabilities)
        fields["trading_capabilities"] = None if raw == b"null" else msgspec.Raw(raw)
        assets.append(ListedAsset(**fields))
    return assets


class ListingBook:
    """What the store knows of the registry."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._version: int | None = None
        self._confirmed_at: datetime | None = None
        self.pins: dict[Symbol, AssetIdentity] = {}

    async def news(self) -> KeptListing | None:
        """The pins as they are now; and the list, when another process or a person has changed it since we looked."""
        async with self._store.read() as tx:
            self.pins = await rows.identities(tx)
            if await rows.listing_version(tx) == self._version:
                return None
            kept = await rows.last_listing(tx)
        if kept is None:
            self._version = None
            return None
        assets = decode_listing(kept.body)
        try:
            check_listing(assets)
            check_identities(self.pins, assets)
        except ListingRefused as contradiction:
            raise ListingBroken(str(contradiction)) from None
        self._version, self._confirmed_at = kept.version, kept.seen_at
        return KeptListing(kept.version, kept.seen_at, assets)

    async def check(self, listing: Listing) -> None:
        """Raise ListingRefused when a process that serves what is kept would refuse this list."""
        try:
            kept = await self.news()
        except ListingBroken:
            # Who is who is known all the same, and weighs more.
            check_identities(self.pins, listing.assets)
            raise
        old = kept.assets if kept else []
        check_refresh(old, [*listing.assets, *last_good(old, listing.assets, listing.broken)], self.pins)

    async def keep(self, assets: list[ListedAsset], *, has_changed: bool) -> bool:
        """Pin who is new and keep the list. False: somebody else, or a person, has changed the kept one meanwhile, and
        that is to be read first.

        ListingRefused when another process has pinned somebody else, or when `news` would not read this list back.
        """
        here = {asset.symbol: found for asset in assets if (found := identity_of(asset))}
        new = [each for symbol, each in here.items() if symbol not in self.pins]
        now = self._store.clock.now()
        is_due = self._confirmed_at is None or not timedelta(0) <= now - self._confirmed_at < _CONFIRM_EVERY
        if not (new or has_changed or is_due):
            return True
        check_listing(assets)
        async with self._store.begin() as tx:
            if await rows.listing_version(tx) != self._version:
                return False
            await rows.pin(tx, new, now)
            pins = await rows.identities(tx)
            check_identities(pins, assets)
            if missing := [symbol for symbol in here if symbol not in pins]:
                raise ListingRefused(f"{missing[0]} could not be pinned", tuple(missing))
            if has_changed or self._version is None:
                await rows.keep_listing(tx, encode_listing(assets), now)
            else:
                await rows.confirm_listing(tx, now)
            version = await rows.listing_version(tx)
        self.pins, self._version, self._confirmed_at = pins, version, now
        return True

    async def accept(self, tx: Transaction, asset: ListedAsset) -> list[AssetIdentity]:
        """A person has looked: from now on this is the token. Who had its symbol, address or uid before."""
        identity = identity_of(asset)
        assert identity is not None
        now = self._store.clock.now()
        before = await rows.repin(tx, identity, now)
        kept = await rows.last_listing(tx)
        if kept is not None:
            gone = {each.symbol for each in before} | {asset.symbol}
            # Who has no token is not pinned, and would still stand there with the uid that went to this one.
            others = [each for each in decode_listing(kept.body) if each.symbol not in gone and each.id != asset.id]
            # Every process sees it at its next look, also while the issuer is silent. It confirms nobody else.
            await rows.keep_listing(tx, encode_listing([*others, replace(asset)]), kept.seen_at)
        return before

    async def forget(self, tx: Transaction, symbol: Symbol) -> bool:
        """A person knows that this token is over. It stays pinned: only the same may ever come back by its name."""
        kept = await rows.last_listing(tx)
        known = [] if kept is None else decode_listing(kept.body)
        others = [each for each in known if each.symbol != symbol]
        if kept is None or len(others) == len(known):
            return False
        # Of those who stay the issuer has said no more than before.
        await rows.keep_listing(tx, encode_listing(others), kept.seen_at)
        return True
