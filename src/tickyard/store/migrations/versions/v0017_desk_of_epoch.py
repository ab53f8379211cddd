"""Which desk pays an epoch: only that one knows whom it has paid.

Where one desk has been read from so far, it is the desk of every epoch that has books.
"""

import sqlalchemy as sa
from alembic import context, op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("earn_epoch", sa.Column("desk", sa.String(), nullable=True))
    context.config.attributes["connection"].execute(
        sa.text(
            "UPDATE earn_epoch SET desk = (SELECT max(desk) FROM earn_desk_mark)"
            " WHERE digest IS NOT NULL AND (SELECT count(*) FROM earn_desk_mark) = 1"
        )
    )
