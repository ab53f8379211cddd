"""For the alarms: how long claims have waited. Neither a halt, a stop nor a node in trouble keeps this from being told.

A node may take a transaction and forget it, and a batch may come to nothing at every try. Its claimants were told
"sent", so having sent is not enough: the chain must have taken it, and in the end the payment must be final.
"""

from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import BigInteger, and_, bindparam, case, func, or_, select

from tickyard.features.earn.tables import earn_claim, earn_line
from tickyard.kernel.ids import Address
from tickyard.observe import metrics
from tickyard.payout.ledger import OF_CLAIM, payable_epochs
from tickyard.store.engine import Store

_TELL_S: Final = 10.0
_TOLD_OF: Final = 7
"""So many of the newest epochs are looked through for the oldest claim."""
_NEVER: Final = 2**62

_line: Final = earn_line.c
_is_off_chain: Final = or_(
    _line.state.is_(None),
    _line.state == "due",
    and_(
        _line.state == "sent",
        _line.payer == bindparam("of_payer"),
        _line.nonce >= bindparam("first", type_=BigInteger),
    ),
)
_OLDEST: Final = (
    select(
        func.min(case((_is_off_chain, earn_claim.c.reserved_at))).label("off_chain"),
        func.min(earn_claim.c.reserved_at).label("unpaid"),
    )
    .join(earn_line, OF_CLAIM, isouter=True)
    .where(
        earn_claim.c.epoch.in_(bindparam("epochs", expanding=True)),
        or_(_line.state.is_(None), _line.state.in_(("due", "sent"))),
    )
)


@dataclass(slots=True)
class Waits:
    store: Store
    payer: Address
    _tell_at: float = 0.0

    async def tell(self, finished: Container[int], mined: int | None) -> None:
        """`mined`: how many of the payer's nonces the chain has taken, as far as it was seen; None: it was not."""
        clock = self.store.clock
        if clock.monotonic() < self._tell_at:
            return
        self._tell_at = clock.monotonic() + _TELL_S
        async with self.store.read() as tx:
            epochs = [each for each, _ in await payable_epochs(tx) if each not in finished]
            first = _NEVER if mined is None else mined
            asked = {"epochs": epochs[-_TOLD_OF:], "of_payer": self.payer, "first": first}
            oldest = (await tx.execute(_OLDEST, asked)).one()
            now = await self.store.now(tx)
        metrics.payout_oldest_s.set(_waited_s(oldest.off_chain, now))
        metrics.payout_unpaid_s.set(_waited_s(oldest.unpaid, now))


def _waited_s(since: datetime | None, now: datetime) -> int:
    return 0 if since is None else max(0, (now - since) // timedelta(seconds=1))
