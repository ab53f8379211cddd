"""When no agent may go on: something is true that the protocol rules out. A row says so, and a person takes it away."""

from datetime import datetime
from typing import Final

from sqlalchemy import delete, select, text, update

from tickyard.features.earn.tables import earn_desk_mark, earn_halt
from tickyard.store.engine import Store, Transaction
from tickyard.store.statement import Query
from tickyard.store.upsert import insert_new

LOOKED_AT: Final = "looked at "
"""Before the hash of the block up to which the desk was read: that block may have left the chain."""
_NAME: Final = "payout"
# Every round and every write asks it.
_HALT: Final = Query(select(earn_halt.c.reason).where(text(f"earn_halt.name = '{_NAME}'")))


class Halted(Exception):
    """The agents have stopped. The message says what one of them saw; nothing more is signed or sent."""


async def halt_reason(tx: Transaction) -> str | None:
    found = await tx.fetch(_HALT, {})
    return str(found[0][0]) if found else None


async def must_not_be_halted(tx: Transaction) -> None:
    if (reason := await halt_reason(tx)) is not None:
        raise Halted(reason)


async def halt(store: Store, reason: str) -> None:
    """Stop every agent. The first reason stays."""
    async with store.begin() as tx:
        await halt_with(tx, reason, await store.now(tx))


async def halt_with(tx: Transaction, reason: str, now: datetime) -> None:
    """Stop every agent with what else is written here: for what nobody would see a second time."""
    await tx.execute(insert_new(tx, earn_halt), {"name": _NAME, "reason": reason, "halted_at": now})


async def lift(store: Store) -> str | None:
    """Let the agents go on. The reason for which they stood still; None: they did not."""
    async with store.begin() as tx:
        reason = await halt_reason(tx)
        await tx.execute(delete(earn_halt).where(earn_halt.c.name == _NAME))
        if reason is not None:
            # Whatever branch the chain is on by now, a person has seen it: they would stop at it again otherwise.
            seen = update(earn_desk_mark).where(~earn_desk_mark.c.block_hash.startswith(LOOKED_AT))
            await tx.execute(seen.values(block_hash=LOOKED_AT + earn_desk_mark.c.block_hash))
    return reason
