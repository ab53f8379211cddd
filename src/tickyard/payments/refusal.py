"""Ways a paid request ends without its answer, besides the failures of the operation itself.

Refusal       402  the payment is not good; sign a new one
TooMany       429  too many bad or unused payments
UpstreamDown  502  not known, or not now; repeat with the same payment
"""

from typing import Final

from tickyard.kernel.errors import UpstreamDown
from tickyard.payments.signed.key import Key

UNPAID: Final = "Payment required"
ALREADY_USED: Final = "payment_already_used"
IDENTIFIER_USED: Final = "payment_identifier_already_used"
EXPIRED: Final = "payment_expired_before_it_was_settled"
NONCE_SPENT: Final = "payment_nonce_used_without_a_transfer"
NOTHING_TAKEN: Final = "nothing was taken by this request"
"""How a message ends that a buyer may go by. It does not speak of what came before."""

_RETRY_AFTER_S: Final = 2


class Refusal(Exception):
    """Why a payment is not taken: a code, or a code and a few words. It becomes the challenge's `error`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class BadPayment(Refusal):
    """A payment that failed verification, ours or the facilitator's. It counts against the client who brought it."""


class NotSettled(Refusal):
    """A payment that was taken to be settled, and was not. Its caller gets a receipt that says so."""

    def __init__(self, reason: str, key: Key) -> None:
        super().__init__(reason)
        self.key = key


class TooManyPayments(Exception):
    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after_s = retry_after_s


def still_running() -> UpstreamDown:
    return UpstreamDown(
        "this payment's first request is still running; repeat this request with the same payment",
        retry_after_s=_RETRY_AFTER_S,
    )


def outcome_unknown(retry_after_s: int = _RETRY_AFTER_S) -> UpstreamDown:
    return UpstreamDown(
        "whether this payment was settled is not known yet; repeat this request with the same payment and do not "
        "sign a new one",
        retry_after_s=retry_after_s,
    )
