"""A round: the prices of one slot, all read at one block."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from tickyard.kernel.clock import SLOT_S


@dataclass(frozen=True, slots=True)
class Round:
    slot: int
    """Unix seconds divided by 300."""
    block_number: int
    block_hash: str
    prices: dict[int, int]
    """Nano-dollars by token id, see store/tokens.py."""
    skipped: int
    """Tokens that could not be read."""
    taken_at: datetime
    suspects: dict[int, int] = field(default_factory=dict)
    """Tokens whose price lay far from the equity quote, with that quote in nano-dollars."""


def slot_number(moment: datetime) -> int:
    """The slot that holds this moment."""
    return int(moment.timestamp()) // SLOT_S


def slot_start(slot: int) -> datetime:
    return datetime.fromtimestamp(slot * SLOT_S, UTC)
