"""Whether a claim is to be paid, and how much. The agent believes the chain's cryptography and its own memory only."""

from dataclasses import dataclass
from datetime import datetime

from tickyard.features.earn.books.digest import Books
from tickyard.features.earn.claims.message import EarnTerms, claim_digests
from tickyard.features.earn.claims.signature import is_signed_by
from tickyard.features.earn.rules import is_in_window
from tickyard.kernel.ids import Address


@dataclass(frozen=True, slots=True)
class PayoutCaps:
    """What the agent never goes over, whatever the books say. Base units of USDG."""

    per_claim_raw: int
    per_epoch_raw: int
    per_day_raw: int


@dataclass(frozen=True, slots=True)
class Claim:
    epoch: int
    address: Address
    attempt: int
    signature: str
    reserved_at: datetime
    is_again: bool = False
    """It was sent before, and counted then."""


class ClaimRefused(Exception):
    """This claim is never paid: it cannot have been made by our own API."""


class CapReached(Exception):
    """Not now: a cap is reached. It stays reserved until an operator raises the cap."""


def amount_of(claim: Claim, books: Books, terms: EarnTerms) -> int:
    """What the claim is worth by the accepted books. Raises ClaimRefused."""
    if not is_in_window(claim.epoch, claim.reserved_at):
        raise ClaimRefused("reserved outside the window")
    try:
        signature = bytes.fromhex(claim.signature.removeprefix("0x"))
    except ValueError:
        raise ClaimRefused("not a signature") from None
    if not is_signed_by(claim.address, claim_digests(terms, claim.epoch, claim.address), signature):
        raise ClaimRefused("signed by somebody else")
    amount = books.share_of(claim.address)
    if amount <= 0:
        raise ClaimRefused("no share in the snapshot")
    return amount


@dataclass(slots=True)
class Allowance:
    """What the caps leave, counted down while claims are signed."""

    caps: PayoutCaps
    pool_raw: int
    epoch_raw: int
    """Signed for this epoch so far."""
    day_raw: int
    """Signed today so far."""

    def spend(self, amount: int) -> None:
        """Raises Held, and then nothing is spent."""
        if amount > self.caps.per_claim_raw:
            raise CapReached("the cap per claim")
        if self.epoch_raw + amount > min(self.caps.per_epoch_raw, self.pool_raw):
            raise CapReached("the cap per epoch")
        if self.day_raw + amount > self.caps.per_day_raw:
            raise CapReached("the cap per day")
        self.epoch_raw += amount
        self.day_raw += amount
