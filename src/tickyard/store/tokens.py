"""Small integer names for token addresses: millions of samples carry one each. The identity is the address."""

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Column, Integer, String, Table, func, select, update

from tickyard.kernel.ids import Address, Symbol
from tickyard.store.engine import Contended, Transaction
from tickyard.store.tables import METADATA
from tickyard.store.upsert import insert_new

token: Final = Table(
    "token",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("symbol", String, nullable=False),
    Column("address", String, nullable=False, unique=True),
)

_ATTEMPTS: Final = 10


async def token_ids(tx: Transaction, tokens: Iterable[tuple[Symbol, Address]]) -> dict[Address, int]:
    """The id of every token, given to those that have none yet. Safe when several processes do it at once."""
    wanted = {address: symbol for symbol, address in tokens}
    for _ in range(_ATTEMPTS):
        known = await _known(tx, wanted)
        missing = sorted(wanted.keys() - known.keys())
        if not missing:
            return known
        # Ids are counted by hand: a sequence leaves gaps, and some engines draw huge numbers from it. Whoever
        # takes the same number at the same time loses on a unique constraint, and looks again.
        last = (await tx.execute(select(func.coalesce(func.max(token.c.id), 0)))).scalar_one()
        rows = [
            {"id": last + n, "symbol": wanted[address], "address": address}
            for n, address in enumerate(missing, start=1)
        ]
        await tx.execute(insert_new(tx, token), rows)
    raise Contended("the store is busy", retry_after_s=1)


async def _known(tx: Transaction, wanted: dict[Address, Symbol]) -> dict[Address, int]:
    # The whole table is a few hundred rows: cheaper to read than to ask for each address.
    rows = (await tx.execute(select(token.c.id, token.c.symbol, token.c.address))).all()
    for row in rows:
        if row.address in wanted and row.symbol != wanted[row.address]:
            await tx.execute(update(token).where(token.c.id == row.id).values(symbol=wanted[row.address]))
    return {Address(row.address): row.id for row in rows if row.address in wanted}
