"""Looking a settled payment up: for buyers whose answer got lost."""

import re
from typing import Annotated, Final, Literal

from msgspec import Meta
from sqlalchemy import case, or_, select

from tickyard.chain.address import checksum
from tickyard.deps import Deps
from tickyard.kernel.errors import BadRequest, NotFound
from tickyard.kernel.ids import Address
from tickyard.kernel.units import UsdgAmount
from tickyard.kernel.wire import AddressText, Answer, Ask, Moment, MoneyText, iso
from tickyard.payments.books.tables import payment

HASH_PATTERN: Final = "^0x[0-9a-fA-F]{64}$"
_EXAMPLE: Final = "0x9f2c1d5be8a04c6f73f0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6"
_HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}")

TransactionText = Annotated[str, Meta(examples=[_EXAMPLE], pattern=HASH_PATTERN)]


def read_transaction(text: str) -> str:
    if not _HASH.fullmatch(text):
        raise BadRequest("transaction must be 0x followed by 64 hex digits")
    return text.lower()


class PaymentAsk(Ask):
    transaction: Annotated[
        str,
        Meta(
            examples=[_EXAMPLE],
            pattern=HASH_PATTERN,
            description="The transaction hash of a receipt.",
            extra={"says": "0x followed by 64 hex digits", "read": read_transaction},
        ),
    ]


class SettledPayment(Answer):
    transaction: TransactionText
    network: Annotated[str, Meta(examples=["eip155:8453"])]
    asset: AddressText
    amount_usd: MoneyText
    payer: AddressText
    route: Annotated[str, Meta(examples=["GET /v1/x402/quote"], description="The paid route it bought.")]
    settled_at: Moment
    status: Annotated[
        Literal["settled", "confirmed"],
        Meta(description="settled: reported by the facilitator; confirmed: its transfer was seen on the chain by us."),
    ]


async def get_payment(deps: Deps, ask: PaymentAsk) -> SettledPayment:
    """Look up one settled payment by the transaction hash of its receipt. An answer that got lost is sent again to
    whoever repeats the paid request with the same payment within 24 hours."""
    async with deps.store.read() as tx:
        found = await tx.execute(
            select(payment)
            .where(
                or_(payment.c.transaction == ask.transaction, payment.c.mined == ask.transaction),
                payment.c.state == "settled",
                payment.c.proof != "missing",
            )
            # What we saw before what somebody said: a facilitator may have named it for another payment, too.
            .order_by(case((payment.c.mined == ask.transaction, 0), else_=1), payment.c.settled_at, payment.c.nonce)
            .limit(1)
        )
        row = found.one_or_none()
    if row is None:
        raise NotFound("no settled payment has this transaction")
    return SettledPayment(
        transaction=row.transaction,
        network=row.network,
        asset=checksum(Address(row.asset)),
        amount_usd=UsdgAmount(row.amount_raw).text(),
        payer=checksum(Address(row.payer)),
        route=row.route,
        settled_at=iso(row.settled_at),
        status="confirmed" if row.proof == "credited" else "settled",
    )
