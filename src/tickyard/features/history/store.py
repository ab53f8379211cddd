"""Writing rounds: samples and the candles they belong to, in one transaction."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Table, case

from tickyard.features.history.candles import CandlePart, Sample, parts
from tickyard.features.history.tables import ROLLUPS, recorded, sample, suspect, synthetic
from tickyard.market.sampling.rounds import Round, slot_number
from tickyard.store.engine import Transaction
from tickyard.store.statement import Bulk
from tickyard.store.upsert import insert_new, upsert


async def record(tx: Transaction, taken: Round, *, history_start: datetime) -> int:
    """Write one round. How many samples were new: none when the slot is already recorded."""
    return await record_all(tx, [taken], history_start=history_start)


async def record_all(tx: Transaction, rounds: Iterable[Round], *, history_start: datetime) -> int:
    """Write many rounds. One whose slot is already recorded, or lies before the start of history, changes nothing."""
    first = slot_number(history_start)
    new = [taken for taken in rounds if taken.slot >= first and await _open_round(tx, taken)]
    by_token: dict[int, list[Sample]] = {}
    for taken in new:
        for token_id, price_e9 in taken.prices.items():
            by_token.setdefault(token_id, []).append((taken.slot, price_e9))
    # Always in the order of tokens: two processes that write at once wait for each other, and never in a circle.
    ordered = sorted(by_token.items())
    samples = [
        {"token_id": token_id, "slot": slot, "price_e9": price_e9}
        for token_id, its in ordered
        for slot, price_e9 in sorted(its)
    ]
    await _SAMPLES.run(tx, samples)
    doubts = [
        {"slot": taken.slot, "token_id": token_id, "equity_e9": equity_e9}
        for taken in new
        for token_id, equity_e9 in sorted(taken.suspects.items())
    ]
    if doubts:
        await _SUSPECTS.run(tx, doubts)
    for interval_s, candles in _CANDLES.items():
        rows = [_row(token_id, part) for token_id, its in ordered for part in parts(its, interval_s)]
        await candles.run(tx, rows)
    return len(samples)


async def _open_round(tx: Transaction, taken: Round) -> bool:
    """The round's row decides who writes the slot: a second one finds it there and adds nothing."""
    row = {
        "slot": taken.slot,
        "block_number": taken.block_number,
        "block_hash": taken.block_hash,
        "taken_at": taken.taken_at,
        "sampled": len(taken.prices),
        "skipped": taken.skipped,
    }
    return (await tx.execute(insert_new(tx, recorded), row)).rowcount == 1


def _row(token_id: int, part: CandlePart) -> dict[str, int]:
    ends = {"first_slot": part.first_slot, "last_slot": part.last_slot}
    return {"token_id": token_id, **part.candle._asdict(), **ends}


def _joining(table: Table) -> Bulk:
    """Insert candles, or join them with those that are there: the same result in whatever order parts arrive."""

    def merge(new: Any) -> Mapping[str, Any]:
        old = table.c
        starts = new.first_slot < old.first_slot
        ends = new.last_slot > old.last_slot
        return {
            "open": case((starts, new.open), else_=old.open),
            "high": case((new.high > old.high, new.high), else_=old.high),
            "low": case((new.low < old.low, new.low), else_=old.low),
            "close": case((ends, new.close), else_=old.close),
            "ticks": old.ticks + new.ticks,
            "first_slot": case((starts, new.first_slot), else_=old.first_slot),
            "last_slot": case((ends, new.last_slot), else_=old.last_slot),
        }

    return Bulk(table, key=["token_id", "bucket"], merge=merge)


_SAMPLES: Final = Bulk(sample)
_SUSPECTS: Final = Bulk(suspect)
_CANDLES: Final = {interval_s: _joining(table) for interval_s, table in ROLLUPS.items()}


async def mark_synthetic(tx: Transaction, before_slot: int) -> None:
    """Say that everything before this slot was made up."""
    row = {"id": 1, "before_slot": before_slot}
    await tx.execute(upsert(tx, synthetic, ["id"], lambda new: {"before_slot": new.before_slot}), row)
