"""What becomes of alerts when a person accepts that a token stands at another address."""

from collections.abc import Collection, Iterable
from typing import Final

from sqlalchemy import select, update

from tickyard.features.alerts.rules import AlertStatus
from tickyard.features.alerts.store import IS_ACTIVE, alert, alert_gate
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address, Symbol
from tickyard.store.engine import Transaction
from tickyard.store.identities import AssetIdentity, pinned_address
from tickyard.store.tokens import token, token_ids

_RETRY_S: Final = 60


async def hold_creation(tx: Transaction) -> None:
    """Until the transaction ends nobody creates an alert: one more would be of the token as it was."""
    await tx.execute(select(alert_gate.c.id).with_for_update())


async def check_pin(tx: Transaction, symbol: Symbol, address: Address) -> None:
    """UpstreamDown where a person has accepted another address and this process has not seen it yet."""
    if await pinned_address(tx, symbol) not in {None, address}:
        raise UpstreamDown("the address of this token has just changed", retry_after_s=_RETRY_S)


async def follow_token(
    tx: Transaction, accepted: AssetIdentity, before: Iterable[AssetIdentity], listed: Collection[Address]
) -> tuple[int, int]:
    """Active alerts of who was there before: how many watch the accepted token from now on, and how many have ended.

    The same uid is the same asset. Another one is another asset under the same name, whose price nobody asked for: an
    alert of a token that is not `listed` any more would stay active and never fire, so it is cancelled.
    """
    followed = cancelled = 0
    for each in before:
        if each.address == accepted.address:
            continue
        theirs = alert.c.token_id.in_(select(token.c.id).where(token.c.address == each.address))
        if each.uid == accepted.uid:
            ids = await token_ids(tx, [(accepted.symbol, accepted.address)])
            moved = update(alert).where(IS_ACTIVE, theirs).values(token_id=ids[accepted.address])
            followed += (await tx.execute(moved)).rowcount
        elif each.address not in listed:
            ended = update(alert).where(IS_ACTIVE, theirs).values(status=str(AlertStatus.CANCELLED))
            cancelled += (await tx.execute(ended)).rowcount
    return followed, cancelled
