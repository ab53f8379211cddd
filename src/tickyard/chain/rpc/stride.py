"""How long a range of blocks to ask a node's logs for: as long as it serves them without complaint."""

from dataclasses import dataclass
from typing import Final

_FIRST: Final = 2_000
_MOST: Final = 1_000_000
_EASY_LOGS: Final = 2_000
"""A range with fewer logs than this may be twice as long the next time."""


@dataclass(slots=True)
class Stride:
    """How many blocks to ask for next."""

    blocks: int = _FIRST
    most: int = _MOST

    def refused(self, asked: int) -> bool:
        """Ask for fewer. False: even one block is too many."""
        self.blocks = max(1, asked // 2)
        # The node has shown its limit: grow back to it, not over it again and again.
        self.most = max(1, asked - 1)
        return asked > 1

    def stumbled(self, asked: int) -> None:
        """Something went wrong, whatever it was: a smaller range may go through where this one does not."""
        self.blocks = max(1, asked // 2)

    def went_well(self, logs: int) -> None:
        if logs < _EASY_LOGS:
            self.blocks = min(self.blocks * 2, self.most)
