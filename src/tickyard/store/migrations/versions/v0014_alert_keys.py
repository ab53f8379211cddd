"""Which key each version of the alert keys is, pinned when it was first used.

On PostgreSQL the service's own roles may pin and read, but not change or remove.
"""

import sqlalchemy as sa
from alembic import context, op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "alert_key",
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("mark", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("version", name="pk_alert_key"),
    )
    connection = context.config.attributes["connection"]
    if connection.dialect.name == "postgresql":
        for role in ("tickyard_api", "tickyard_worker"):
            connection.execute(sa.text(_kept_from(role)))


def _kept_from(role: str) -> str:
    return f"""DO $$ BEGIN
        IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{role}') THEN
            REVOKE UPDATE, DELETE ON alert_key FROM {role};
        END IF;
    END $$"""  # noqa: S608  names of our own schema
