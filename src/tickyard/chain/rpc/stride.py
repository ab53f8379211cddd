"""How long a range of blocks to ask a node's logs for: as long as it serves them without complaint."""

from dataclasses import dataclass
from typing import Final

_FIRST: Final = 2_000
_MOST: Final = 1_000_000
_EASY_LOGS: Final = 2_000
"""A range with fewer logs than this may be twice as long the next time."""
_PATIENCE: Final = 50
"""After so many ranges as long as the limit, one of twice its length is tried: it may have been a bad moment."""


@dataclass(slots=True)
class Stride:
    """How many blocks to ask for next."""

    blocks: int = _FIRST
    most: int = _MOST
    _before: int | None = None
    """The limit that was known, while a longer range is being tried."""
    _at_limit: int = 0

    def refused(self, asked: int) -> bool:
        """Ask for fewer. False: even one block is too many."""
        # The node has shown its limit: grow back to it, not over it again and again.
        self.most = max(1, asked - 1) if self._before is None else min(self._before, max(1, asked - 1))
        self.blocks = min(max(1, asked // 2), self.most)
        self._before, self._at_limit = None, 0
        return asked > 1

    def stumbled(self, asked: int) -> None:
        """Something went wrong, whatever it was: a smaller range may go through where this one does not."""
        self.blocks = max(1, asked // 2)

    def went_well(self, logs: int, asked: int | None = None) -> None:
        """`asked`: how many blocks it were, when there were not as many as could have been asked for."""
        asked = self.blocks if asked is None else asked
        if logs >= _EASY_LOGS:
            return
        if self._before is not None and asked > self._before:
            self._before = None
        if self.blocks < self.most:
            self.blocks = min(self.blocks * 2, self.most)
        elif asked == self.most < _MOST:
            self._try_more()

    def _try_more(self) -> None:
        """A node that was behind, or short of breath, shows the same as one with a limit; nobody restarts us for it."""
        self._at_limit += 1
        if self._at_limit == _PATIENCE:
            self._before, self._at_limit = self.most, 0
            self.most = min(self.most * 2, _MOST)
