"""The snapshot: who held how much at the last block before 23:00, proven, and frozen.

It is taken when that block and the one after it are final, so it never has to be taken again. Balances come from the
index, rolled back to the block. The index itself is proven at the final block where it stands: all balances add up to
the supply, and every holder at the threshold or within reach of it holds what the index says.

A million holders pass through in pages: read under one view of the store, proven, and written a page at a time. Who
writes has put its name on the epoch; whoever comes later takes over, and the earlier one notices at its next page.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, select, update

from tickyard.chain.blocks import Header, final_header, header, last_before
from tickyard.chain.erc20 import balance_of, read_amount
from tickyard.chain.multicall import Call, aggregate
from tickyard.features.earn.days.holders import BrokenIndex, HeldBalance, forget_before, newest_mark, pages_at
from tickyard.features.earn.days.token import decimals, supply_in_hands
from tickyard.features.earn.room import EarnDeps, holder_index
from tickyard.features.earn.rules import snapshot_at, threshold_raw
from tickyard.features.earn.tables import earn_epoch, earn_share
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.observe.log import log
from tickyard.store.engine import Store, Transaction
from tickyard.store.statement import Bulk

REACH: Final = 10
"""Who holds a tenth of the threshold could be over it by one transfer that a node kept to itself."""
_ROWS_AT_ONCE: Final = 500
"""In one write transaction, for which everybody else waits."""
_ASKED_AT_ONCE: Final = 1_000

_new_shares: Final = Bulk(earn_share)


class Overtaken(Exception):
    """Somebody else writes this epoch now."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """What was written of a snapshot."""

    wallets: int
    total: int


async def take(deps: EarnDeps, epoch: int) -> str:
    """Take the snapshot of one epoch. What happened: taken, not final yet, moved, or somebody was faster."""
    moment_s = int(snapshot_at(epoch).timestamp())
    final = await final_header(deps.rpc, deps.earn.finality)
    if final.timestamp < moment_s:
        return "not final yet"
    async with deps.earn.reading:
        index = holder_index(deps)
        await index.catch_up(final)
        block = await _last_before(deps, moment_s, final)
        try:
            return await _prove_and_freeze(deps, epoch, final, block)
        except BrokenIndex as broken:
            log.error("the holder index does not agree with the chain, reading it again", why=str(broken))
            await index.reset()
            return "index broken"
        except Overtaken:
            return "somebody was faster"


async def _last_before(deps: EarnDeps, moment_s: int, final: Header) -> Header | None:
    """The block of the snapshot. Whoever dates it decides who is in it: with two nodes both must, to the same block."""
    block, second = await last_before(deps.rpc, moment_s, final), deps.earn.second_logs
    if second is None:
        return block
    if await header(second, final.number) != final or await last_before(second, moment_s, final) != block:
        log.error("two nodes show different blocks before the snapshot", final=final.number)
        raise UpstreamDown("two chain nodes show different blocks")
    return block


async def _threshold(deps: EarnDeps, final: Header) -> int:
    """Who counts. A digit less lets in whoever holds a tenth of it, so it is asked anew: with two nodes, of both."""
    token, second = deps.earn.terms.token, deps.earn.second_logs
    digits = await decimals(deps.rpc, token, final.hash)
    if second is not None and await decimals(second, token) != digits:
        log.error("two nodes show different decimals of the service token", decimals=digits)
        raise UpstreamDown("two chain nodes show different decimals")
    return threshold_raw(digits)


async def _prove_and_freeze(deps: EarnDeps, epoch: int, final: Header, block: Header | None) -> str:
    supply = await supply_in_hands(deps.rpc, deps.earn.multicall, deps.earn.terms.token, final.hash)
    threshold = await _threshold(deps, final)
    async with deps.store.read() as view:
        if await newest_mark(view) != (final.number, final.hash):
            return "moved"
        writer = await sign_on(deps.store, epoch, "accruing")
        await _clear(deps.store, epoch, writer)
        indexed = wallets = total = 0
        async for page in pages_at(view, -1 if block is None else block.number):
            indexed += sum(each.at_mark for each in page)
            await _prove_holders(deps, page, threshold // REACH, final.hash)
            eligible = [each for each in page if each.balance >= threshold]
            await _freeze(deps.store, epoch, writer, eligible)
            wallets += len(eligible)
            total += sum(each.balance for each in eligible)
            await deps.clock.sleep(0)
    if indexed != supply:
        raise BrokenIndex("the balances do not add up to the supply")
    await _finish(deps, epoch, writer, final, block, Frozen(wallets, total))
    if block is not None and not await _is_another_due_before(deps.store, epoch):
        await forget_before(deps.store, block.number)
    return "taken"


async def _prove_holders(deps: EarnDeps, page: Sequence[HeldBalance], reach: int, block: str) -> None:
    """Ask the chain for the balance of everybody in the page who counts or could."""
    near = [each for each in page if each.at_mark >= reach or each.balance >= reach]
    for start in range(0, len(near), _ASKED_AT_ONCE):
        some = near[start : start + _ASKED_AT_ONCE]
        calls = [Call(deps.earn.terms.token, balance_of(Address(each.address))) for each in some]
        answers = await aggregate(deps.rpc, deps.earn.multicall, calls, block=block)
        for each, answer in zip(some, answers, strict=True):
            if answer is None or read_amount(answer) != each.at_mark:
                raise BrokenIndex("a holder's balance is not what its transfers add up to")


async def sign_on(store: Store, epoch: int, state: str) -> str:
    """Put a name on the epoch, which is in this state: from now on nobody else's pages are written."""
    writer = secrets.token_hex(8)
    async with store.begin() as tx:
        mine = update(earn_epoch).where(earn_epoch.c.id == epoch, earn_epoch.c.state == state)
        if (await tx.execute(mine.values(writer=writer))).rowcount != 1:
            raise Overtaken
    return writer


async def must_write(tx: Transaction, epoch: int, writer: str) -> None:
    """Raise Overtaken when the epoch has another writer. Until this transaction ends, it cannot get one."""
    found = select(earn_epoch.c.writer).where(earn_epoch.c.id == epoch).with_for_update(read=True)
    if (await tx.execute(found)).scalar_one_or_none() != writer:
        raise Overtaken


async def _clear(store: Store, epoch: int, writer: str) -> None:
    """What an earlier try left behind."""
    mine = select(earn_share.c.address).where(earn_share.c.epoch == epoch).order_by(earn_share.c.address)
    while True:
        async with store.begin() as tx:
            await must_write(tx, epoch, writer)
            some = (await tx.execute(mine.limit(_ROWS_AT_ONCE))).scalars().all()
            if not some:
                return
            await tx.execute(delete(earn_share).where(earn_share.c.epoch == epoch, earn_share.c.address <= some[-1]))


async def _freeze(store: Store, epoch: int, writer: str, eligible: Sequence[HeldBalance]) -> None:
    for start in range(0, len(eligible), _ROWS_AT_ONCE):
        some = eligible[start : start + _ROWS_AT_ONCE]
        rows = [{"epoch": epoch, "address": each.address, "balance": each.balance} for each in some]
        async with store.begin() as tx:
            await must_write(tx, epoch, writer)
            await _new_shares.run(tx, rows)


async def _finish(deps: EarnDeps, epoch: int, writer: str, final: Header, block: Header | None, frozen: Frozen) -> None:
    async with deps.store.begin() as tx:
        taken = await tx.execute(
            update(earn_epoch)
            .where(earn_epoch.c.id == epoch, earn_epoch.c.state == "accruing", earn_epoch.c.writer == writer)
            .values(
                state="taken",
                # None: the chain is younger than the snapshot, nobody held anything.
                block_number=None if block is None else block.number,
                block_hash=None if block is None else block.hash,
                proven_at_block=final.number,
                eligible_wallets=frozen.wallets,
                eligible_total=frozen.total,
                taken_at=await deps.store.now(tx),
            )
        )
        if taken.rowcount != 1:
            raise Overtaken


async def _is_another_due_before(store: Store, epoch: int) -> bool:
    """A day whose snapshot could not be taken yet is rolled back to later, over transfers that are old by then."""
    earlier = select(earn_epoch.c.id).where(earn_epoch.c.id < epoch, earn_epoch.c.state == "accruing").limit(1)
    async with store.read() as tx:
        return (await tx.execute(earlier)).one_or_none() is not None
