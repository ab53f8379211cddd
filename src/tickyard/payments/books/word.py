"""Settling a payment by a facilitator's word, which is good once for each transaction."""

from typing import Any

from msgspec.structs import asdict

from tickyard.payments.books import statements as sql
from tickyard.payments.signed.key import Key
from tickyard.store.engine import Transaction


async def settle_by_word(tx: Transaction, key: Key, values: dict[str, Any]) -> bool:
    """False: the payment is none that can be settled, or its transaction pays for another. Whether it pays for both is
    the chain's to say."""
    named = {"transaction": values["transaction"]}
    is_first = await sql.INSERT_WORD.change(tx, asdict(key) | named) == 1
    if await sql.SETTLE_BY_WORD.change(tx, sql.key_of(key) | sql.becomes(**values)) == 1:
        return True
    if is_first:
        await sql.FORGET_WORD.change(tx, sql.key_of(key) | sql.becomes(**named))
    return False
