"""Whose turn it is to pay: a desk knows whom it has paid itself, and nothing of another desk's payments.

So an epoch is paid by the desk that it was sealed for, to its end, and the days of the next desk come after it. An
agent that was started for another desk, or whose key the desk does not name, has to let the right one have its turn.
"""

from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import and_, bindparam, or_, select, text

from tickyard.features.earn.days.outcome import line_since
from tickyard.features.earn.tables import earn_batch, earn_close, earn_desk_mark, earn_epoch, earn_line
from tickyard.kernel.ids import Address
from tickyard.store.engine import Transaction
from tickyard.store.statement import Query

_another_was_read: Final = select(earn_desk_mark.c.desk).where(earn_desk_mark.c.desk != bindparam("our_desk")).exists()
IS_OURS: Final = or_(
    and_(earn_epoch.c.desk.is_not(None), earn_epoch.c.desk == bindparam("our_desk")),
    and_(earn_epoch.c.desk.is_(None), ~_another_was_read),
)
"""For `our_desk`. A day of which no desk is written down may be another's as soon as there was another."""
_ELSEWHERE: Final = Query(select(earn_epoch.c.id).where(earn_epoch.c.digest.is_not(None), ~IS_OURS))
_on_its_way: Final = select(earn_line.c.epoch).where(
    earn_line.c.epoch == earn_epoch.c.id, earn_line.c.state.in_(("sent", "due"))
)
_unmined: Final = select(earn_batch.c.epoch).where(
    earn_batch.c.epoch == earn_epoch.c.id, text("earn_batch.ended_at IS NULL")
)
_waiting: Final = (
    select(earn_close.c.epoch)
    .select_from(earn_close)
    .join(earn_line, line_since(earn_close), isouter=True)
    .where(earn_close.c.epoch == earn_epoch.c.id, earn_close.c.returned_to.is_(None), earn_line.c.state.is_(None))
)
_OLDEST: Final = (
    select(earn_epoch.c.id, earn_epoch.c.desk)
    .where(
        earn_epoch.c.digest.is_not(None),
        or_(
            earn_epoch.c.state.in_(("sealed", "open", "closing")),
            and_(
                earn_epoch.c.state == "closed",
                or_(_on_its_way.exists(), _unmined.exists(), _waiting.exists()),
            ),
        ),
    )
    .order_by(earn_epoch.c.id)
    .limit(1)
)
"""Of the epochs of which something is still to be paid, or may be."""


class NotOurTurn(Exception):
    """Another agent has to pay first. The message says which, for the person who started this one."""


@dataclass(slots=True)
class Turn:
    desk: Address
    _over: set[int] = field(default_factory=set)
    """Epochs of other desks of which nothing is left to be done."""

    async def must_be_ours(self, tx: Transaction) -> None:
        """Raise NotOurTurn while an epoch of another desk has not ended, unless one of ours is older."""
        elsewhere = {epoch for (epoch,) in await tx.fetch(_ELSEWHERE, {"our_desk": self.desk})} - self._over
        if not elsewhere:
            return
        oldest = (await tx.execute(_OLDEST)).one_or_none()
        if oldest is None or oldest.desk == self.desk:
            self._over |= {epoch for epoch in elsewhere if oldest is None or epoch < oldest.id}
            return
        if oldest.desk is None:
            raise NotOurTurn(
                f"nobody has written down which desk pays epoch {oldest.id}: start a worker of this version"
            )
        raise NotOurTurn(
            f"epoch {oldest.id} is paid by the desk {oldest.desk}: an agent for that one must end it first"
        )
