"""Filings documents, the pace of asking for them, and the archive of corporate actions."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "document",
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("form", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("etag", sa.String(), nullable=True),
        sa.Column("last_modified", sa.String(), nullable=True),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("path", name="pk_document"),
    )
    op.create_table(
        "pace",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("free_at", sa.BigInteger(), nullable=False),
        sa.Column("quiet_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_pace"),
    )
    op.create_table(
        "corporate_action",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("asset_id", sa.String(), nullable=False),
        sa.Column("symbol", sa.String(), nullable=False),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("process_date", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("details", sa.String(), nullable=False),
        sa.Column("first_seen_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_corporate_action"),
    )
    op.create_index("ix_corporate_action_symbol", "corporate_action", ["symbol"])
    op.create_table(
        "corporate_action_change",
        sa.Column("action_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("details", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("action_id", "at", name="pk_corporate_action_change"),
    )
    op.create_table(
        "corporate_action_sync",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_corporate_action_sync"),
    )
