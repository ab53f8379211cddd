"""The ledger: one row per payment, moved only by conditional writes. The row is the single flight of all processes.

                reserve                 start_settling                settle
    (no row) -----------> running -----------------------> settling ---------> settled
        ^                 |    ^                            |  ^   |
        +----release------+    +----reserve---- failed <----+  |   +---> unknown ---> settled | failed
                                                     refuse    +--resume----+

Who moves a row holds it under a name of its own until a lease ends. When a process dies,
    running    nothing was settled: after the lease anybody may take the payment over, for any request
    settling   the money may have moved: after the lease it is unknown
    unknown    is looked up on the chain, and settled again only while its nonce is unused
    settled    the answer waits in the row for a day
A holder that overslept finds its name gone and touches nothing.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace
from sqlalchemy import and_, select, update
from sqlalchemy.engine import RowMapping

from tickyard.kernel.clock import Clock
from tickyard.kernel.ids import Address
from tickyard.payments import statements as sql
from tickyard.payments.refusal import IDENTIFIER_USED, Refusal
from tickyard.payments.reply import Reply
from tickyard.payments.signed.authorization import Key
from tickyard.payments.tables import payment
from tickyard.store.engine import Store, Transaction
from tickyard.store.group_commit import Together
from tickyard.store.statement import Prepared

KEEP_ANSWERS: Final = timedelta(hours=24)
RUNNING: Final = timedelta(seconds=30)
_MARGIN: Final = timedelta(seconds=30)
_PAUSE_MAX: Final = timedelta(seconds=30)

State = Literal["running", "settling", "unknown", "settled", "failed"]


class PaymentRow(msgspec.Struct, frozen=True, gc=False):
    key: Key
    state: State
    holder: str
    lease_until: datetime
    fingerprint: str
    route: str
    amount_raw: int
    pay_to: Address
    valid_before: int
    network_time: int
    """When the payment was taken, by the clock of its network: in the sandbox that is not ours."""
    begun_at: datetime
    settles: int
    """How often a facilitator was asked to settle."""
    request: bytes | None
    """What facilitators are sent. Written down when the settling starts, dropped when the row is done."""
    reply: Reply | None
    transaction: str | None = None
    reason: str | None = None
    settled_at: datetime | None = None


class Reservation(msgspec.Struct, frozen=True, gc=False):
    """What a reservation is made of."""

    key: Key
    fingerprint: str
    route: str
    amount_raw: int
    pay_to: Address
    valid_before: int
    network_time: int
    request: bytes
    identifier: str | None


class Ledger:
    def __init__(self, store: Store, clock: Clock, *, settle_s: float = 30.0) -> None:
        self.store = store
        self.pen = Together(store)
        self._clock = clock
        self._settling = timedelta(seconds=settle_s) + _MARGIN

    async def find(self, key: Key) -> PaymentRow | None:
        async with self.store.glance() as tx:
            found = await sql.FIND.one(tx, sql.key_of(key))
        return None if found is None else read_row(found)

    async def reserve(self, claim: Reservation, holder: str) -> PaymentRow | None:
        """Take the payment for one run of its request. None: somebody else has it; look again."""
        now = self._clock.now()
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
        }
        is_ours = await self.pen.write(lambda tx: _take(tx, claim, values, now))
        return PaymentRow(key=claim.key, reply=None, request=claim.request, **values) if is_ours else None

    async def release(self, row: PaymentRow) -> bool:
        """Nothing was taken: forget the payment, so that it can be used again, for any request."""
        return await self.pen.write(lambda tx: _end(tx, row, sql.RELEASE, _held(row, "running")))

    async def start_settling(self, row: PaymentRow, reply: Reply) -> PaymentRow | None:
        """Write the answer down and say that money may move from here on. None: the row is no longer ours."""
        until = self._clock.now() + self._settling
        values: dict[str, Any] = {"state": "settling", "lease_until": until, "settles": 1}
        kept = sql.becomes(status=reply.status, content_type=reply.content_type, body=reply.body, request=row.request)
        if not await self._move(sql.START_SETTLING, _held(row, "running") | kept, values):
            return None
        return replace(row, **values, reply=reply)

    async def settle(self, row: PaymentRow, transaction: str) -> PaymentRow:
        """The money arrived. True from settling and from unknown, whoever found out."""
        now = self._clock.now()
        values: dict[str, Any] = {"state": "settled", "transaction": transaction, "settled_at": now, "request": None}
        if await self._move(sql.SETTLE, sql.key_of(row.key) | sql.becomes(proof="waiting"), values):
            return replace(row, **values)
        return await self.find(row.key) or row

    async def refuse(self, row: PaymentRow, reason: str) -> PaymentRow:
        """Nothing was taken, and this row's settling is over."""
        values: dict[str, Any] = {"state": "failed", "reason": reason, "request": None}
        given = _held(row, row.state) | sql.becomes(**values, body=None)
        is_ours = await self.pen.write(lambda tx: _end(tx, row, sql.REFUSE, given))
        return replace(row, **values, reply=None) if is_ours else await self.find(row.key) or row

    async def doubt(self, row: PaymentRow) -> PaymentRow:
        """Nobody knows. The lease of an unknown row is the pause before a facilitator may be asked again."""
        until = self._clock.now() + min(timedelta(seconds=2**row.settles), _PAUSE_MAX)
        values: dict[str, Any] = {"state": "unknown", "lease_until": until}
        if await self._move(sql.DOUBT, _held(row, "settling"), values):
            return replace(row, **values)
        return await self.find(row.key) or row

    async def resume(self, row: PaymentRow, holder: str) -> PaymentRow | None:
        """Take an unknown payment to settle it again. None: it is not time yet, or somebody else did."""
        now = self._clock.now()
        due = _held(row, "unknown") | sql.was(lease_until=now, settles=row.settles)
        until = now + self._settling
        values: dict[str, Any] = {"state": "settling", "holder": holder, "lease_until": until}
        values["settles"] = row.settles + 1
        return replace(row, **values) if await self._move(sql.RESUME, due, values) else None

    async def expire(self, row: PaymentRow) -> PaymentRow:
        """A settling whose holder is gone: unknown, and due at once."""
        if row.state != "settling" or row.lease_until > self._clock.now():
            return row
        late = _held(row, "settling") | sql.was(lease_until=row.lease_until)
        if await self._move(sql.EXPIRE, late, {"state": "unknown"}):
            return replace(row, state="unknown")
        return await self.find(row.key) or row

    async def release_abandoned(self) -> int:
        """Forget runs whose holder is gone; how many."""
        abandoned = and_(payment.c.state == "running", payment.c.lease_until <= self._clock.now())
        async with self.store.begin() as tx:
            found = (await tx.execute(select(payment).where(abandoned).limit(1000))).mappings()
            rows = [read_row(each) for each in found]
            for row in rows:
                await _end(tx, row, sql.RELEASE, _held(row, "running"))
        return len(rows)

    async def doubtful(self, limit: int) -> Sequence[PaymentRow]:
        """Payments somebody should look after: unknown ones that are due, and settlings whose holder is gone."""
        due = and_(payment.c.state.in_(("settling", "unknown")), payment.c.lease_until <= self._clock.now())
        async with self.store.read() as tx:
            found = await tx.execute(select(payment).where(due).order_by(payment.c.lease_until).limit(limit))
            return [read_row(each) for each in found.mappings()]

    async def forget_answers(self) -> int:
        """Drop answers that are no longer replayed; how many. What is still unknown keeps its answer."""
        old = and_(
            payment.c.body.is_not(None),
            payment.c.begun_at < self._clock.now() - KEEP_ANSWERS,
            payment.c.settled_at < self._clock.now() - KEEP_ANSWERS,
        )
        async with self.store.begin() as tx:
            return (await tx.execute(update(payment).where(old).values(body=None))).rowcount

    async def _move(self, statement: Prepared, where: dict[str, Any], values: dict[str, Any]) -> bool:
        given = {**where, **sql.becomes(**values)}
        return await self.pen.write(lambda tx: statement.change(tx, given)) == 1


async def _take(tx: Transaction, claim: Reservation, values: dict[str, Any], now: datetime) -> bool:
    """Make the claim's row, or take over one that is free. Raises Refusal when its name belongs to another payment."""
    key, names = sql.key_of(claim.key), {**_columns(claim.key), "identifier": claim.identifier}
    if claim.identifier is not None:
        owner = await sql.FIND_IDENTIFIER.one(tx, {"k_payer": claim.key.payer, "k_identifier": claim.identifier})
        if owner is not None and owner != names:
            raise Refusal(IDENTIFIER_USED)
    if await sql.INSERT.change(tx, {**_columns(claim.key), **values}) == 0:
        if await sql.TAKE_OVER.change(tx, {**key, **sql.was(lease_until=now), **sql.becomes(**values)}) == 0:
            return False
        await sql.FORGET_IDENTIFIER.change(tx, key)
    if claim.identifier is not None and await sql.INSERT_IDENTIFIER.change(tx, names) == 0:
        # Somebody else's in the same moment: what was written here is undone with this.
        raise Refusal(IDENTIFIER_USED)
    return True


async def _end(tx: Transaction, row: PaymentRow, statement: Prepared, given: dict[str, Any]) -> bool:
    """Let go of a row that is still its holder's, and of the name its client gave it."""
    if await statement.change(tx, given) == 0:
        return False
    await sql.FORGET_IDENTIFIER.change(tx, sql.key_of(row.key))
    return True


def _columns(key: Key) -> dict[str, str]:
    return {"network": key.network, "asset": key.asset, "payer": key.payer, "nonce": key.nonce}


def _held(row: PaymentRow, state: State) -> dict[str, Any]:
    return sql.key_of(row.key) | sql.was(state=state, holder=row.holder)


def read_row(found: RowMapping | Mapping[str, Any]) -> PaymentRow:
    values = dict(found)
    key = Key(*(values.pop(name) for name in ("network", "asset", "payer", "nonce")))
    status, content_type, body, _ = (values.pop(name) for name in ("status", "content_type", "body", "proof"))
    reply = None if body is None else Reply(status, bytes(body), content_type)
    if values["request"] is not None:
        values["request"] = bytes(values["request"])
    return PaymentRow(key=key, reply=reply, **values)
