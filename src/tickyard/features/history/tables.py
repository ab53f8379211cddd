"""The tables of history. Samples are kept for ever: they cannot be taken again."""

from typing import Final

from sqlalchemy import BigInteger, Column, Integer, String, Table

from tickyard.store.tables import METADATA, Instant

recorded: Final = Table(
    "round",
    METADATA,
    Column("slot", Integer, primary_key=True, autoincrement=False),
    Column("block_number", BigInteger, nullable=False),
    Column("block_hash", String, nullable=False),
    Column("taken_at", Instant, nullable=False),
    Column("sampled", Integer, nullable=False),
    Column("skipped", Integer, nullable=False),
)

# Kept by token, so that one token's newest samples lie side by side; WITHOUT ROWID, a row is 17 bytes.
sample: Final = Table(
    "sample",
    METADATA,
    Column("token_id", Integer, primary_key=True, autoincrement=False),
    Column("slot", Integer, primary_key=True, autoincrement=False),
    Column("price_e9", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)


def _candles(name: str) -> Table:
    return Table(
        name,
        METADATA,
        Column("token_id", Integer, primary_key=True, autoincrement=False),
        Column("bucket", Integer, primary_key=True, autoincrement=False),
        Column("open", BigInteger, nullable=False),
        Column("high", BigInteger, nullable=False),
        Column("low", BigInteger, nullable=False),
        Column("close", BigInteger, nullable=False),
        Column("ticks", Integer, nullable=False),
        # Which samples gave open and close, so that a late one finds its place.
        Column("first_slot", Integer, nullable=False),
        Column("last_slot", Integer, nullable=False),
        sqlite_with_rowid=False,
    )


ROLLUPS: Final = {3_600: _candles("candle_1h"), 14_400: _candles("candle_4h"), 86_400: _candles("candle_1d")}
"""By the seconds of their interval. Shorter candles are folded from samples when they are read."""

# Recorded like all others, and not believed: what the equity quote said then, times the multiplier.
suspect: Final = Table(
    "suspect_sample",
    METADATA,
    Column("slot", Integer, primary_key=True, autoincrement=False),
    Column("token_id", Integer, primary_key=True, autoincrement=False),
    Column("equity_e9", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# One row at most: demo history says where it ends.
synthetic: Final = Table(
    "synthetic_history",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("before_slot", Integer, nullable=False),
)
