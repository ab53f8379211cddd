"""Payments bound to what was signed, watched one by one, and where their transfers were seen."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

_COLUMNS = (
    ("digest", sa.String),
    ("signature", sa.String),
    ("client", sa.String),
    ("identifier", sa.String),
    ("facilitator", sa.String),
    ("look_at", sa.BigInteger),
    ("looks", sa.Integer),
    ("mined", sa.String),
    ("mined_index", sa.Integer),
    ("mined_block", sa.BigInteger),
    ("mined_hash", sa.String),
    ("delivered_at", sa.BigInteger),
)


def upgrade() -> None:
    for name, kind in _COLUMNS:
        op.add_column("payment", sa.Column(name, kind(), nullable=True))
    op.create_index("ix_payment_mined", "payment", ["mined"])
    where = sa.text("look_at IS NOT NULL")
    op.create_index("ix_payment_look", "payment", ["network", "look_at"], sqlite_where=where, postgresql_where=where)
