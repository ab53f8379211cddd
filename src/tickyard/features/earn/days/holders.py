"""Who holds the service token: its Transfer logs folded into balances, block after block.

The index stands at its newest mark, a block number with its hash. Each step reads the next range of blocks, checks
that it continues from the mark, and writes transfers, balances and the new mark in one transaction. When a mark's
block is no longer in the chain, the index goes back to one that is, and reads on from there.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sqlalchemy import Integer, bindparam, delete, select, text

from tickyard.chain.blocks import Header, header
from tickyard.chain.rpc.client import Rpc
from tickyard.chain.rpc.stride import Stride
from tickyard.chain.rpc.trouble import TooManyLogs
from tickyard.chain.transfers import Chunk, Transfer, read_chunk
from tickyard.features.earn.tables import holder_balance, holder_mark, holder_transfer
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import ZERO_ADDRESS, Address
from tickyard.observe.log import log
from tickyard.store.engine import Store, Transaction
from tickyard.store.leases import alone
from tickyard.store.statement import Bulk, Query

_ASKED_AT_ONCE: Final = 500
_TRIES: Final = 3
"""So often a range that does not continue from the mark is read again at once."""

PAGE: Final = 5_000
_FORGOTTEN_AT_ONCE: Final = 5_000

_PAGE: Final = Query(
    text("SELECT address, balance FROM holder_balance WHERE address > :after ORDER BY address LIMIT :most")
)
_OLDEST: Final = (
    select(holder_transfer.c.block_number)
    .where(holder_transfer.c.block_number <= bindparam("until"))
    .order_by(holder_transfer.c.block_number)
    .limit(bindparam("most", type_=Integer))
)
_NEWEST_MARK: Final = select(holder_mark).order_by(holder_mark.c.block_number.desc()).limit(1)
_new_transfers: Final = Bulk(holder_transfer)
_set_balances: Final = Bulk(holder_balance, key=["address"], merge=lambda new: {"balance": new.balance})
_set_mark: Final = Bulk(holder_mark, key=["block_number"], merge=lambda new: {"block_hash": new.block_hash})


class HeldBalance(NamedTuple):
    address: str
    balance: int
    """At the block that was asked for."""
    at_mark: int
    """Where the index stands."""


class BrokenIndex(Exception):
    """What the index holds cannot be: logs are missing. It must be read again from its beginning."""


@dataclass(slots=True)
class HolderIndex:
    store: Store
    rpc: Rpc
    token: Address
    first_block: int = 0
    """Nothing of the token is older than this."""
    stride: Stride = field(default_factory=Stride)
    second: Rpc | None = None
    """Another node, which must show the same transfers."""

    async def catch_up(self, final: Header, *, steps: int = 1_000_000) -> int:
        """Read on to the final block, at most so many ranges. How many blocks were added.

        An index that turns out to be broken is emptied, and read again from its beginning the next time.
        """
        try:
            return await self._read_on(final, steps)
        except BrokenIndex as broken:
            log.error("the holder index is broken, reading it again", why=str(broken))
            await self.reset()
            return 0

    async def _read_on(self, final: Header, steps: int) -> int:
        added = tries = 0
        mark, is_checked = None, False
        for _ in range(steps):
            if not is_checked:
                before, mark = mark, await self.mark()
                # Somebody else may have read on meanwhile, which says nothing against the nodes.
                tries = tries if mark == before else 0
                if mark is not None and not await self._is_on_chain(mark):
                    await self._go_back(mark)
                    continue
                is_checked = True
            first = self.first_block if mark is None else mark[0] + 1
            if first > final.number:
                break
            last = min(first + self.stride.blocks - 1, final.number)
            try:
                chunk = await self._read(first, last)
            except TooManyLogs:
                if not self.stride.refused(last - first + 1):
                    raise
                continue
            except UpstreamDown:
                self.stride.stumbled(last - first + 1)
                raise
            # What was just written is the mark; what does not continue from it makes us look again.
            is_checked = await self._add(mark, last, chunk)
            tries = 0 if is_checked else tries + 1
            if tries == _TRIES:
                raise UpstreamDown("the chain nodes show different branches")
            if is_checked:
                mark = (last, chunk.last_hash)
                self.stride.went_well(len(chunk.transfers), last - first + 1)
                added += last - first + 1
        return added

    async def _read(self, first: int, last: int) -> Chunk:
        """One range; from both nodes when there are two, and then they must agree to the last log."""
        chunk = await read_chunk(self.rpc, self.token, first, last)
        if self.second is not None and await read_chunk(self.second, self.token, first, last) != chunk:
            log.error("two nodes show different transfers of the service token", first=first, last=last)
            raise UpstreamDown("two chain nodes show different transfers")
        return chunk

    async def mark(self) -> tuple[int, str] | None:
        async with self.store.read() as tx:
            return await newest_mark(tx)

    async def reset(self) -> None:
        """Forget everything and read again from the beginning."""
        async with self._alone() as tx:
            for table in (holder_transfer, holder_balance, holder_mark):
                await tx.execute(delete(table))

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[Transaction]:
        """Two workers may come with the same range: a lease that ran out is found out only afterwards."""
        async with self.store.begin() as tx:
            await alone(tx, "the holder index is written")
            yield tx

    async def _is_on_chain(self, mark: tuple[int, str]) -> bool:
        return (await header(self.rpc, mark[0])).hash == mark[1]

    async def _add(self, mark: tuple[int, str] | None, last: int, chunk: Chunk) -> bool:
        """Write a range. False: it does not continue from where the index stands."""
        if mark is not None and chunk.parent_hash != mark[1]:
            return False
        async with self._alone() as tx:
            if await newest_mark(tx) != mark:
                return False
            await _apply(tx, chunk.transfers, sign=1)
            await _new_transfers.run(tx, [_row(transfer) for transfer in chunk.transfers])
            await _set_mark.run(tx, [{"block_number": last, "block_hash": chunk.last_hash}])
        return True

    async def _go_back(self, broken: tuple[int, str]) -> None:
        """Undo to the newest mark that is still on the chain; without one, begin again."""
        async with self.store.read() as tx:
            found = await tx.execute(select(holder_mark).order_by(holder_mark.c.block_number.desc()))
            marks = [(row.block_number, row.block_hash) for row in found]
        for mark in marks[1:]:
            if await self._is_on_chain(mark):
                break
        else:
            log.warning("no mark of the holder index is on the chain any more, reading it again")
            await self.reset()
            return
        async with self._alone() as tx:
            if await newest_mark(tx) == broken:
                undone = await _transfers_after(tx, mark[0])
                await _apply(tx, undone, sign=-1)
                await tx.execute(delete(holder_transfer).where(holder_transfer.c.block_number > mark[0]))
                await tx.execute(delete(holder_mark).where(holder_mark.c.block_number > mark[0]))
        log.warning("the chain was reorganised, the holder index went back", blocks=broken[0] - mark[0])


async def newest_mark(tx: Transaction) -> tuple[int, str] | None:
    row = (await tx.execute(_NEWEST_MARK)).one_or_none()
    return None if row is None else (row.block_number, row.block_hash)


async def pages_at(tx: Transaction, block: int, size: int = PAGE) -> AsyncIterator[list[HeldBalance]]:
    """Every holder with its balance at a block not after the mark, and at the mark, in the order of addresses."""
    changes = fold(await _transfers_after(tx, block))
    after = ""
    while True:
        found = await tx.fetch(_PAGE, {"after": after, "most": size})
        last = found[-1][0] if len(found) == size else None
        # Who had sold everything by the mark is in no row any more, only in the changes.
        gone = [each for each in changes if each > after and (last is None or each <= last)]
        now = {address: int.from_bytes(balance, "big") for address, balance in found}
        if gone := [each for each in gone if each not in now]:
            now = dict(sorted({**now, **dict.fromkeys(gone, 0)}.items()))
        page = [HeldBalance(address, at_mark - changes.get(address, 0), at_mark) for address, at_mark in now.items()]
        if any(each.balance < 0 for each in page):
            raise BrokenIndex("a balance was negative")
        yield page
        if last is None:
            return
        after = last


async def forget_before(store: Store, block: int) -> None:
    """Drop what a snapshot at this block has made useless, a little at a time; the mark to go on from stays."""
    while True:
        async with store.begin() as tx:
            oldest = (await tx.execute(_OLDEST, {"most": _FORGOTTEN_AT_ONCE, "until": block})).scalars().all()
            if oldest:
                await tx.execute(delete(holder_transfer).where(holder_transfer.c.block_number <= oldest[-1]))
            else:
                await tx.execute(delete(holder_mark).where(holder_mark.c.block_number < block))
                return


def fold(transfers: Iterable[Transfer]) -> dict[str, int]:
    """By how much each balance changes. The zero address mints and burns; it holds nothing."""
    changes: defaultdict[str, int] = defaultdict(int)
    for transfer in transfers:
        changes[transfer.sender] -= transfer.amount
        changes[transfer.receiver] += transfer.amount
    changes.pop(ZERO_ADDRESS, None)
    return changes


async def _apply(tx: Transaction, transfers: Iterable[Transfer], *, sign: int) -> None:
    changes = {address: sign * change for address, change in fold(transfers).items() if change}
    held = await _held(tx, list(changes))
    after = {address: held.get(address, 0) + change for address, change in changes.items()}
    if any(balance < 0 or balance >= 2**256 for balance in after.values()):
        raise BrokenIndex("a balance would be negative")
    await _set_balances.run(tx, [{"address": address, "balance": balance} for address, balance in after.items()])
    gone = [address for address, balance in after.items() if balance == 0]
    for start in range(0, len(gone), _ASKED_AT_ONCE):
        some = gone[start : start + _ASKED_AT_ONCE]
        await tx.execute(delete(holder_balance).where(holder_balance.c.address.in_(some)))


async def _held(tx: Transaction, addresses: list[str]) -> Mapping[str, int]:
    held: dict[str, int] = {}
    for start in range(0, len(addresses), _ASKED_AT_ONCE):
        some = addresses[start : start + _ASKED_AT_ONCE]
        found = await tx.execute(select(holder_balance).where(holder_balance.c.address.in_(some)))
        held.update((row.address, row.balance) for row in found)
    return held


async def _transfers_after(tx: Transaction, block: int) -> list[Transfer]:
    found = await tx.execute(select(holder_transfer).where(holder_transfer.c.block_number > block))
    return [Transfer(row.block_number, row.log_index, row.sender, row.receiver, row.amount) for row in found]


def _row(transfer: Transfer) -> dict[str, object]:
    return {
        "block_number": transfer.block,
        "log_index": transfer.log_index,
        "sender": transfer.sender,
        "receiver": transfer.receiver,
        "amount": transfer.amount,
    }
