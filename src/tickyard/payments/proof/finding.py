"""What may be found about a payment on the chain, and as of when."""

from dataclasses import dataclass

from tickyard.payments.proof.transfer import PaidTransfer


@dataclass(frozen=True, slots=True)
class Tip:
    """The newest block and the newest that will not change."""

    number: int
    timestamp: int
    final: int


@dataclass(frozen=True, slots=True)
class Paid:
    """By one of these; more than one only when several equal payments of the payer share a block."""

    transfers: tuple[PaidTransfer, ...]


@dataclass(frozen=True, slots=True)
class Spent:
    """The nonce is used, and not by a transfer to us."""

    is_told: bool
    """Whether something says by what. No log at all may mean that the node keeps them to itself."""


@dataclass(frozen=True, slots=True)
class Unused:
    """At the newest block."""


@dataclass(frozen=True, slots=True)
class Unclear:
    """Used, and by what could not be read this time, or the node contradicts itself."""

    states_say: Spent | Unused | None = None
    """Where no more stands against them than a passing word in a transaction, or transactions that were too many to
    read. A true node says so for ever of a payment that failed in a batch."""


Finding = Paid | Spent | Unused | Unclear
