"""Which transfer an answer was handed out for, each once."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "payment_transfer",
        sa.Column("network", sa.String(), nullable=False),
        sa.Column("transaction", sa.String(), nullable=False),
        sa.Column("log_index", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("asset", sa.String(), nullable=False),
        sa.Column("payer", sa.String(), nullable=False),
        sa.Column("nonce", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("network", "transaction", "log_index", name="pk_payment_transfer"),
        sa.UniqueConstraint("network", "asset", "payer", "nonce", name="uq_payment_transfer_network_asset_payer_nonce"),
    )
