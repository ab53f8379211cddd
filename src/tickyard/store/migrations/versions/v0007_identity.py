"""Which token a symbol means, pinned when it was first seen, and the issuer's last good list.

On PostgreSQL the service's own roles may pin and read, but not change or remove: that takes the account of a person.
"""

import sqlalchemy as sa
from alembic import context, op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "pinned_token",
        sa.Column("symbol", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("uid", sa.String(), nullable=False),
        sa.Column("pinned_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("symbol", name="pk_pinned_token"),
        sa.UniqueConstraint("address", name="uq_pinned_token_address"),
        sa.UniqueConstraint("uid", name="uq_pinned_token_uid"),
    )
    op.create_table(
        "accepted_token",
        sa.Column("symbol", sa.String(), nullable=False),
        sa.Column("accepted_at", sa.BigInteger(), nullable=False),
        sa.Column("was", sa.String(), nullable=False),
        sa.Column("became", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("symbol", "accepted_at", name="pk_accepted_token"),
    )
    op.create_table(
        "kept_listing",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_kept_listing"),
    )
    connection = context.config.attributes["connection"]
    if connection.dialect.name == "postgresql":
        for role in ("tickyard_api", "tickyard_worker"):
            connection.execute(sa.text(_kept_from(role)))


def _kept_from(role: str) -> str:
    return f"""DO $$ BEGIN
        IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{role}') THEN
            REVOKE UPDATE, DELETE ON pinned_token FROM {role};
            REVOKE INSERT, UPDATE, DELETE ON accepted_token FROM {role};
        END IF;
    END $$"""  # noqa: S608  names of our own schema
