"""Find the answer that a payer comes back for without the payment."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_index(
        "ix_payment_request",
        "payment",
        ["fingerprint"],
        sqlite_where=sa.text("body IS NOT NULL"),
        postgresql_where=sa.text("body IS NOT NULL"),
    )
