"""Evaluation of a round: which alerts its samples cross, marked fired with their parcels in one transaction.

One statement per round does it: from the few prices that moved into an index that holds active alerts only. What it
returns has fired, by this round and no other.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import ARRAY, BigInteger, Integer, Row, String, bindparam, text

from tickyard.features.alerts.payload import parcel_of
from tickyard.features.alerts.rules import crossed_range
from tickyard.features.alerts.store import KIND
from tickyard.kernel.wire import iso
from tickyard.market.rounds import Round
from tickyard.store import outbox
from tickyard.store.engine import Transaction
from tickyard.store.tables import to_micros


class Move(NamedTuple):
    """One token's step from sample to sample: the thresholds it crossed, first and last, and where it arrived."""

    token_id: int
    condition: str
    low: int
    high: int
    price: int


_FIRE: Final = """
    UPDATE alert SET status = 'fired', fired_at = :taken_at, fired_price_e9 = crossed.price
    FROM ({crossed}) AS crossed
    WHERE {is_it}
    RETURNING alert.id, symbol, condition, price_e9, webhook_url, key_version, fired_price_e9
"""
# A plain join would be planned as one scan of all alerts. Both databases are told to go from the moves into the
# index: SQLite by CROSS JOIN, which it never reorders, in a subquery with a LIMIT, which it never unfolds (and the
# plus keeps it from scanning the same index for the outer half); PostgreSQL by LATERAL with an OFFSET.
FIRE_SQLITE: Final = text(
    _FIRE.format(
        crossed="""
        SELECT armed.rowid AS place, json_extract(move.value, '$[4]') AS price
        FROM json_each(:moves) AS move CROSS JOIN alert AS armed INDEXED BY ix_alert_armed
        WHERE armed.status = 'active' AND armed.token_id = json_extract(move.value, '$[0]')
          AND armed.condition = json_extract(move.value, '$[1]')
          AND armed.price_e9 BETWEEN json_extract(move.value, '$[2]') AND json_extract(move.value, '$[3]')
          AND armed.expires_at > :taken_at AND armed.created_at <= :taken_at
        LIMIT -1
        """,
        is_it="alert.rowid = crossed.place AND +alert.status = 'active'",
    )
)
FIRE_POSTGRES: Final = text(
    _FIRE.format(
        crossed="""
        SELECT armed.id, move.price
        FROM unnest(:token_id, :condition, :low, :high, :price) AS move(token_id, condition, low, high, price)
        CROSS JOIN LATERAL (
            SELECT id FROM alert
            WHERE alert.status = 'active' AND alert.token_id = move.token_id AND alert.condition = move.condition
              AND alert.price_e9 BETWEEN move.low AND move.high
              AND alert.expires_at > :taken_at AND alert.created_at <= :taken_at
            OFFSET 0
        ) AS armed
        """,
        is_it="alert.id = crossed.id AND alert.status = 'active'",
    )
).bindparams(
    bindparam("token_id", type_=ARRAY(Integer)),
    bindparam("condition", type_=ARRAY(String)),
    bindparam("low", type_=ARRAY(BigInteger)),
    bindparam("high", type_=ARRAY(BigInteger)),
    bindparam("price", type_=ARRAY(BigInteger)),
    bindparam("taken_at", type_=BigInteger),
)


async def evaluate(tx: Transaction, taken: Round, previous: Mapping[int, int]) -> int:
    """Fire what this round crossed; how many alerts. `previous` has the last recorded price before it, by token id.

    Doing it again changes nothing: what crossed has fired, and an alert made after the samples were taken is not
    crossed by them.
    """
    moves = [
        Move(token_id, *crossed, price_e9)
        for token_id, price_e9 in taken.prices.items()
        if token_id in previous and (crossed := crossed_range(previous[token_id], price_e9))
    ]
    if not moves:
        return 0
    fired = await _fire(tx, moves, to_micros(taken.taken_at))
    fired_at = iso(taken.taken_at)
    await outbox.put(tx, KIND, {row.id: parcel_of(row, fired_at) for row in fired}, taken.taken_at)
    return len(fired)


async def _fire(tx: Transaction, moves: list[Move], taken_at: int) -> Sequence[Row[Any]]:
    values: dict[str, Any] = {"taken_at": taken_at}
    if tx.is_sqlite:
        fired = await tx.execute(FIRE_SQLITE, values | {"moves": msgspec.json.encode(moves).decode()})
    else:
        columns = (list(column) for column in zip(*moves, strict=True))
        fired = await tx.execute(FIRE_POSTGRES, values | dict(zip(Move._fields, columns, strict=True)))
    return fired.all()
