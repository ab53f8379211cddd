"""The tables of payments. Settled rows are the books and stay; the answers in them go after a day."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    UniqueConstraint,
)

from tickyard.store.tables import METADATA, Instant, partial_index

# The primary key is the safety: the chain lets a nonce be used once, and so does this table.
payment: Final = Table(
    "payment",
    METADATA,
    Column("network", String, nullable=False),
    Column("asset", String, nullable=False),
    Column("payer", String, nullable=False),
    Column("nonce", String, nullable=False),
    Column("state", String, nullable=False),
    Column("holder", String, nullable=False),
    Column("lease_until", Instant, nullable=False),
    Column("fingerprint", String, nullable=False),
    Column("route", String, nullable=False),
    Column("amount_raw", BigInteger, nullable=False),
    Column("pay_to", String, nullable=False),
    Column("valid_before", BigInteger, nullable=False),
    Column("network_time", BigInteger, nullable=False),
    Column("begun_at", Instant, nullable=False),
    Column("settles", Integer, nullable=False),
    Column("request", LargeBinary, nullable=True),
    Column("status", Integer, nullable=True),
    Column("content_type", String, nullable=True),
    Column("body", LargeBinary, nullable=True),
    Column("transaction", String, nullable=True),
    Column("reason", String, nullable=True),
    Column("settled_at", Instant, nullable=True),
    Column("proof", String, nullable=True),
    # The payment exactly as it was signed, and what its first request showed beside it. All hashes.
    Column("digest", String, nullable=True),
    Column("signature", String, nullable=True),
    Column("client", String, nullable=True),
    Column("identifier", String, nullable=True),
    # Where settling began: it goes on there or nowhere.
    Column("facilitator", String, nullable=True),
    # When the worker looks at it next, and how often it has looked in vain.
    Column("look_at", Instant, nullable=True),
    Column("looks", Integer, nullable=True),
    # How many of those looks found the nonce used, and nothing that says how.
    Column("unexplained", Integer, nullable=True),
    # Where our own eyes saw its transfer; the block's hash says whether it is still there.
    Column("mined", String, nullable=True),
    Column("mined_index", Integer, nullable=True),
    Column("mined_block", BigInteger, nullable=True),
    Column("mined_hash", String, nullable=True),
    Column("delivered_at", Instant, nullable=True),
    PrimaryKeyConstraint("network", "asset", "payer", "nonce"),
)
Index("ix_payment_transaction", payment.c.transaction)
Index("ix_payment_mined", payment.c.mined)
# Small whatever the books hold: rows leave these when they are done. Only a statement that has the condition word for
# word is answered from such an index; one that gives a value of its own reads all books there are. A condition that
# sales compare with values of their own has a price, too: SQLite would plan them anew for each.
IS_OPEN: Final = "state IN ('running', 'settling', 'unknown')"
IS_UNPROVEN: Final = "proof = 'waiting'"
IS_ORPHAN: Final = (
    "settled_at IS NOT NULL AND delivered_at IS NULL AND mined_block IS NOT NULL AND signature IS NOT NULL"
)
partial_index("ix_payment_open", payment.c.lease_until, where=IS_OPEN)
partial_index(
    "ix_payment_unproven",
    payment.c.settled_at,
    where=IS_UNPROVEN,
)
partial_index(
    "ix_payment_orphan",
    payment.c.settled_at,
    where=IS_ORPHAN,
)
partial_index(
    "ix_payment_look",
    payment.c.network,
    payment.c.look_at,
    where="look_at IS NOT NULL",
)
partial_index(
    "ix_payment_looks",
    payment.c.network,
    payment.c.looks,
    payment.c.look_at,
    where="look_at IS NOT NULL",
)
partial_index(
    "ix_payment_answered",
    payment.c.begun_at,
    where="body IS NOT NULL",
)
# What a payer may come back for with a signature alone. The condition is one that no statement compares with a value of
# its own: SQLite would plan such a statement anew for each value.
partial_index(
    "ix_payment_request",
    payment.c.fingerprint,
    where="body IS NOT NULL",
)

# The names that clients give their payments, scoped by payer.
payment_identifier: Final = Table(
    "payment_identifier",
    METADATA,
    Column("payer", String, primary_key=True),
    Column("identifier", String, primary_key=True),
    Column("network", String, nullable=False),
    Column("asset", String, nullable=False),
    Column("nonce", String, nullable=False),
)
Index("ix_payment_identifier_payment", *(payment_identifier.c[name] for name in ("payer", "network", "nonce")))


def _of_a_transfer(name: str) -> Table:
    return Table(
        name,
        METADATA,
        Column("network", String, primary_key=True),
        Column("transaction", String, primary_key=True),
        Column("log_index", Integer, primary_key=True, autoincrement=False),
        Column("asset", String, nullable=False),
        Column("payer", String, nullable=False),
        Column("nonce", String, nullable=False),
        UniqueConstraint("network", "asset", "payer", "nonce"),
    )


# One transfer on the chain pays for one answer, and proves one payment. The first is the API's to write, the second,
# which makes revenue, is not.
payment_transfer: Final = _of_a_transfer("payment_transfer")
payment_proof: Final = _of_a_transfer("payment_proof")

# Somebody's word for a transaction is good for one payment: the first that it was given for.
payment_word: Final = Table(
    "payment_word",
    METADATA,
    Column("network", String, primary_key=True),
    Column("transaction", String, primary_key=True),
    Column("asset", String, nullable=False),
    Column("payer", String, nullable=False),
    Column("nonce", String, nullable=False),
)
