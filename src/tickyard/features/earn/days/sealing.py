"""Writing the books of a pool that is fixed: every share, in a file that never changes again, and its hash."""

import hashlib
import zlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from sqlalchemy import Row, delete, insert, select, text, update

from tickyard.features.earn.books.digest import HEADER, Holding, book_lines
from tickyard.features.earn.days.desks import desk_that_pays, opened_elsewhere
from tickyard.features.earn.days.snapshot import Overtaken, must_write, sign_on
from tickyard.features.earn.room import EarnDeps
from tickyard.features.earn.tables import earn_books, earn_epoch
from tickyard.kernel.ids import Address
from tickyard.store.engine import Store, Transaction
from tickyard.store.statement import Query

PAGE: Final = 2_000
_LEVEL: Final = 3
"""Addresses and balances are nearly random: more work makes the file hardly smaller."""
_GZIP: Final = zlib.MAX_WBITS | 16

_PAGE: Final = Query(
    text(
        "SELECT address, balance FROM earn_share WHERE epoch = :of_epoch AND address > :after"
        " ORDER BY address LIMIT :most"
    )
)


async def share_pages(tx: Transaction, epoch: int, size: int = PAGE) -> AsyncIterator[Sequence[Holding]]:
    """Everybody in a snapshot, in the order of addresses."""
    after = ""
    while True:
        found = await tx.fetch(_PAGE, {"of_epoch": epoch, "after": after, "most": size})
        if found:
            yield [(address, int.from_bytes(balance, "big")) for address, balance in found]
        if len(found) < size:
            return
        after = found[-1][0]


async def write_books(deps: EarnDeps, epoch: int) -> bool:
    """Take a pooled epoch to sealed. False: somebody else does."""
    # Asked before the work: what cannot be known now would have to be done again.
    opened = await opened_elsewhere(deps, epoch)
    try:
        writer = await sign_on(deps.store, epoch, "pooled")
        async with deps.store.begin() as tx:
            await must_write(tx, epoch, writer)
            await tx.execute(delete(earn_books).where(earn_books.c.epoch == epoch))
        async with deps.store.read() as view:
            row = (await view.execute(select(earn_epoch).where(earn_epoch.c.id == epoch))).one()
            digest = await _write_parts(deps, view, row, writer)
        desk = desk_that_pays(deps.earn.desk, opened, epoch, digest)
        return await _finish(deps.store, epoch, writer, digest, desk)
    except Overtaken:
        return False


async def _write_parts(deps: EarnDeps, view: Transaction, row: Row[Any], writer: str) -> str:
    """All parts are one gzip file of one member, since many readers stop after the first; nobody has to hold all of it.

    Without a time in it: the same books are the same bytes.
    """
    digest = hashlib.sha256(HEADER)
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    packed, part = packer.compress(HEADER), 0
    async for page in share_pages(view, row.id):
        lines = book_lines(page, row.pool_raw, row.eligible_total)
        digest.update(lines)
        packed += packer.compress(lines) + packer.flush(zlib.Z_SYNC_FLUSH)
        await _add_part(deps.store, row.id, writer, part, packed)
        packed, part = b"", part + 1
        await deps.clock.sleep(0)
    await _add_part(deps.store, row.id, writer, part, packed + packer.flush())
    return digest.hexdigest()


async def _add_part(store: Store, epoch: int, writer: str, part: int, body: bytes) -> None:
    async with store.begin() as tx:
        await must_write(tx, epoch, writer)
        await tx.execute(insert(earn_books), {"epoch": epoch, "part": part, "body": body})


async def _finish(store: Store, epoch: int, writer: str, digest: str, desk: Address) -> bool:
    async with store.begin() as tx:
        sealed = await tx.execute(
            update(earn_epoch)
            .where(earn_epoch.c.id == epoch, earn_epoch.c.state == "pooled", earn_epoch.c.writer == writer)
            .values(state="sealed", digest=digest, desk=desk)
        )
        return sealed.rowcount == 1
