"""Samples that lay far from the equity quote when they were taken."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "suspect_sample",
        sa.Column("slot", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("token_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("equity_e9", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("slot", "token_id", name="pk_suspect_sample"),
        sqlite_with_rowid=False,
    )
