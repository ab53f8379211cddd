"""Payments, the names clients give them, their proofs on the chain, and revenue."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_PARTIAL = {
    "open": (["lease_until"], "state IN ('running', 'settling', 'unknown')"),
    "unproven": (["settled_at"], "proof = 'waiting'"),
    "answered": (["begun_at"], "body IS NOT NULL"),
}


def upgrade() -> None:
    op.create_table(
        "payment",
        sa.Column("network", sa.String(), nullable=False),
        sa.Column("asset", sa.String(), nullable=False),
        sa.Column("payer", sa.String(), nullable=False),
        sa.Column("nonce", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("route", sa.String(), nullable=False),
        sa.Column("amount_raw", sa.BigInteger(), nullable=False),
        sa.Column("pay_to", sa.String(), nullable=False),
        sa.Column("valid_before", sa.BigInteger(), nullable=False),
        sa.Column("network_time", sa.BigInteger(), nullable=False),
        sa.Column("begun_at", sa.BigInteger(), nullable=False),
        sa.Column("settles", sa.Integer(), nullable=False),
        sa.Column("request", sa.LargeBinary(), nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("content_type", sa.String(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("transaction", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("settled_at", sa.BigInteger(), nullable=True),
        sa.Column("proof", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("network", "asset", "payer", "nonce", name="pk_payment"),
    )
    op.create_index("ix_payment_transaction", "payment", ["transaction"])
    for name, (columns, which) in _PARTIAL.items():
        where = sa.text(which)
        op.create_index(f"ix_payment_{name}", "payment", columns, sqlite_where=where, postgresql_where=where)
    op.create_table(
        "payment_identifier",
        sa.Column("payer", sa.String(), nullable=False),
        sa.Column("identifier", sa.String(), nullable=False),
        sa.Column("network", sa.String(), nullable=False),
        sa.Column("asset", sa.String(), nullable=False),
        sa.Column("nonce", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("payer", "identifier", name="pk_payment_identifier"),
    )
    op.create_index("ix_payment_identifier_payment", "payment_identifier", ["payer", "network", "nonce"])
    op.create_table(
        "payment_proof",
        sa.Column("network", sa.String(), nullable=False),
        sa.Column("transaction", sa.String(), nullable=False),
        sa.Column("log_index", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("asset", sa.String(), nullable=False),
        sa.Column("payer", sa.String(), nullable=False),
        sa.Column("nonce", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("network", "transaction", "log_index", name="pk_payment_proof"),
        sa.UniqueConstraint("network", "asset", "payer", "nonce", name="uq_payment_proof_network_asset_payer_nonce"),
    )
    op.create_table(
        "revenue",
        sa.Column("settlement", sa.String(), nullable=False),
        sa.Column("amount_raw", sa.BigInteger(), nullable=False),
        sa.Column("settled_at", sa.BigInteger(), nullable=False),
        sa.Column("credited_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("settlement", name="pk_revenue"),
    )
    op.create_index("ix_revenue_settled_at", "revenue", ["settled_at"])
    op.create_index("ix_revenue_credited_at", "revenue", ["credited_at"])
