"""Which refresh of the registry is believed. Pure rules: what is pinned, what was listed, what is listed now."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from msgspec.structs import astuple

from tickyard.config.pinned import MAINNET
from tickyard.kernel.ids import Symbol
from tickyard.sources.issuer.border import BrokenEntry, ListedAsset
from tickyard.store.identities import AssetIdentity

UNLISTED: Final = "ASSET_STATUS_UNLISTED"
"""Ours, of a token that the issuer's list lacks: people hold it all the same."""
_VANISHED_MAX_PERCENT: Final = 20
_TRUSTED: Final = frozenset(astuple(MAINNET))


class ListingRefused(Exception):
    """A list that contradicts what we know. The message is for the log."""

    def __init__(self, reason: str, changed: tuple[Symbol, ...] = ()) -> None:
        super().__init__(reason)
        self.changed = changed
        """Whose identity a person must look at."""


def identity_of(asset: ListedAsset) -> AssetIdentity | None:
    """None: it has no token on our chain, so there is nothing to be mistaken for it yet."""
    return AssetIdentity(asset.symbol, asset.address, asset.id) if asset.address else None


def check_listing(new: Iterable[ListedAsset]) -> None:
    """Raise ListingRefused when a list contradicts itself."""
    new = list(new)
    addresses = [asset.address for asset in new if asset.address is not None]
    if len({asset.symbol for asset in new}) != len(new):
        raise ListingRefused("a symbol is listed twice")
    if len(set(addresses)) != len(addresses):
        raise ListingRefused("two symbols share an address")
    if _TRUSTED.intersection(addresses):
        raise ListingRefused("a symbol is listed at the address of a contract that we trust")
    # One that left may be listed anew, under another symbol and without a token here yet: nobody takes it for this one.
    uids = [asset.id for asset in new if asset.status != UNLISTED]
    if len(set(uids)) != len(uids):
        raise ListingRefused("two symbols share a token uid")


def check_identities(pins: Mapping[Symbol, AssetIdentity], listed: Iterable[ListedAsset]) -> None:
    """Raise ListingRefused when somebody on the list is not who they were, departed ones who come back included."""
    of_address = {pin.address: pin.symbol for pin in pins.values()}
    of_uid = {pin.uid: pin.symbol for pin in pins.values()}
    found: dict[Symbol, str] = {}
    for asset in listed:
        pin = pins.get(asset.symbol)
        if pin is not None:
            # Without an address nobody is mistaken for it; whether it may have lost it, `check_refresh` says.
            if asset.address not in (None, pin.address):
                found[asset.symbol] = f"{asset.symbol} changed its address"
            elif asset.id != pin.uid:
                found[asset.symbol] = f"{asset.symbol} changed its token uid"
        elif asset.address is not None:
            owner = of_address.get(asset.address) or of_uid.get(asset.id)
            if owner is not None:
                found[asset.symbol] = f"{asset.symbol} is the token that we know as {owner}"
    if found:
        raise ListingRefused("; ".join(list(found.values())[:5]), tuple(found))


def last_good(
    old: Iterable[ListedAsset], new: Iterable[ListedAsset], broken: Iterable[BrokenEntry]
) -> list[ListedAsset]:
    """Those of the old list who are missing in the new one only because their entry there cannot be read.

    Nobody is delisted by a broken entry: who is gone is not listed at all. One that says neither its symbol nor its
    uid may be anybody's.
    """
    here, broken = {asset.symbol for asset in new}, list(broken)
    missing = [known for known in old if known.symbol not in here]
    return [known for known in missing if any(entry.is_perhaps(known) for entry in broken)]


def unlisted(old: Iterable[ListedAsset], told: Iterable[ListedAsset]) -> list[ListedAsset]:
    """The tokens of the old list that nobody tells of any more, as they were last.

    They stay: who holds one would be told that they hold nothing. A person who knows that a token is over forgets it.
    """
    here = {asset.symbol for asset in told}
    return [replace(known, status=UNLISTED) for known in old if known.address and known.symbol not in here]


def check_refresh(old: Iterable[ListedAsset], new: Iterable[ListedAsset], pins: Mapping[Symbol, AssetIdentity]) -> None:
    """Raise ListingRefused when the new list cannot be an honest successor of the old one."""
    old, new = list(old), list(new)
    check_listing(new)
    check_identities(pins, new)
    # An asset may gain its address; one that has it keeps it, or is gone, or a person has forgotten that it had it.
    had = {known.symbol for known in old if known.address}
    if lost := tuple(asset.symbol for asset in new if asset.address is None and asset.symbol in had):
        raise ListingRefused("; ".join(f"{symbol} has no token on this chain any more" for symbol in lost[:5]), lost)
    here = {asset.symbol for asset in new}
    # With those that went before: a list that loses a few each minute is no better than one that loses them at once.
    vanished = sum(known.symbol not in here for known in old)
    if vanished * 100 > len(old) * _VANISHED_MAX_PERCENT:
        raise ListingRefused(f"{vanished} of {len(old)} assets vanished")
