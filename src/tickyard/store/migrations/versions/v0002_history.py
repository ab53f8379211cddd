"""Rounds, their samples, and the candles rolled up from them."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "round",
        sa.Column("slot", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("block_number", sa.BigInteger(), nullable=False),
        sa.Column("block_hash", sa.String(), nullable=False),
        sa.Column("taken_at", sa.BigInteger(), nullable=False),
        sa.Column("sampled", sa.Integer(), nullable=False),
        sa.Column("skipped", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("slot", name="pk_round"),
    )
    op.create_table(
        "sample",
        sa.Column("token_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("slot", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("price_e9", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("token_id", "slot", name="pk_sample"),
        sqlite_with_rowid=False,
    )
    for name in ("candle_1h", "candle_4h", "candle_1d"):
        op.create_table(
            name,
            sa.Column("token_id", sa.Integer(), autoincrement=False, nullable=False),
            sa.Column("bucket", sa.Integer(), autoincrement=False, nullable=False),
            sa.Column("open", sa.BigInteger(), nullable=False),
            sa.Column("high", sa.BigInteger(), nullable=False),
            sa.Column("low", sa.BigInteger(), nullable=False),
            sa.Column("close", sa.BigInteger(), nullable=False),
            sa.Column("ticks", sa.Integer(), nullable=False),
            sa.Column("first_slot", sa.Integer(), nullable=False),
            sa.Column("last_slot", sa.Integer(), nullable=False),
            sa.PrimaryKeyConstraint("token_id", "bucket", name=f"pk_{name}"),
            sqlite_with_rowid=False,
        )
    op.create_table(
        "synthetic_history",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("before_slot", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_synthetic_history"),
    )
