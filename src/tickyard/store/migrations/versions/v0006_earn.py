"""The reward program: holders, epochs, claims, payouts, and on PostgreSQL who may write what.

Three roles without login stand for the three kinds of processes; an operator grants each to the account that the
process connects with. A database whose owner may not create roles is left without them.
"""

import sqlalchemy as sa
from alembic import context, op

revision = "0006"
down_revision = "0005"

_WORKER = (
    "holder_mark",
    "holder_balance",
    "holder_transfer",
    "earn_epoch",
    "earn_share",
    "earn_credit",
    "earn_rollover",
    "earn_gate",
    "earn_close",
)
_AGENT = ("earn_payer", "earn_payout")
_NOT_THE_API = (*_WORKER, *_AGENT, "revenue", "payment_proof")


def upgrade() -> None:
    _holders()
    _epochs()
    _claims()
    connection = context.config.attributes["connection"]
    if connection.dialect.name == "postgresql":
        for statement in _roles():
            connection.execute(sa.text(statement))


def _holders() -> None:
    op.create_table(
        "holder_mark",
        sa.Column("block_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("block_hash", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("block_number", name="pk_holder_mark"),
    )
    op.create_table(
        "holder_balance",
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("balance", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("address", name="pk_holder_balance"),
    )
    op.create_table(
        "holder_transfer",
        sa.Column("block_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("log_index", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sender", sa.String(), nullable=False),
        sa.Column("receiver", sa.String(), nullable=False),
        sa.Column("amount", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("block_number", "log_index", name="pk_holder_transfer"),
    )


def _epochs() -> None:
    op.create_table(
        "earn_epoch",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("block_number", sa.BigInteger(), nullable=True),
        sa.Column("block_hash", sa.String(), nullable=True),
        sa.Column("proven_at_block", sa.BigInteger(), nullable=True),
        sa.Column("eligible_wallets", sa.Integer(), nullable=True),
        sa.Column("eligible_total", sa.LargeBinary(), nullable=True),
        sa.Column("shares_digest", sa.String(), nullable=True),
        sa.Column("revenue_raw", sa.BigInteger(), nullable=True),
        sa.Column("rollover_raw", sa.BigInteger(), nullable=True),
        sa.Column("pool_raw", sa.BigInteger(), nullable=True),
        sa.Column("digest", sa.String(), nullable=True),
        sa.Column("rolled_raw", sa.BigInteger(), nullable=True),
        sa.Column("taken_at", sa.BigInteger(), nullable=True),
        sa.Column("sealed_at", sa.BigInteger(), nullable=True),
        sa.Column("opened_at", sa.BigInteger(), nullable=True),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_earn_epoch"),
    )
    op.create_table(
        "earn_share",
        sa.Column("epoch", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("balance", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("epoch", "address", name="pk_earn_share"),
    )
    op.create_table(
        "earn_credit",
        sa.Column("settlement", sa.String(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("settlement", name="pk_earn_credit"),
    )
    op.create_index("ix_earn_credit_epoch", "earn_credit", ["epoch"])
    op.create_table(
        "earn_rollover",
        sa.Column("epoch", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("into_epoch", sa.Integer(), nullable=False),
        sa.Column("amount_raw", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("epoch", name="pk_earn_rollover"),
    )
    op.create_table(
        "earn_gate",
        sa.Column("epoch", sa.Integer(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("epoch", name="pk_earn_gate"),
    )
    op.create_table(
        "earn_close",
        sa.Column("epoch", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("amount_raw", sa.BigInteger(), nullable=False),
        sa.Column("returned_to", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("epoch", "address", name="pk_earn_close"),
    )
    _partial_index("ix_earn_close_kept", "earn_close", ["epoch"], "returned_to IS NULL")


def _claims() -> None:
    op.create_table(
        "earn_claim",
        sa.Column("epoch", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("signature", sa.String(), nullable=False),
        sa.Column("reserved_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("epoch", "address", name="pk_earn_claim"),
    )
    op.create_table(
        "earn_payer",
        sa.Column("chain_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("next_nonce", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", name="pk_earn_payer"),
    )
    op.create_table(
        "earn_payout",
        sa.Column("epoch", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("amount_raw", sa.BigInteger(), nullable=False),
        sa.Column("nonce", sa.BigInteger(), nullable=True),
        sa.Column("raw", sa.LargeBinary(), nullable=True),
        sa.Column("hash", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("signed_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("block_number", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("epoch", "address", "attempt", name="pk_earn_payout"),
        sa.UniqueConstraint("nonce", name="uq_earn_payout_nonce"),
    )
    live = "state IN ('signed', 'confirmed')"
    _partial_index("ix_earn_payout_live", "earn_payout", ["epoch", "address"], live, unique=True)
    _partial_index("ix_earn_payout_signed", "earn_payout", ["nonce"], "state = 'signed'")
    op.create_index("ix_earn_payout_signed_at", "earn_payout", ["signed_at"])


def _partial_index(name: str, table: str, columns: list[str], which: str, *, unique: bool = False) -> None:
    where = sa.text(which)
    op.create_index(name, table, columns, unique=unique, sqlite_where=where, postgresql_where=where)


def _roles() -> list[str]:
    """Roles belong to the whole server: another database may have made them already, or be making them now."""
    made = [
        f"""DO $$ BEGIN
            CREATE ROLE {role} NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN NULL; END $$"""
        for role in ("tickyard_api", "tickyard_worker", "tickyard_payout")
    ]
    return [*made, *map(_if_there, _grants())]


def _grants() -> list[tuple[str, str]]:
    schema = "GRANT USAGE ON SCHEMA public TO"
    write = "SELECT, INSERT, UPDATE, DELETE"
    return [
        *((role, f"{schema} {role}") for role in ("tickyard_api", "tickyard_worker", "tickyard_payout")),
        # Other rooms' tables, also those that come later, are for the API and the worker alike.
        *(
            (role, statement.format(role=role))
            for role in ("tickyard_api", "tickyard_worker")
            for statement in (
                f"GRANT {write} ON ALL TABLES IN SCHEMA public TO {{role}}",
                f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT {write} ON TABLES TO {{role}}",
            )
        ),
        *(("tickyard_api", f"REVOKE INSERT, UPDATE, DELETE ON {table} FROM tickyard_api") for table in _NOT_THE_API),
        # Sharing the gate's row is a lock, and locks need this right; the row holds nothing but its name.
        ("tickyard_api", "GRANT UPDATE ON earn_gate TO tickyard_api"),
        ("tickyard_api", "REVOKE DELETE ON earn_claim FROM tickyard_api"),
        *(("tickyard_worker", f"REVOKE INSERT, UPDATE, DELETE ON {t} FROM tickyard_worker") for t in _AGENT),
        ("tickyard_worker", "REVOKE INSERT, UPDATE, DELETE ON earn_claim FROM tickyard_worker"),
        *(("tickyard_payout", f"GRANT SELECT ON {t} TO tickyard_payout") for t in ("earn_epoch", "earn_share")),
        *(("tickyard_payout", f"GRANT SELECT ON {t} TO tickyard_payout") for t in ("earn_claim", "earn_close")),
        *(("tickyard_payout", f"GRANT SELECT, INSERT, UPDATE ON {t} TO tickyard_payout") for t in (*_AGENT, "lease")),
        ("tickyard_payout", "GRANT SELECT ON alembic_version TO tickyard_payout"),
    ]


def _if_there(granted: tuple[str, str]) -> str:
    role, statement = granted
    return f"""DO $$ BEGIN
        IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{role}') THEN {statement}; END IF;
    END $$"""  # noqa: S608  names of our own schema
