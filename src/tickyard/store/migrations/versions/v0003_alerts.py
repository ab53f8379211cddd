"""Alerts. Their indexes hold active ones only: they stay small however many alerts there have been."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_ACTIVE = sa.text("status = 'active'")


def upgrade() -> None:
    op.create_table(
        "alert",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("symbol", sa.String(), nullable=False),
        sa.Column("token_id", sa.Integer(), nullable=False),
        sa.Column("condition", sa.String(), nullable=False),
        sa.Column("price_e9", sa.BigInteger(), nullable=False),
        sa.Column("webhook_url", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("client", sa.String(), nullable=False),
        sa.Column("key_version", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("fired_at", sa.BigInteger(), nullable=True),
        sa.Column("fired_price_e9", sa.BigInteger(), nullable=True),
        sa.Column("delivery", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_alert"),
    )
    for name, columns in {
        "armed": ["token_id", "condition", "price_e9"],
        "domain": ["domain", "host"],
        "client": ["client"],
        "expires_at": ["expires_at"],
    }.items():
        op.create_index(f"ix_alert_{name}", "alert", columns, sqlite_where=_ACTIVE, postgresql_where=_ACTIVE)
    gate = op.create_table(
        "alert_gate",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_alert_gate"),
    )
    op.bulk_insert(gate, [{"id": 1}])
