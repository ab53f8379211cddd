"""Where a payment's transfer was seen, and the claim of it that goes there with its row."""

from collections.abc import Sequence
from typing import Any

from tickyard.payments.books import statements as sql
from tickyard.payments.books.row import PaymentRow
from tickyard.payments.proof.claim import drop, renew
from tickyard.payments.proof.transfer import PaidTransfer
from tickyard.store.engine import Transaction


async def note(tx: Transaction, row: PaymentRow, given: dict[str, Any], transfers: Sequence[PaidTransfer]) -> None:
    if await sql.SEE.change(tx, given):
        await renew(tx, row, transfers)


async def forget(tx: Transaction, row: PaymentRow, given: dict[str, Any]) -> bool:
    if await sql.UNSETTLE.change(tx, given) == 0:
        return False
    await drop(tx, row.key)
    return True


def place_of(seen: PaidTransfer | None) -> dict[str, Any]:
    if seen is None:
        return {"mined": None, "mined_index": None, "mined_block": None, "mined_hash": None}
    return {
        "mined": seen.transaction,
        "mined_index": seen.log_index,
        "mined_block": seen.block,
        "mined_hash": seen.block_hash,
    }
