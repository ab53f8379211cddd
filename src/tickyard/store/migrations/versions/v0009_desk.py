"""Payouts through the desk: lines, batches and sums of the agent, halts, and the books as a file.

What was paid before there was a desk is carried over; a payout that is still on its way must end first.
"""

import sqlalchemy as sa
from alembic import context, op

revision = "0009"
down_revision = "0008"

_AGENT = ("earn_line", "earn_batch", "earn_desk_mark", "earn_tally", "earn_halt")
_WORKER = ("earn_books",)


def upgrade() -> None:
    connection = context.config.attributes["connection"]
    waiting = connection.execute(sa.text("SELECT count(*) FROM earn_payout WHERE state = 'signed'")).scalar_one()
    if waiting:
        raise RuntimeError(f"{waiting} payouts are still on their way: let the payout agent end them first")
    op.add_column("earn_epoch", sa.Column("writer", sa.String(), nullable=True))
    _lines()
    _batches()
    _others()
    op.create_index("ix_earn_claim_reserved_at", "earn_claim", ["epoch", "reserved_at"])
    op.create_index("ix_earn_close_returned_to", "earn_close", ["returned_to"])
    connection.execute(
        sa.text(
            "INSERT INTO earn_line (epoch, address, attempt, state, amount_raw, hash, reason, sent_at, ended_at,"
            " block_number) SELECT epoch, address, attempt, state, amount_raw, hash, reason, signed_at, ended_at,"
            " block_number FROM earn_payout"
        )
    )
    connection.execute(
        sa.text(
            "INSERT INTO earn_tally (epoch, wallets, live_raw, paid_raw) SELECT epoch, count(*), sum(amount_raw),"
            " sum(amount_raw) FROM earn_payout WHERE state = 'confirmed' GROUP BY epoch"
        )
    )
    if connection.dialect.name == "postgresql":
        for role, statement in _grants():
            connection.execute(sa.text(_if_there(role, statement)))


def _lines() -> None:
    op.create_table(
        "earn_line",
        sa.Column("epoch", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("amount_raw", sa.BigInteger(), nullable=False),
        sa.Column("payer", sa.String(), nullable=True),
        sa.Column("nonce", sa.BigInteger(), nullable=True),
        sa.Column("hash", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("sent_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("block_number", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("epoch", "address", "attempt", name="pk_earn_line"),
    )
    _partial_index("ix_earn_line_live", "earn_line", ["payer", "nonce"], "state = 'sent'")
    _partial_index("ix_earn_line_due", "earn_line", ["epoch"], "state = 'due'")
    _partial_index("ix_earn_line_unpaid", "earn_line", ["epoch", "address"], "state IN ('failed', 'refused')")
    op.create_index("ix_earn_line_sent_at", "earn_line", ["sent_at"])


def _batches() -> None:
    op.create_table(
        "earn_batch",
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("payer", sa.String(), nullable=False),
        sa.Column("nonce", sa.BigInteger(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("opens", sa.Boolean(), nullable=False),
        sa.Column("gas", sa.BigInteger(), nullable=False),
        sa.Column("max_fee", sa.BigInteger(), nullable=False),
        sa.Column("tip", sa.BigInteger(), nullable=False),
        sa.Column("signed_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("hash", name="pk_earn_batch"),
    )
    op.create_index("ix_earn_batch_nonce", "earn_batch", ["payer", "nonce"])
    _partial_index("ix_earn_batch_live", "earn_batch", ["signed_at"], "ended_at IS NULL")


def _others() -> None:
    op.create_table(
        "earn_desk_mark",
        sa.Column("desk", sa.String(), nullable=False),
        sa.Column("block_number", sa.BigInteger(), nullable=False),
        sa.Column("block_hash", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("desk", name="pk_earn_desk_mark"),
    )
    op.create_table(
        "earn_tally",
        sa.Column("epoch", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("wallets", sa.Integer(), nullable=False),
        sa.Column("live_raw", sa.BigInteger(), nullable=False),
        sa.Column("paid_raw", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("epoch", name="pk_earn_tally"),
    )
    op.create_table(
        "earn_halt",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("halted_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_earn_halt"),
    )
    op.create_table(
        "earn_books",
        sa.Column("epoch", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("part", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("epoch", "part", name="pk_earn_books"),
    )


def _partial_index(name: str, table: str, columns: list[str], which: str) -> None:
    where = sa.text(which)
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)


def _grants() -> list[tuple[str, str]]:
    """New tables are for the API and the worker alike unless this says otherwise."""
    return [
        *(("tickyard_api", f"REVOKE INSERT, UPDATE, DELETE ON {t} FROM tickyard_api") for t in (*_AGENT, *_WORKER)),
        *(("tickyard_worker", f"REVOKE INSERT, UPDATE, DELETE ON {t} FROM tickyard_worker") for t in _AGENT),
        *(("tickyard_payout", f"GRANT SELECT, INSERT, UPDATE ON {t} TO tickyard_payout") for t in _AGENT),
        # A person lifts a halt with the agent's own account.
        ("tickyard_payout", "GRANT DELETE ON earn_halt TO tickyard_payout"),
    ]


def _if_there(role: str, statement: str) -> str:
    return f"""DO $$ BEGIN
        IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{role}') THEN {statement}; END IF;
    END $$"""  # noqa: S608  names of our own schema
