"""How many calls a node takes in one request, as far as it has told.

Whoever asks for more each time has most of its requests refused, one after the other, until its time is up.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 8
"""Requests under way for one batch: a node that takes few calls at a time takes few requests a second as well."""
_PATIENCE: Final = 64


class BatchSize:
    def __init__(self, most: int) -> None:
        self._most = self._now = most
        self._taken = 0

    def parts(self, calls: Sequence[T]) -> list[Sequence[T]]:
        if not calls:
            return []
        first = self._now
        if self._taken >= _PATIENCE:
            # The node may have been busy, or be another by now. One request is enough to see.
            first, self._taken = min(2 * self._now, self._most), 0
        rest = range(first, len(calls), self._now)
        return [calls[:first], *(calls[start : start + self._now] for start in rest)]

    def note_taken(self, size: int) -> None:
        self._now = max(self._now, size)
        self._taken += self._now < self._most

    def note_refused(self, size: int) -> None:
        if size <= self._now:
            self._now, self._taken = max(1, size // 2), 0
