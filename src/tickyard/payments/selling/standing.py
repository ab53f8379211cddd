"""Who a request comes from: the payer of a payment that we know, or anybody else.

Payer and nonce are public as soon as a payment is on the chain, and so is its signature: in the calldata of the
settlement. What proves the payer is the payment exactly as it was signed, or another signature of theirs over the same
authorization; and once it may be on the chain, something beside it that is not: the name that the first request gave
the payment, the address it came from, or a fresh signature. Whoever shows less is judged as if we knew nothing.
"""

import hashlib
from collections.abc import Awaitable, Callable

import msgspec

from tickyard.payments.books.reply import Reply
from tickyard.payments.books.row import PaymentRow
from tickyard.payments.selling.budgets import Place
from tickyard.payments.signed.authorization import Payment
from tickyard.payments.signed.key import Key


class Bearer(msgspec.Struct, frozen=True, gc=False):
    """What a request shows, as hashes where it is nobody's business."""

    digest: str
    signature: str
    is_signature_seen: bool
    """We recovered the payer from it ourselves."""
    client: str | None
    """The address it came from, where it is nobody else's."""
    identifier: str | None
    is_signed_in: bool
    """The payer has signed in with this very request."""


class PaidRequest(msgspec.Struct, frozen=True):
    """One paid request."""

    payment: Payment
    bearer: Bearer
    client: str
    """Whom budgets count it against."""
    fingerprint: str
    route: str
    request: bytes
    """What the facilitator is asked, for verifying and for settling."""
    run: Callable[[], Awaitable[Reply]]
    check_signature: Callable[[], Awaitable[None]]
    """Raises BadPayment when nobody can have signed for the payer. This may ask a chain."""
    asks_account: Callable[[], Awaitable[bool]]
    """Whether the payer is a contract that takes this signature for its own."""
    is_gone: Callable[[], Awaitable[bool]]
    """Whether the caller has hung up by now."""
    place: Place
    """In the budget of bad payments."""


def bearer_of(payment: Payment, address: str | None, *, is_signature_seen: bool, is_signed_in: bool) -> Bearer:
    named = None if payment.identifier is None else _hidden(payment.key, payment.identifier)
    return Bearer(
        digest=payment.digest.hex(),
        signature=hashlib.sha256(payment.signature).hexdigest(),
        is_signature_seen=is_signature_seen,
        client=None if address is None else _hidden(payment.key, address),
        identifier=named,
        is_signed_in=is_signed_in,
    )


def stranger_of(order: PaidRequest) -> str:
    """What budgets call somebody who names a payer and has not shown to be theirs."""
    return f"stranger {order.payment.key.payer} {order.client}"


def is_payer(bearer: Bearer, row: PaymentRow, is_early: bool) -> bool:
    """Whether a request may hear of this row. `is_early`: it came before the payment may have been on the chain."""
    if not _has_signed(bearer, row.digest, row.signature):
        return False
    return is_early or shows_more(bearer, row.client, row.identifier)


def may_be_payer(bearer: Bearer, row: PaymentRow, is_early: bool) -> bool:
    """Whether it hangs on a signature that we have not seen and cannot judge: a contract's word would decide."""
    is_shown = is_early or shows_more(bearer, row.client, row.identifier)
    return is_shown and bearer.digest == row.digest


def shows_more(bearer: Bearer, client: str | None, identifier: str | None) -> bool:
    """Whether a request shows something that the chain does not."""
    return bearer.is_signed_in or is_same_caller(bearer, client, identifier)


def is_same_caller(bearer: Bearer, client: str | None, identifier: str | None) -> bool:
    """Whether two requests with the same signed bytes come from the same hands: what one is told is the other's, too.
    Having signed in says nothing of the other, who may be a thief with a copy."""
    if bearer.client is not None and bearer.client == client:
        return True
    return bearer.identifier is not None and bearer.identifier == identifier


def _has_signed(bearer: Bearer, digest: str | None, signature: str | None) -> bool:
    return bearer.digest == digest and (bearer.signature == signature or bearer.is_signature_seen)


def _hidden(key: Key, text: str) -> str:
    """Salted with the payer, so that the same text of another is another hash."""
    return hashlib.sha256(f"{key.payer} {text}".encode()).hexdigest()
