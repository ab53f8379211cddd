"""Tables of the payouts before there was a desk. Nothing reads or writes them any more; they are here because the
schema still has them, so that the code before this one goes on while it is being replaced."""

from typing import Final

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, String, Table, UniqueConstraint

from tickyard.store.tables import METADATA, Instant, partial_index

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
partial_index(
    "ix_earn_payout_live",
    earn_payout.c.epoch,
    earn_payout.c.address,
    unique=True,
    where=LIVE,
)
partial_index(
    "ix_earn_payout_signed",
    earn_payout.c.nonce,
    where="state = 'signed'",
)
Index("ix_earn_payout_signed_at", earn_payout.c.signed_at)
