"""Find the payments that were looked at least without reading all that are due."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

_WATCHED = "look_at IS NOT NULL"


def upgrade() -> None:
    op.create_index(
        "ix_payment_looks",
        "payment",
        ["network", "looks", "look_at"],
        sqlite_where=sa.text(_WATCHED),
        postgresql_where=sa.text(_WATCHED),
    )
