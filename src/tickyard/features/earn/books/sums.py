"""Where the money of an epoch is, added up from the rows themselves."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from sqlalchemy import Row, bindparam, func, select

from tickyard.features.earn.days.outcome import line_since
from tickyard.features.earn.tables import earn_close, earn_epoch, earn_line
from tickyard.market.short_lived import SharedFlight
from tickyard.observe.log import log
from tickyard.store.engine import Store, Transaction

_SLICES: Final = "0123456789abcdef"
_MANY: Final = 2_000
"""More wallets than this are added up in slices, so that others have their turn in between."""
_KEEP_S: Final = 5.0
_KEEP_TIMES: Final = 10
"""Or so many times as long as adding them up has taken."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Where the pool of a closed epoch is, in base units."""

    pool: int
    paid: int
    in_flight: int
    rolled: int
    late: int

    @property
    def is_balanced(self) -> bool:
        return self.paid + self.in_flight + self.rolled + self.late == self.pool


class HasStore(Protocol):
    @property
    def store(self) -> Store: ...


@dataclass(slots=True)
class SharedSums:
    """For whoever turns the pages of a day: its sums are the same on every page, and with many wallets adding them up
    is most of the work. So all pages share them, for as long as makes that work a small part of the time."""

    _kept: dict[tuple[int, str], tuple[float, Sums]] = field(default_factory=dict)
    """By epoch and state, and until when: closing moves everything at once."""
    _flight: SharedFlight[tuple[int, str], Sums] = field(default_factory=SharedFlight)

    async def read(self, store: Store, row: Row[Any]) -> Sums:
        if not _has_many(row):
            return await read_sums(store, row)
        until, sums = self._kept.get((row.id, row.state), (0.0, None))
        if sums is not None and store.clock.monotonic() < until:
            return sums
        return await self._flight.share((row.id, row.state), lambda: self._add_up(store, row))

    async def _add_up(self, store: Store, row: Row[Any]) -> Sums:
        began = store.clock.monotonic()
        sums = await read_sums(store, row)
        took_s = store.clock.monotonic() - began
        self._kept[row.id, row.state] = (began + took_s + max(_KEEP_S, _KEEP_TIMES * took_s), sums)
        return sums


async def unbalanced_epochs(deps: HasStore, *, newest: int = 30) -> list[int]:
    """Closed epochs whose books do not balance, for the worker to cry about. There are none, ever."""
    closed = select(earn_epoch).where(earn_epoch.c.state == "closed").order_by(earn_epoch.c.id.desc()).limit(newest)
    async with deps.store.read() as tx:
        rows = (await tx.execute(closed)).all()
    wrong: list[int] = [row.id for row in rows if not (await read_sums(deps.store, row)).is_balanced]
    if wrong:
        log.error("the books of the reward program do not balance", epochs=wrong)
    return wrong


async def read_sums(store: Store, row: Row[Any]) -> Sums:
    """From the lines as they are, not from what closing expected of them. Many are added up in slices, each of which
    sees a moment of its own: a sum may then be a moment off until nothing moves any more."""
    found = [0, 0, 0]
    many = _has_many(row)
    for low, high in _ranges(_SLICES if many else ""):
        async with store.read() as tx:
            for at, amount in enumerate(await _slice(tx, row, low, high)):
                found[at] += amount
        if many:
            await store.clock.sleep(0)
    paid, in_flight, late = found
    return Sums(row.pool_raw or 0, paid, in_flight, row.rolled_raw or 0, late)


def _has_many(row: Row[Any]) -> bool:
    return (row.eligible_wallets or 0) > _MANY


def _ranges(digits: str) -> Sequence[tuple[str, str]]:
    """Ranges of addresses: all of them, or one per two digits in front."""
    if not digits:
        return [("", "0y")]
    starts = [f"0x{a}{b}" for a in digits for b in digits]
    return list(zip(starts, [*starts[1:], "0y"], strict=True))


async def _slice(tx: Transaction, row: Row[Any], low: str, high: str) -> tuple[int, int, int]:
    """Paid, on its way, returned later."""
    within = {"of_epoch": row.id, "low": low, "high": high}
    by_state = {state: int(amount) for state, amount in await tx.execute(_BY_STATE, within)}
    live = by_state.get("sent", 0) + by_state.get("due", 0)
    paid = by_state.get("confirmed", 0)
    if row.state != "closed":
        return paid, live, 0
    late = unsettled = 0
    for amount, returned_to, state in await tx.execute(_CLOSED, within):
        if returned_to is None and state not in ("sent", "due", "confirmed"):
            # Not sent yet, or failed for good and not yet in another pool.
            unsettled += int(amount)
        elif returned_to not in (None, row.id):
            late += int(amount)
    return paid, live + unsettled, late


_BY_STATE: Final = (
    select(earn_line.c.state, func.sum(earn_line.c.amount_raw))
    .where(
        earn_line.c.epoch == bindparam("of_epoch"),
        earn_line.c.address >= bindparam("low"),
        earn_line.c.address < bindparam("high"),
    )
    .group_by(earn_line.c.state)
)
_CLOSED: Final = (
    select(func.sum(earn_close.c.amount_raw), earn_close.c.returned_to, earn_line.c.state)
    .select_from(earn_close)
    .join(earn_line, line_since(earn_close), isouter=True)
    .where(
        earn_close.c.epoch == bindparam("of_epoch"),
        earn_close.c.address >= bindparam("low"),
        earn_close.c.address < bindparam("high"),
    )
    .group_by(earn_close.c.returned_to, earn_line.c.state)
)
