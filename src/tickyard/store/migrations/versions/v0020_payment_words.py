"""Which payment somebody named each transaction for, the first time."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.create_table(
        "payment_word",
        sa.Column("network", sa.String(), nullable=False),
        sa.Column("transaction", sa.String(), nullable=False),
        sa.Column("asset", sa.String(), nullable=False),
        sa.Column("payer", sa.String(), nullable=False),
        sa.Column("nonce", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("network", "transaction", name="pk_payment_word"),
    )
