"""The tables of the reward program, by who writes them.

    worker   holder_*, earn_epoch, earn_share, earn_credit, earn_rollover, earn_gate, earn_close
    API      earn_claim
    agent    earn_payer, earn_payout

On PostgreSQL the migration grants exactly that. A claim's state is never stored twice: what became of it is what
became of the payout of its newest attempt.
"""

from typing import Any, Final

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, String, Table, UniqueConstraint, text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from tickyard.store.tables import METADATA, Instant


class Uint256(TypeDecorator[int]):
    """A number of 256 bits as 32 bytes, largest first: both databases order bytes as we order numbers."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> bytes | None:
        return None if value is None else value.to_bytes(32, "big")

    def process_result_value(self, value: Any | None, dialect: Dialect) -> int | None:
        return None if value is None else int.from_bytes(bytes(value), "big")


# --- the index of holders, at the block of its newest mark

holder_mark: Final = Table(
    "holder_mark",
    METADATA,
    Column("block_number", BigInteger, primary_key=True, autoincrement=False),
    Column("block_hash", String, nullable=False),
)
holder_balance: Final = Table(
    "holder_balance",
    METADATA,
    Column("address", String, primary_key=True),
    Column("balance", Uint256, nullable=False),
)
# Kept from the last snapshot on: to roll balances back, and to undo blocks that left the chain.
holder_transfer: Final = Table(
    "holder_transfer",
    METADATA,
    Column("block_number", BigInteger, primary_key=True, autoincrement=False),
    Column("log_index", Integer, primary_key=True, autoincrement=False),
    Column("sender", String, nullable=False),
    Column("receiver", String, nullable=False),
    Column("amount", Uint256, nullable=False),
)

# --- epochs: accruing -> taken -> sealed -> open -> closed (a pool that never opened goes from sealed to closed)

earn_epoch: Final = Table(
    "earn_epoch",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("state", String, nullable=False),
    Column("block_number", BigInteger, nullable=True),
    Column("block_hash", String, nullable=True),
    Column("proven_at_block", BigInteger, nullable=True),
    Column("eligible_wallets", Integer, nullable=True),
    Column("eligible_total", Uint256, nullable=True),
    Column("shares_digest", String, nullable=True),
    Column("revenue_raw", BigInteger, nullable=True),
    Column("rollover_raw", BigInteger, nullable=True),
    Column("pool_raw", BigInteger, nullable=True),
    Column("digest", String, nullable=True),
    Column("rolled_raw", BigInteger, nullable=True),
    Column("taken_at", Instant, nullable=True),
    Column("sealed_at", Instant, nullable=True),
    Column("opened_at", Instant, nullable=True),
    Column("closed_at", Instant, nullable=True),
)
earn_share: Final = Table(
    "earn_share",
    METADATA,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("address", String, primary_key=True),
    Column("balance", Uint256, nullable=False),
)
# Which pool a settlement went into: each once, ever.
earn_credit: Final = Table(
    "earn_credit",
    METADATA,
    Column("settlement", String, primary_key=True),
    Column("epoch", Integer, nullable=False),
)
Index("ix_earn_credit_epoch", earn_credit.c.epoch)
# Which pool the rest of an epoch went into: once, ever.
earn_rollover: Final = Table(
    "earn_rollover",
    METADATA,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("into_epoch", Integer, nullable=False),
    Column("amount_raw", BigInteger, nullable=False),
)
# Claims share this row while they are written, closing takes it alone: no claim falls between.
earn_gate: Final = Table(
    "earn_gate",
    METADATA,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
)
# Every claim as closing found it. `returned_to` is null while its money is paid or on its way, else the epoch whose
# pool it went back to: its own when it had failed by then, a later one when it failed afterwards.
earn_close: Final = Table(
    "earn_close",
    METADATA,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("address", String, primary_key=True),
    Column("attempt", Integer, nullable=False),
    Column("amount_raw", BigInteger, nullable=False),
    Column("returned_to", Integer, nullable=True),
)
Index(
    "ix_earn_close_kept",
    earn_close.c.epoch,
    sqlite_where=text("returned_to IS NULL"),
    postgresql_where=text("returned_to IS NULL"),
)

# --- claims and payouts

earn_claim: Final = Table(
    "earn_claim",
    METADATA,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("address", String, primary_key=True),
    Column("attempt", Integer, nullable=False),
    Column("signature", String, nullable=False),
    Column("reserved_at", Instant, nullable=False),
)
# The account that pays, and its next nonce. One row per chain.
earn_payer: Final = Table(
    "earn_payer",
    METADATA,
    Column("chain_id", Integer, primary_key=True, autoincrement=False),
    Column("address", String, nullable=False),
    Column("next_nonce", BigInteger, nullable=False),
)
LIVE: Final = "state IN ('signed', 'confirmed')"
# signed -> confirmed | failed, both at finality; refused was never signed.
earn_payout: Final = Table(
    "earn_payout",
    METADATA,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("address", String, primary_key=True),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("state", String, nullable=False),
    Column("amount_raw", BigInteger, nullable=False),
    Column("nonce", BigInteger, nullable=True),
    Column("raw", LargeBinary, nullable=True),
    Column("hash", String, nullable=True),
    Column("reason", String, nullable=True),
    Column("signed_at", Instant, nullable=False),
    Column("ended_at", Instant, nullable=True),
    Column("block_number", BigInteger, nullable=True),
    UniqueConstraint("nonce"),
)
# The one rule that no bug in the protocol gets around: a wallet has one payout per epoch that has not failed.
Index(
    "ix_earn_payout_live",
    earn_payout.c.epoch,
    earn_payout.c.address,
    unique=True,
    sqlite_where=text(LIVE),
    postgresql_where=text(LIVE),
)
Index(
    "ix_earn_payout_signed",
    earn_payout.c.nonce,
    sqlite_where=text("state = 'signed'"),
    postgresql_where=text("state = 'signed'"),
)
Index("ix_earn_payout_signed_at", earn_payout.c.signed_at)
