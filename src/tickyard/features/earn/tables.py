"""The tables of the reward program, by who writes them.

    worker   holder_*, earn_epoch, earn_share, earn_books, earn_credit, earn_rollover, earn_gate, earn_close
    API      earn_claim
    agent    earn_line, earn_batch, earn_desk_mark, earn_tally, earn_halt

On PostgreSQL the migrations grant exactly that. A claim's state is never stored twice: what became of it is what
became of the line of its newest attempt. That no wallet is paid twice is not kept here: the desk on the chain does.
"""

from typing import Any, Final

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, String, Table
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from tickyard.store.tables import METADATA, Instant, partial_index


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

# --- epochs: accruing -> taken -> pooled -> sealed -> open -> closing -> closed. A pool that never opened goes from
# sealed to closing; a person may make `skipped` of what is not pooled. `pooled`: the money is fixed, the books are
# being written. `closing`: no claim comes in any more, those that did are being counted.

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
    # The desk that pays it, from the seal on. Null: sealed before this was written down.
    Column("desk", String, nullable=True),
    Column("rolled_raw", BigInteger, nullable=True),
    Column("taken_at", Instant, nullable=True),
    Column("sealed_at", Instant, nullable=True),
    Column("opened_at", Instant, nullable=True),
    Column("closed_at", Instant, nullable=True),
    # Who is writing the rows of this epoch just now: whoever comes later takes over, the earlier one finds out.
    Column("writer", String, nullable=True),
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
partial_index(
    "ix_earn_close_kept",
    earn_close.c.epoch,
    where="returned_to IS NULL",
)
Index("ix_earn_close_returned_to", earn_close.c.returned_to)

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
Index("ix_earn_claim_reserved_at", earn_claim.c.epoch, earn_claim.c.reserved_at)
# What became of a claim's attempt. due: to be sent again, its batch ended without a word about it; sent: in the live
# batch with this nonce; confirmed and failed: by an event of the desk in a final block; refused: never to be sent.
earn_line: Final = Table(
    "earn_line",
    METADATA,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("address", String, primary_key=True),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("state", String, nullable=False),
    Column("amount_raw", BigInteger, nullable=False),
    Column("payer", String, nullable=True),
    Column("nonce", BigInteger, nullable=True),
    Column("hash", String, nullable=True),
    Column("reason", String, nullable=True),
    Column("sent_at", Instant, nullable=False),
    Column("ended_at", Instant, nullable=True),
    Column("block_number", BigInteger, nullable=True),
)
partial_index(
    "ix_earn_line_live",
    earn_line.c.payer,
    earn_line.c.nonce,
    where="state = 'sent'",
)
partial_index(
    "ix_earn_line_due",
    earn_line.c.epoch,
    where="state = 'due'",
)
IN_ADVANCE: Final = "paid in advance"
"""The reason of a line that no books can have asked for: the desk paid it before its day was over."""
UNPAID: Final = "earn_line.state IN ('failed', 'refused')"
partial_index(
    "ix_earn_line_unpaid",
    earn_line.c.epoch,
    earn_line.c.address,
    where="state IN ('failed', 'refused')",
)
FOREIGN: Final = "earn_line.payer IS NULL AND earn_line.state = 'confirmed'"
partial_index(
    "ix_earn_line_foreign",
    earn_line.c.epoch,
    earn_line.c.address,
    where="payer IS NULL AND state = 'confirmed'",
)
Index("ix_earn_line_sent_at", earn_line.c.sent_at)
# Every transaction that was ever signed for a nonce. Ended: a final block has used the nonce, or the desk takes
# nothing more from this payer.
earn_batch: Final = Table(
    "earn_batch",
    METADATA,
    Column("hash", String, primary_key=True),
    Column("payer", String, nullable=False),
    Column("nonce", BigInteger, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("opens", Boolean, nullable=False),
    Column("gas", BigInteger, nullable=False),
    Column("max_fee", BigInteger, nullable=False),
    Column("tip", BigInteger, nullable=False),
    Column("signed_at", Instant, nullable=False),
    Column("ended_at", Instant, nullable=True),
)
Index("ix_earn_batch_nonce", earn_batch.c.payer, earn_batch.c.nonce)
partial_index(
    "ix_earn_batch_live",
    earn_batch.c.signed_at,
    where="ended_at IS NULL",
)
# Up to which final block the desk's events have been read.
earn_desk_mark: Final = Table(
    "earn_desk_mark",
    METADATA,
    Column("desk", String, primary_key=True),
    Column("block_number", BigInteger, nullable=False),
    Column("block_hash", String, nullable=False),
)
# Sums over an epoch's lines, moved with them: nobody counts a million rows to show one number.
earn_tally: Final = Table(
    "earn_tally",
    METADATA,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("wallets", Integer, nullable=False),
    Column("live_raw", BigInteger, nullable=False),
    Column("paid_raw", BigInteger, nullable=False),
)
# While this row is there no agent signs anything. A person takes it away.
earn_halt: Final = Table(
    "earn_halt",
    METADATA,
    Column("name", String, primary_key=True),
    Column("reason", String, nullable=False),
    Column("halted_at", Instant, nullable=False),
)
# The books of an epoch as one gzip file, in pieces. Those that were sealed first have a member in each piece.
earn_books: Final = Table(
    "earn_books",
    METADATA,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)
