"""The snapshot: who held how much at the last block before 23:00, proven, and frozen.

It is taken when that block and the one after it are final, so it never has to be taken again. Balances come from the
index, rolled back to the block; the index itself is proven at the final block where it stands.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import select, update

from tickyard.chain.blocks import Header, final_header, last_before
from tickyard.features.earn.desk import EarnDeps, holder_index, token_facts
from tickyard.features.earn.digest import shares_digest
from tickyard.features.earn.holders import BrokenIndex, balances_at, forget_before, newest_mark
from tickyard.features.earn.rules import eligible, snapshot_at, threshold_raw
from tickyard.features.earn.tables import earn_epoch, earn_share
from tickyard.features.earn.token import total_supply
from tickyard.observe.log import log
from tickyard.store.engine import Transaction
from tickyard.store.statement import Bulk

NO_BLOCK: Final = "0x" + "0" * 64
"""The chain is younger than the snapshot: nobody held anything."""
_ROWS_AT_ONCE: Final = 20_000

_new_shares: Final = Bulk(earn_share)


@dataclass(frozen=True, slots=True)
class HolderBalances:
    """Who took part at which block, and at which one that was proven."""

    block: Header | None
    proven_at: int
    balances: dict[str, int]


async def take(deps: EarnDeps, epoch: int) -> str:
    """Take the snapshot of one epoch. What happened: taken, not final yet, moved, or somebody was faster."""
    moment_s = int(snapshot_at(epoch).timestamp())
    final = await final_header(deps.rpc, deps.earn.finality)
    if final.timestamp < moment_s:
        return "not final yet"
    index = holder_index(deps)
    await index.catch_up(final)
    block = await last_before(deps.rpc, moment_s, final)
    try:
        holdings = await _prove(deps, final, block)
    except BrokenIndex as broken:
        log.error("the holder index does not agree with the chain, reading it again", why=str(broken))
        await index.reset()
        return "index broken"
    if holdings is None:
        return "moved"
    return "taken" if await _freeze(deps, epoch, holdings) else "somebody was faster"


async def _prove(deps: EarnDeps, final: Header, block: Header | None) -> HolderBalances | None:
    """The holdings at the block, if the index stands at the final one and holds as much as there is."""
    supply = await total_supply(deps.rpc, deps.earn.terms.token, final.hash)
    facts = await token_facts(deps)
    async with deps.store.read() as tx:
        if await newest_mark(tx) != (final.number, final.hash):
            return None
        held, indexed = await balances_at(tx, -1 if block is None else block.number)
    if indexed != supply:
        raise BrokenIndex("the balances do not add up to the supply")
    return HolderBalances(block, final.number, eligible(held, threshold_raw(facts.decimals)))


async def _freeze(deps: EarnDeps, epoch: int, holdings: HolderBalances) -> bool:
    rows = [{"epoch": epoch, "address": owner, "balance": held} for owner, held in holdings.balances.items()]
    digest = shares_digest(holdings.balances)
    async with deps.store.begin() as tx:
        taken = await tx.execute(
            update(earn_epoch)
            .where(earn_epoch.c.id == epoch, earn_epoch.c.state == "accruing")
            .values(
                state="taken",
                block_number=None if holdings.block is None else holdings.block.number,
                block_hash=NO_BLOCK if holdings.block is None else holdings.block.hash,
                proven_at_block=holdings.proven_at,
                eligible_wallets=len(rows),
                eligible_total=sum(holdings.balances.values()),
                shares_digest=digest,
                taken_at=await deps.store.now(tx),
            )
        )
        if taken.rowcount != 1:
            return False
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            await _new_shares.run(tx, rows[start : start + _ROWS_AT_ONCE])
        if holdings.block is not None and not await _is_another_due_before(tx, epoch):
            await forget_before(tx, holdings.block.number)
    return True


async def _is_another_due_before(tx: Transaction, epoch: int) -> bool:
    """A day whose snapshot could not be taken yet is rolled back to later, over transfers that are old by then."""
    earlier = select(earn_epoch.c.id).where(earn_epoch.c.id < epoch, earn_epoch.c.state == "accruing").limit(1)
    return (await tx.execute(earlier)).one_or_none() is not None
