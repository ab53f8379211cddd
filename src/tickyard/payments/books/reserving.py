"""Taking a payment for one run of its request."""

from datetime import datetime
from typing import Any

from tickyard.payments.books import statements as sql
from tickyard.payments.books.row import Reservation
from tickyard.payments.refusal import IDENTIFIER_USED, Refusal
from tickyard.payments.signed.key import Key
from tickyard.store.engine import Transaction


async def take(tx: Transaction, claim: Reservation, values: dict[str, Any], now: datetime) -> dict[str, Any] | None:
    """Make the claim's row, or take over one that is free; what of an earlier life stays. None: somebody has it. Raises
    Refusal when its name belongs to another payment."""
    key, names = sql.key_of(claim.key), {**_columns(claim.key), "identifier": claim.identifier}
    if claim.identifier is not None:
        owner = await sql.FIND_IDENTIFIER.one(tx, {"k_payer": claim.key.payer, "k_identifier": claim.identifier})
        if owner is not None and owner != names:
            raise Refusal(IDENTIFIER_USED)
    kept: dict[str, Any] = {}
    if await sql.INSERT.change(tx, {**_columns(claim.key), **values}) == 0:
        anew = sql.becomes(**{name: value for name, value in values.items() if name not in sql.STAYS})
        free = sql.was(lease_until=now, fingerprint=claim.fingerprint)
        if await sql.TAKE_OVER.change(tx, {**key, **free, **anew}) == 0:
            return None
        await sql.FORGET_IDENTIFIER.change(tx, key)
        # Its first life may have been settled after all, long before this one.
        found = await sql.FIND.one(tx, key)
        assert found is not None
        kept = {name: found[name] for name in sql.STAYS}
    if claim.identifier is not None and await sql.INSERT_IDENTIFIER.change(tx, names) == 0:
        # Somebody else's in the same moment: what was written here is undone with this.
        raise Refusal(IDENTIFIER_USED)
    return kept


def _columns(key: Key) -> dict[str, str]:
    return {"network": key.network, "asset": key.asset, "payer": key.payer, "nonce": key.nonce}
