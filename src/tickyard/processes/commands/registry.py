"""`tickyard registry`: who is who, as pinned and as the issuer says now. Only a person changes a pin."""

import sys
from random import Random

from tickyard.chain.address import checksum
from tickyard.config.settings import Settings, SettingsError
from tickyard.features.alerts.moved import follow_token, hold_creation
from tickyard.kernel.clock import Clock
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address, Symbol
from tickyard.market.listing.identity import ListingRefused, check_listing, identity_of
from tickyard.market.listing.kept import ListingBook, ListingBroken
from tickyard.processes.commands.contract import NotTheToken, look_at_contract
from tickyard.sources.http import Source
from tickyard.sources.issuer.api import MAX_BYTES, Issuer, Listing
from tickyard.sources.issuer.border import ListedAsset
from tickyard.store.engine import Store, StoreRefused
from tickyard.store.identities import AssetIdentity, forget_listing, identities
from tickyard.wiring import open_clock
from tickyard.wiring.store import ready_store


async def look_after_registry(command: str, settings: Settings, symbol: str | None, address: str | None) -> int:
    """0 when there is nothing left to do; 1 when a person must look, or nothing could be done."""
    if command == "accept" and not settings.rpc_urls:
        raise SettingsError("TICKYARD_RPC_URLS is not set: what is accepted is looked at on the chain first")
    clock = open_clock(settings)
    async with ready_store(settings, clock) as store:
        try:
            if command == "forget":
                return await _forget_one(store, Symbol(symbol.upper())) if symbol else await _forget(store)
            listing = await _ask_issuer(settings, clock)
            if command == "show":
                return await _show(store, listing, symbol)
            return await _accept(settings, store, list(listing.assets), Symbol((symbol or "").upper()), address)
        except StoreRefused:
            raise
        except (UpstreamDown, ListingRefused, ListingBroken) as trouble:
            _say(f"nothing was changed: {trouble}")
            return 1


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


async def _ask_issuer(settings: Settings, clock: Clock) -> Listing:
    rng = Random()  # noqa: S311  jitter, not secrets
    source = Source("issuer", settings.issuer_url, clock=clock, rng=rng, max_bytes=MAX_BYTES)
    await source.start()
    try:
        listing = await Issuer(source, chain_id=settings.chain_id).assets()
    finally:
        await source.close()
    check_listing(listing.assets)
    return listing


async def _show(store: Store, listing: Listing, symbol: str | None) -> int:
    """Everybody who is not who they were, or the one asked for."""
    async with store.read() as tx:
        pins = await identities(tx)
    listed = {asset.symbol: asset for asset in listing.assets}
    broken = {each.symbol for each in listing.broken}
    changed = tuple(each for each in pins if each in broken and each not in listed)
    why = ""
    try:
        await ListingBook(store).check(listing)
    except ListingRefused as refusal:
        changed += refusal.changed
        why = "" if refusal.changed else str(refusal)
    for each in [Symbol(symbol.upper())] if symbol else changed:
        _show_both(each, pins, listed.get(each), is_broken=each in broken)
    _say(f"{len(pins)} identities pinned, {len(changed)} of those listed now are not who they were")
    if why:
        _say(f"the list is refused, and the last good one is served: {why}")
    return 1 if changed or why else 0


def _show_both(
    symbol: Symbol, pins: dict[Symbol, AssetIdentity], listed: ListedAsset | None, *, is_broken: bool = False
) -> None:
    pin = pins.get(symbol)
    _say(symbol)
    _say(f"  pinned  {_shown(pin) if pin else 'nothing'}")
    now = identity_of(listed) if listed else None
    nobody = "in an entry that cannot be believed" if is_broken else "not at all"
    _say(f"  listed  {_shown(now) if now else 'without a token on this chain' if listed else nobody}")
    for other in pins.values():
        if now and other.symbol != symbol and (other.address == now.address or other.uid == now.uid):
            _say(f"  pinned  {_shown(other)}, as {other.symbol}")


def _shown(who: AssetIdentity) -> str:
    return f"{checksum(who.address)}  uid {who.uid}"


async def _accept(
    settings: Settings, store: Store, listed: list[ListedAsset], symbol: Symbol, address: str | None
) -> int:
    book = ListingBook(store)
    await book.news()
    asset = next((each for each in listed if each.symbol == symbol), None)
    _show_both(symbol, book.pins, asset)
    new = identity_of(asset) if asset else None
    if asset is None or new is None:
        _say(f"nothing was changed: the issuer lists no token {symbol} on this chain")
        if asset is not None and symbol in book.pins:
            _say(f"if its token here is really over, run `tickyard registry forget {symbol}`")
        return 1
    if address is not None and address.lower() != new.address:
        _say("nothing was changed: the issuer lists another address than the one you named")
        return 1
    if book.pins.get(symbol) == new:
        _say("nothing was changed: this is who is pinned")
        return 0
    try:
        _say(f"  chain   {await look_at_contract(settings, store.clock, new)}")
    except NotTheToken as contradicted:
        _say(f"nothing was changed: {contradicted}")
        return 1
    if address is None:
        # What is listed may change between two looks: a person accepts what they have seen, and nothing else.
        _say(f"nothing was changed: to accept it, run `tickyard registry accept {symbol} --address {new.address}`")
        return 1
    here = {each.symbol for each in listed}
    for other in book.pins.values():
        if other.symbol != symbol and other.symbol in here and (other.address == new.address or other.uid == new.uid):
            _say(f"nothing was changed: the issuer still lists {other.symbol}, which is pinned to the same token")
            return 1
    await _take(store, book, asset, new, [each.address for each in listed if each.address is not None])
    _say("accepted: every process serves it within a minute")
    return 0


async def _take(
    store: Store, book: ListingBook, asset: ListedAsset, new: AssetIdentity, addresses: list[Address]
) -> None:
    async with store.begin() as tx:
        await hold_creation(tx)
        before = await book.accept(tx, asset)
        followed, cancelled = await follow_token(tx, new, before, addresses)
    if followed:
        _say(f"  alerts  {followed} active ones watch the new address from now on")
    if cancelled:
        _say(f"  alerts  {cancelled} active ones of the former token, which had another uid, are cancelled")


async def _forget(store: Store) -> int:
    async with store.begin() as tx:
        await forget_listing(tx)
        pins = await identities(tx)
    _say(f"the kept list is dropped; {len(pins)} identities stay pinned")
    return 0


async def _forget_one(store: Store, symbol: Symbol) -> int:
    async with store.begin() as tx:
        is_gone = await ListingBook(store).forget(tx, symbol)
    if not is_gone:
        _say(f"nothing was changed: {symbol} is not on the kept list")
        return 1
    _say(f"{symbol} is off the list until the issuer lists it again; who it is stays pinned")
    return 0
