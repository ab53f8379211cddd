"""Reading samples and candles. Every statement walks one short range of the primary key per token.

The statements are built once: building one costs more than running it.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnClause, Table, bindparam, func, literal_column, select, union_all

from tickyard.features.history.candles import Bar, RawCandle, Sample, bars
from tickyard.features.history.tables import ROLLUPS, recorded, sample, suspect, synthetic
from tickyard.kernel.clock import SLOT_S
from tickyard.kernel.ids import Address
from tickyard.market.sampling.samples import DAY_SLOTS, SLACK_SLOTS, DayChange
from tickyard.store.engine import Transaction
from tickyard.store.identities import HAS_ITS_NAME
from tickyard.store.statement import Query
from tickyard.store.tokens import token

# No sample and no bucket ever gets this far: it is the year 22,390.
_END: Final = 2**31 - 1
_PLACE: Final = itemgetter(0)


class CandlePage(NamedTuple):
    """The candles asked for, and what there is to say about all of them."""

    first_slot: int | None
    """None: this token was never sampled."""
    newest_round: int | None
    synthetic_before: int | None
    candles: Sequence[Bar]


_NEWEST_ROUND: Final = select(func.max(recorded.c.slot))
_NEWEST_SLOT: Final = Query(_NEWEST_ROUND)
# Scalar subqueries and not joins: neither database can then choose to scan all samples.
_TOKEN: Final = select(token.c.id).where(token.c.address == bindparam("address")).scalar_subquery()


async def newest_slot(tx: Transaction) -> int | None:
    """The slot of the newest round."""
    newest: int | None = (await tx.fetch(_NEWEST_SLOT, {}))[0][0]
    return newest


# Three rows about the token travel with the others; no slot and no bucket is negative.
_FIRST_SLOT, _LAST_ROUND, _SYNTHETIC = -3, -2, -1
_ABOUT: Final = {
    _FIRST_SLOT: select(func.min(sample.c.slot)).where(sample.c.token_id == _TOKEN),
    _LAST_ROUND: _NEWEST_ROUND,
    _SYNTHETIC: select(func.max(synthetic.c.before_slot)),
}


def _page(table: Table, columns: Sequence[str]) -> Query:
    """One statement, one round trip: what is known of the token, and the newest rows of the table."""
    place = table.c[columns[0]]
    newest = (
        select(*[table.c[name] for name in columns])
        .where(table.c.token_id == _TOKEN, place < bindparam("end"))
        .order_by(place.desc())
        .limit(bindparam("limit"))
        .offset(literal_column("0"))
        .subquery()
    )
    padding: list[ColumnClause[Any]] = [literal_column("0")] * (len(columns) - 2)
    about = [select(literal_column(str(key)), query.scalar_subquery(), *padding) for key, query in _ABOUT.items()]
    return Query(union_all(select(newest), *about))


_SAMPLE_PAGE: Final = _page(sample, ["slot", "price_e9"])
_CANDLE_PAGES: Final = {interval_s: _page(table, RawCandle._fields) for interval_s, table in ROLLUPS.items()}


async def page(
    tx: Transaction, address: Address, interval_s: int, limit: int, before_s: int | None = None
) -> CandlePage:
    """The newest `limit` candles, oldest first; only those that opened before `before_s`, when given."""
    # The first bucket that does not open before that moment.
    end = _END if before_s is None else -(-before_s // interval_s)
    # The newest buckets hold at most so many rows, so each of them is complete.
    rows_per_bucket = 1 if interval_s in ROLLUPS else interval_s // SLOT_S
    values = {"address": address, "end": min(end * rows_per_bucket, _END), "limit": limit * rows_per_bucket}
    rows = await tx.fetch(_CANDLE_PAGES.get(interval_s, _SAMPLE_PAGE), values)
    rows.sort(key=_PLACE)
    about = [row[1] for row in rows[: len(_ABOUT)]]
    candles: list[Any] = rows[len(_ABOUT) :]
    if interval_s not in ROLLUPS:
        candles = bars(candles, interval_s)[-limit:]
    return CandlePage(about[0], about[1], about[2], candles)


class Suspect(NamedTuple):
    token_id: int
    price_e9: int
    equity_e9: int


_SUSPECTS: Final = (
    select(sample.c.token_id, sample.c.price_e9, suspect.c.equity_e9)
    .join(suspect, (suspect.c.token_id == sample.c.token_id) & (suspect.c.slot == sample.c.slot))
    .where(suspect.c.slot == bindparam("slot"))
    .order_by(sample.c.token_id)
)


async def suspects_of(tx: Transaction, slot: int) -> list[Suspect]:
    """The samples of one round that were not believed."""
    return [Suspect(*row) for row in await tx.execute(_SUSPECTS, {"slot": slot})]


_COVERAGE: Final = select(
    token.c.id,
    select(func.count())
    .select_from(sample)
    .where(sample.c.token_id == token.c.id, sample.c.slot >= bindparam("since"))
    .scalar_subquery(),
).where(HAS_ITS_NAME)


async def coverage(tx: Transaction, since_slot: int) -> dict[int, int]:
    """How many samples every token has since this slot."""
    return {row[0]: row[1] for row in await tx.execute(_COVERAGE, {"since": since_slot})}


_ITS: Final = (sample.c.token_id == token.c.id, sample.c.slot < bindparam("end"))
_LATEST: Final = select(
    token.c.id,
    select(func.max(sample.c.slot)).where(*_ITS).scalar_subquery(),
    select(sample.c.price_e9).where(*_ITS).order_by(sample.c.slot.desc()).limit(1).scalar_subquery(),
)


async def latest_samples(tx: Transaction, before_slot: int | None = None) -> dict[int, Sample]:
    """The newest sample of every token (before this slot, when given)."""
    rows = await tx.execute(_LATEST, {"end": _END if before_slot is None else before_slot})
    return {token_id: (slot, price_e9) for token_id, slot, price_e9 in rows if slot is not None}


_NEWEST_SAMPLE: Final = (
    select(sample.c.slot, sample.c.price_e9)
    .where(
        sample.c.token_id == bindparam("token_id"),
        sample.c.slot >= bindparam("lo"),
        sample.c.slot <= bindparam("hi"),
    )
    .order_by(sample.c.slot.desc())
    .limit(1)
)


async def sample_between(tx: Transaction, token_id: int, lo: int, hi: int) -> Sample | None:
    """The newest sample of a token with its slot from `lo` to `hi`, both included."""
    row = (await tx.execute(_NEWEST_SAMPLE, {"token_id": token_id, "lo": lo, "hi": hi})).first()
    return (row[0], row[1]) if row else None


_NAMES: Final = select(token.c.id, token.c.address)


async def day_changes(tx: Transaction) -> dict[Address, DayChange]:
    """Every token's newest sample and the newest one that is a day, or a little more, older than it."""
    newest = await latest_samples(tx)
    addresses = {row[0]: Address(row[1]) for row in await tx.execute(_NAMES)}
    # Nearly all tokens were sampled in the newest round: one statement finds their day-old samples.
    common = max((slot for slot, _ in newest.values()), default=0)
    day_old = await latest_samples(tx, common - DAY_SLOTS + 1)
    changes = {}
    for token_id, (slot, price_e9) in newest.items():
        lo, hi = slot - DAY_SLOTS - SLACK_SLOTS, slot - DAY_SLOTS
        old = day_old.get(token_id) if slot == common else await sample_between(tx, token_id, lo, hi)
        day_ago = old[1] if old is not None and lo <= old[0] <= hi else None
        changes[addresses[token_id]] = DayChange(slot, price_e9, day_ago)
    return changes
