"""Find what last became known of corporate actions without reading all of it: every listener's process asks, twice a
second."""

from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.create_index("ix_corporate_action_change_at", "corporate_action_change", ["at", "action_id"])
