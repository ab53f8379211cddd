"""Count the looks that found a payment's nonce used and nothing that says how."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("payment", sa.Column("unexplained", sa.Integer, nullable=True))
