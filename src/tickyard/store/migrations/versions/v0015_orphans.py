"""Find money whose answer was never fetched without reading all books."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

_ORPHAN = "settled_at IS NOT NULL AND delivered_at IS NULL AND mined_block IS NOT NULL AND signature IS NOT NULL"


def upgrade() -> None:
    op.create_index(
        "ix_payment_orphan",
        "payment",
        ["settled_at"],
        sqlite_where=sa.text(_ORPHAN),
        postgresql_where=sa.text(_ORPHAN),
    )
