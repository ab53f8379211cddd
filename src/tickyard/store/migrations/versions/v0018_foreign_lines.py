"""Find the payments of the desk that no agent sent, without reading all that were made."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

_FOREIGN = "payer IS NULL AND state = 'confirmed'"


def upgrade() -> None:
    op.create_index(
        "ix_earn_line_foreign",
        "earn_line",
        ["epoch", "address"],
        sqlite_where=sa.text(_FOREIGN),
        postgresql_where=sa.text(_FOREIGN),
    )
