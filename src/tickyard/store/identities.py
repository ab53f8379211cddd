"""Which token a symbol means: pinned when first seen, one truth for all processes, across restarts and backups.

Beside it the issuer's last good list, from which a process starts that finds the issuer down, slow or lying.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Column, ColumnElement, Integer, String, Table, delete, exists, or_, select, update

from tickyard.kernel.ids import Address, Symbol
from tickyard.store.engine import Transaction
from tickyard.store.tables import METADATA, Instant
from tickyard.store.tokens import token
from tickyard.store.upsert import insert_new, upsert

pinned_token: Final = Table(
    "pinned_token",
    METADATA,
    Column("symbol", String, primary_key=True),
    Column("address", String, nullable=False, unique=True),
    Column("uid", String, nullable=False, unique=True),
    Column("pinned_at", Instant, nullable=False),
)

# Of the tokens that were ever recorded: nobody else has its name now. One that a person has replaced by another keeps
# its row and its samples, and they are not the symbol's any more.
HAS_ITS_NAME: Final[ColumnElement[bool]] = ~exists().where(
    pinned_token.c.symbol == token.c.symbol, pinned_token.c.address != token.c.address
)

# What a person has accepted, and what it was before: nobody else ever changes a pin.
accepted_token: Final = Table(
    "accepted_token",
    METADATA,
    Column("symbol", String, primary_key=True),
    Column("accepted_at", Instant, primary_key=True),
    Column("was", String, nullable=False),
    Column("became", String, nullable=False),
)

# One row.
kept_listing: Final = Table(
    "kept_listing",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    Column("seen_at", Instant, nullable=False),
    Column("body", String, nullable=False),
)
_ROW: Final = 1


@dataclass(frozen=True, slots=True)
class AssetIdentity:
    symbol: Symbol
    address: Address
    uid: str

    def __str__(self) -> str:
        return f"{self.symbol} at {self.address}, uid {self.uid}"


@dataclass(frozen=True, slots=True)
class KeptBody:
    version: int
    seen_at: datetime
    """When the issuer last said the same, to within some minutes."""
    body: str


async def identities(tx: Transaction) -> dict[Symbol, AssetIdentity]:
    """Every pin, those of tokens that have left the list included."""
    rows = await tx.execute(select(pinned_token.c.symbol, pinned_token.c.address, pinned_token.c.uid))
    return {Symbol(symbol): AssetIdentity(Symbol(symbol), Address(address), uid) for symbol, address, uid in rows}


async def pinned_address(tx: Transaction, symbol: Symbol) -> Address | None:
    found = await tx.execute(select(pinned_token.c.address).where(pinned_token.c.symbol == symbol))
    address = found.scalar_one_or_none()
    return None if address is None else Address(address)


async def pin(tx: Transaction, new: Iterable[AssetIdentity], now: datetime) -> None:
    """Pin what is new. A row that contradicts one that is there is left out: look again to see who was first."""
    # In one order, so that two processes that begin together cannot wait for each other.
    rows = [
        {"symbol": each.symbol, "address": each.address, "uid": each.uid, "pinned_at": now}
        for each in sorted(new, key=lambda each: each.symbol)
    ]
    if rows:
        await tx.execute(insert_new(tx, pinned_token), rows)


async def repin(tx: Transaction, accepted: AssetIdentity, now: datetime) -> list[AssetIdentity]:
    """A person says that this is the token now. Whoever held its symbol, address or uid loses them; who that was."""
    pins = pinned_token.c
    clashes = or_(pins.symbol == accepted.symbol, pins.address == accepted.address, pins.uid == accepted.uid)
    before = [each for each in (await identities(tx)).values() if _clash(each, accepted)]
    await tx.execute(delete(pinned_token).where(clashes))
    await pin(tx, [accepted], now)
    was = "; ".join(map(str, before))
    row = {"symbol": accepted.symbol, "accepted_at": now, "was": was, "became": str(accepted)}
    await tx.execute(accepted_token.insert(), row)
    return before


def _clash(one: AssetIdentity, other: AssetIdentity) -> bool:
    return one.symbol == other.symbol or one.address == other.address or one.uid == other.uid


async def listing_version(tx: Transaction) -> int | None:
    """Which list is kept; None: none. Cheap to ask again and again."""
    return (await tx.execute(select(kept_listing.c.version))).scalar_one_or_none()


async def last_listing(tx: Transaction) -> KeptBody | None:
    found = await tx.execute(select(kept_listing.c.version, kept_listing.c.seen_at, kept_listing.c.body))
    row = found.one_or_none()
    return None if row is None else KeptBody(*row)


async def keep_listing(tx: Transaction, body: str, now: datetime) -> None:
    row = {"id": _ROW, "version": 1, "seen_at": now, "body": body}
    await tx.execute(
        upsert(
            tx,
            kept_listing,
            ["id"],
            lambda new: {"version": kept_listing.c.version + 1, "seen_at": new.seen_at, "body": new.body},
        ),
        row,
    )


async def confirm_listing(tx: Transaction, now: datetime) -> None:
    """The issuer has said the same again."""
    await tx.execute(update(kept_listing).values(seen_at=now))


async def forget_listing(tx: Transaction) -> None:
    """The pins stay: the next list must agree with them like any other."""
    await tx.execute(delete(kept_listing))
