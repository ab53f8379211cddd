"""The ledger: one row per payment, moved only by conditional writes. The row is the single flight of all processes.

                reserve                 start_settling                settle
    (no row) -----------> running -----------------------> settling ---------> settled
        ^                 |    ^                            |  ^   |             |
        +----release------+    +----reserve---- failed <----+  |   +---> unknown <+ unsettle
                                                     refuse    +--resume----+

Who moves a row holds it under a name of its own until a lease ends. When a process dies,
    running    nothing was settled: after the lease anybody may take the payment over, for any request
    settling   the money may have moved: after the lease it is unknown
    unknown    is looked up on the chain; only its buyer's own repeat has it settled again
    settled    the answer waits in the row for a day; until its transfer is final it may become unknown again
    failed     is watched, with its answer, until its authorization can no longer be used: a transfer settles it
A holder that overslept finds its name gone and touches nothing. `look_at` is when the worker looks at a row next.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace
from sqlalchemy import and_, bindparam, select, text, tuple_, update

from tickyard.kernel.clock import Clock
from tickyard.payments.books import places
from tickyard.payments.books import statements as sql
from tickyard.payments.books.adopting import LOOK_PAUSE_MAX_S, adopt, first_of, is_there
from tickyard.payments.books.due import find_due
from tickyard.payments.books.reply import Reply
from tickyard.payments.books.reserving import take
from tickyard.payments.books.row import PaymentRow, Reservation, State, read_row
from tickyard.payments.books.tables import IS_OPEN, payment, payment_transfer
from tickyard.payments.books.turns import Turns
from tickyard.payments.books.word import settle_by_word
from tickyard.payments.proof.claim import claim
from tickyard.payments.proof.transfer import PaidTransfer
from tickyard.payments.signed.key import Key
from tickyard.store.engine import Store, Transaction
from tickyard.store.group_commit import Together
from tickyard.store.statement import Prepared

KEEP_ANSWERS: Final = timedelta(hours=24)
RUNNING: Final = timedelta(seconds=30)
_MARGIN: Final = timedelta(seconds=30)
_PAUSE_MAX: Final = timedelta(seconds=30)
_UNANSWERED_MAX: Final = 4
FORGOTTEN_AT_ONCE: Final = 1_000
_FORGOTTEN_TIMES: Final = 10
"""How often answers are forgotten in one round; what is left then is forgotten in the next."""
# The worker's rounds ask these every few seconds, and mostly find nothing: they are put together once.
_ABANDONED: Final = and_(text(IS_OPEN), payment.c.state == "running", payment.c.lease_until <= bindparam("now"))
_IS_ABANDONED: Final = first_of(_ABANDONED)


class Ledger:
    def __init__(self, store: Store, clock: Clock, *, settle_s: float = 30.0) -> None:
        self.store = store
        self.pen = Together(store)
        self._turns = Turns(store)
        self.clock = clock
        self._settling = timedelta(seconds=settle_s) + _MARGIN

    async def find(self, key: Key) -> PaymentRow | None:
        return await self._turns.find(key)

    async def reserve(self, claim: Reservation, holder: str) -> PaymentRow | None:
        """Take the payment for one run of its request. None: somebody else has it; look again."""
        now = self.clock.now()
        values: dict[str, Any] = {
            "state": "running",
            "holder": holder,
            "lease_until": now + RUNNING,
            "fingerprint": claim.fingerprint,
            "route": claim.route,
            "amount_raw": claim.amount_raw,
            "pay_to": claim.pay_to,
            "valid_before": claim.valid_before,
            "network_time": claim.network_time,
            "begun_at": now,
            "settles": 0,
            "reason": None,
            "digest": claim.digest,
            "signature": claim.signature,
            "client": claim.client,
            "identifier": claim.identifier,
        }
        kept = await self.pen.write(lambda tx: take(tx, claim, values, now))
        if kept is None:
            return None
        return PaymentRow(key=claim.key, reply=None, request=claim.request, **(values | kept))

    async def release(self, row: PaymentRow) -> bool:
        """Nothing was taken: forget the payment, so that it can be used again, for any request. One that has failed
        before goes back to where it was: its first life may turn out to have been settled."""
        return await self.pen.write(lambda tx: self._let_go(tx, row))

    async def _let_go(self, tx: Transaction, row: PaymentRow) -> bool:
        if await _end(tx, row, sql.RELEASE, _held(row, "running")):
            return True
        failed = sql.becomes(state="failed", look_at=self._next_look(0))
        return await _end(tx, row, sql.RETURN, _held(row, "running") | failed)

    async def start_settling(self, row: PaymentRow, reply: Reply, facilitator: str) -> PaymentRow | None:
        """Write the answer down and say that money may move from here on. None: the row is no longer ours, or may be
        another's from now on: whoever stood still for so long does not know whether its buyer is still there."""
        now = self.clock.now()
        if row.lease_until <= now:
            return None
        until = now + self._settling
        values: dict[str, Any] = {"state": "settling", "lease_until": until, "settles": 1, "look_at": until}
        values |= {"looks": 0, "facilitator": facilitator}
        kept = sql.becomes(status=reply.status, content_type=reply.content_type, body=reply.body, request=row.request)
        if not await self._move(sql.START_SETTLING, _held(row, "running") | kept, values):
            return None
        return replace(row, **values, reply=reply)

    def is_in_time(self, row: PaymentRow) -> bool:
        """Whether a settlement that is asked for now is over before others may take the payment for abandoned. Not so
        for who wrote `settling` down and then stood still: a machine that was paused."""
        return self.clock.now() + self._settling - _MARGIN <= row.lease_until

    async def settle(self, row: PaymentRow, transaction: str) -> PaymentRow:
        """The facilitator says that the money arrived. True from settling, unknown and failed, unless that transaction
        pays for another. The request is kept until the transfer is final: a reorganisation may undo it."""
        values = self._settled(row, transaction, None)
        if await self.pen.write(lambda tx: settle_by_word(tx, row.key, values)):
            return replace(row, **values)
        return await self.find(row.key) or row

    async def settle_by(self, row: PaymentRow, transfers: Sequence[PaidTransfer], reason: str) -> PaymentRow:
        """The chain says so: by one of these, which from now on pays for nothing else. All taken: refused, if there is
        a reason to be sure that nobody paid."""

        async def take_one(tx: Transaction) -> PaidTransfer | None:
            await sql.HOLD.one(tx, sql.key_of(row.key))
            seen = await claim(tx, payment_transfer, row, transfers)
            if seen is not None:
                values = self._settled(row, row.transaction or seen.transaction, seen)
                await sql.SETTLE.change(tx, sql.key_of(row.key) | sql.becomes(**values))
            return seen

        seen = await self.pen.write(take_one)
        if seen is None:
            if reason and row.state != "failed":
                return await self.refuse(row, reason)
            await (self.close(row) if reason else self.watch(row, is_unexplained=True))
        else:
            # Whoever was seen there before is somewhere else by now.
            place = sql.was(mined=seen.transaction, mined_index=seen.log_index)
            again = sql.key_of(row.key) | place | sql.becomes(look_at=self.clock.now())
            await self.pen.write(lambda tx: sql.LOOK_AGAIN.change(tx, again))
        return await self.find(row.key) or row

    def _settled(self, row: PaymentRow, transaction: str, seen: PaidTransfer | None) -> dict[str, Any]:
        now = self.clock.now()
        values: dict[str, Any] = {"state": "settled", "transaction": transaction, "settled_at": now, "proof": "waiting"}
        return values | {"look_at": now, "looks": 0, "delivered_at": row.delivered_at, **places.place_of(seen)}

    async def refuse(self, row: PaymentRow, reason: str) -> PaymentRow:
        """Nothing was taken, as far as anybody knows. The answer is kept for as long as that may turn out wrong."""
        values: dict[str, Any] = {"state": "failed", "reason": reason, "look_at": self._next_look(0), "looks": 0}
        given = _held(row, row.state) | sql.becomes(**values)
        is_ours = await self.pen.write(lambda tx: _end(tx, row, sql.REFUSE, given))
        return replace(row, **values, request=None) if is_ours else await self.find(row.key) or row

    async def doubt(self, row: PaymentRow) -> PaymentRow:
        """Nobody knows. The lease of an unknown row is the pause before a facilitator may be asked again."""
        until = self.clock.now() + min(timedelta(seconds=2**row.settles), _PAUSE_MAX)
        values: dict[str, Any] = {"state": "unknown", "lease_until": until, "look_at": until}
        if await self._move(sql.DOUBT, _held(row, "settling"), values):
            return replace(row, **values)
        return await self.find(row.key) or row

    async def resume(self, row: PaymentRow, holder: str) -> PaymentRow | None:
        """Take an unknown payment to settle it again. None: it is not time yet, or somebody else did."""
        now = self.clock.now()
        due = _held(row, "unknown") | sql.was(lease_until=now, settles=row.settles)
        until = now + self._settling
        values: dict[str, Any] = {"state": "settling", "holder": holder, "lease_until": until, "look_at": until}
        values["settles"] = row.settles + 1
        return replace(row, **values) if await self._move(sql.RESUME, due, values) else None

    async def expire(self, row: PaymentRow) -> PaymentRow:
        """A settling whose holder is gone: unknown, and due at once."""
        if row.state != "settling" or row.lease_until > self.clock.now():
            return row
        late = _held(row, "settling") | sql.was(lease_until=row.lease_until)
        if await self._move(sql.EXPIRE, late, {"state": "unknown"}):
            return replace(row, state="unknown")
        return await self.find(row.key) or row

    async def unsettle(self, row: PaymentRow) -> PaymentRow:
        """The transfer that we saw is gone: the chain was reorganised. It is watched again."""
        now = self.clock.now()
        values: dict[str, Any] = {"state": "unknown", "lease_until": now, "look_at": now, "looks": 0}
        given = _held(row, "settled") | sql.becomes(**values)
        if await self.pen.write(lambda tx: places.forget(tx, row, given)):
            return replace(row, **values, settled_at=None, proof=None, **places.place_of(None))
        return await self.find(row.key) or row

    async def see(self, row: PaymentRow, transfers: Sequence[PaidTransfer]) -> None:
        """Note where the transfer of a settled payment is: the first of these, or one that is worth the same."""
        values = {**places.place_of(transfers[0]), "look_at": self._next_look(0), "looks": 0}
        given = _held(row, "settled") | sql.becomes(**values)
        await self.pen.write(lambda tx: places.note(tx, row, given, transfers))

    async def watch(self, row: PaymentRow, *, has_looked: bool = True, is_unexplained: bool = False) -> None:
        """Nothing new: look again later, and later each time. A look at which nobody answered is hardly one, but
        after a few a payment is no longer new: one that no node can answer for would come first for ever."""
        before = row.looks or 0
        looks = before + 1 if has_looked else max(before, min(before + 1, _UNANSWERED_MAX))
        values = {"look_at": self._next_look(looks), "looks": looks}
        values["unexplained"] = (row.unexplained or 0) + is_unexplained
        await self._move(sql.WATCH, _held(row, row.state), values)

    async def close(self, row: PaymentRow) -> None:
        """A failed payment whose authorization can no longer be used: there is nothing to wait for."""
        given = _held(row, "failed")
        await self.pen.write(lambda tx: sql.CLOSE.change(tx, given))

    async def deliver(self, keys: Iterable[Key]) -> None:
        """Note that the answers of these payments have left the house."""
        now = sql.becomes(delivered_at=self.clock.now())
        async with self.store.begin() as tx:
            await sql.DELIVER.change_each(tx, [sql.key_of(key) | now for key in keys])

    async def release_abandoned(self) -> int:
        """Forget runs whose holder is gone; how many."""
        now = {"now": self.clock.now()}
        if not await is_there(self.store, _IS_ABANDONED, now):
            return 0
        async with self.store.begin() as tx:
            found = (await tx.execute(select(payment).where(_ABANDONED).limit(1000), now)).mappings()
            rows = [read_row(each) for each in found]
            for row in rows:
                await self._let_go(tx, row)
        return len(rows)

    async def adopt(self, networks: Iterable[str]) -> None:
        """Take in what nobody would look at any more, or not soon."""
        now = self.clock.now()
        await adopt(self.store, networks, now, now + self._settling)

    async def due(
        self, network: str, limit: int, *, by: datetime | None = None, is_forced: bool = False
    ) -> Sequence[PaymentRow]:
        """Payments of one network that somebody should look at by then, or by now. Forced: all that are open."""
        until = datetime.max.replace(tzinfo=UTC) if is_forced else by or self.clock.now()
        return await find_due(self.store, network, until, limit)

    async def forget_answers(self) -> int:
        """Drop answers that are no longer replayed, and who asked for them; how many. What is open keeps its own, and
        so does what the chain may still take back: it is settled anew with its answer."""
        old = and_(
            payment.c.body.is_not(None),
            payment.c.proof != "waiting",
            payment.c.begun_at < self.clock.now() - KEEP_ANSWERS,
            payment.c.settled_at < self.clock.now() - KEEP_ANSWERS,
        )
        # A few at a time: after a day without a worker, or from an old copy, all of them at once would be more than a
        # database does in one answer, and would keep everybody who pays waiting.
        key = tuple(payment.primary_key.columns)
        some = tuple_(*key).in_(select(*key).where(old).limit(FORGOTTEN_AT_ONCE))
        forgotten = 0
        for _ in range(_FORGOTTEN_TIMES):
            if not await is_there(self.store, first_of(old)):
                break
            async with self.store.begin() as tx:
                forgotten += (await tx.execute(update(payment).where(some).values(body=None, client=None))).rowcount
        return forgotten

    def _next_look(self, looks: int) -> datetime:
        return self.clock.now() + timedelta(seconds=min(2 ** min(looks, 16), LOOK_PAUSE_MAX_S))

    async def _move(self, statement: Prepared, where: dict[str, Any], values: dict[str, Any]) -> bool:
        given = {**where, **sql.becomes(**values)}
        return await self.pen.write(lambda tx: statement.change(tx, given)) == 1


async def _end(tx: Transaction, row: PaymentRow, statement: Prepared, given: dict[str, Any]) -> bool:
    """Let go of a row that is still its holder's, and of the name its client gave it."""
    if await statement.change(tx, given) == 0:
        return False
    await sql.FORGET_IDENTIFIER.change(tx, sql.key_of(row.key))
    return True


def _held(row: PaymentRow, state: State) -> dict[str, Any]:
    return sql.key_of(row.key) | sql.was(state=state, holder=row.holder)
