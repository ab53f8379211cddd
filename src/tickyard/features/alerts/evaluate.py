"""Evaluation of a round: which alerts its samples cross, marked fired with their parcels in one transaction.

One statement per round does it: from the few prices that moved into an index that holds active alerts only. What it
returns has fired, by this round and no other.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from sqlalchemy import BigInteger, bindparam, text

from tickyard.features.alerts.payload import Fired, parcel_of
from tickyard.features.alerts.rules import crossed_range
from tickyard.features.alerts.store import KIND
from tickyard.kernel.wire import iso
from tickyard.market.sampling.rounds import Round
from tickyard.store import outbox
from tickyard.store.engine import Transaction
from tickyard.store.statement import OverRows
from tickyard.store.tables import to_micros

Move: TypeAlias = tuple[int, str, int, int, int]
"""One token's step from sample to sample: the thresholds it crossed, first and last, and where it arrived."""
_MOVE: Final = ("token_id", "condition", "low", "high", "price")

_FIRE: Final = """
    UPDATE alert SET status = 'fired', fired_at = :taken_at, fired_price_e9 = crossed.price
    FROM ({crossed}) AS crossed
    WHERE {is_it}
    RETURNING {fired}
"""
_FIRED: Final = ", ".join(f"alert.{name}" for name in Fired._fields)
# A plain join would be planned as one scan of all alerts. Both databases are told to go from the moves into the
# index: SQLite by CROSS JOIN, which it never reorders, in a subquery with a LIMIT, which it never unfolds (and the
# plus keeps it from scanning the same index for the outer half); PostgreSQL by LATERAL with an OFFSET, and by the
# index's own order, which saves it a bitmap for every move.
_FIRE_SQLITE: Final = text(
    _FIRE.format(
        crossed="""
        SELECT armed.rowid AS place, json_extract(move.value, '$[4]') AS price
        FROM json_each(:rows) AS move CROSS JOIN alert AS armed INDEXED BY ix_alert_armed
        WHERE armed.status = 'active' AND armed.token_id = json_extract(move.value, '$[0]')
          AND armed.condition = json_extract(move.value, '$[1]')
          AND armed.price_e9 BETWEEN json_extract(move.value, '$[2]') AND json_extract(move.value, '$[3]')
          AND armed.expires_at > :taken_at AND armed.created_at <= :taken_at
        LIMIT -1
        """,
        is_it="alert.rowid = crossed.place AND +alert.status = 'active'",
        fired=_FIRED,
    )
)
_FIRE_POSTGRES: Final = text(
    _FIRE.format(
        crossed="""
        SELECT armed.id, move.price
        FROM unnest(
            CAST(:token_id AS INTEGER[]), CAST(:condition AS TEXT[]),
            CAST(:low AS BIGINT[]), CAST(:high AS BIGINT[]), CAST(:price AS BIGINT[])
        ) AS move(token_id, condition, low, high, price)
        CROSS JOIN LATERAL (
            SELECT id FROM alert
            WHERE alert.status = 'active' AND alert.token_id = move.token_id AND alert.condition = move.condition
              AND alert.price_e9 BETWEEN move.low AND move.high
              AND alert.expires_at > :taken_at AND alert.created_at <= :taken_at
            ORDER BY alert.price_e9 OFFSET 0
        ) AS armed
        """,
        is_it="alert.id = crossed.id AND alert.status = 'active'",
        fired=_FIRED,
    )
).bindparams(bindparam("taken_at", type_=BigInteger))

FIRE: Final = OverRows(sqlite=_FIRE_SQLITE, postgresql=_FIRE_POSTGRES, columns=_MOVE)


async def evaluate(tx: Transaction, taken: Round, previous: Mapping[int, int]) -> int:
    """Fire what this round crossed; how many alerts. `previous` has the last recorded price before it, by token id.

    Doing it again changes nothing: what crossed has fired, and an alert made after the samples were taken is not
    crossed by them.
    """
    moves: list[Move] = [
        (token_id, *crossed, price_e9)
        for token_id, price_e9 in taken.prices.items()
        if token_id in previous and (crossed := crossed_range(previous[token_id], price_e9))
    ]
    if not moves:
        return 0
    fired = [Fired(*row) for row in await FIRE.fetch(tx, moves, {"taken_at": to_micros(taken.taken_at)})]
    fired_at = iso(taken.taken_at)
    await outbox.put(tx, KIND, {row.id: parcel_of(row, fired_at) for row in fired}, taken.taken_at)
    return len(fired)
