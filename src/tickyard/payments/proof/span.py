"""From moments to block numbers, without asking for blocks one by one: every header that comes by is remembered.

A bound only has to be on the right side of its moment, and near enough that a node is not asked for too much.
"""

from bisect import bisect_left, bisect_right, insort
from typing import Final

_KEPT: Final = 1024
_NEAR_S: Final = 600
"""How much later than its moment an upper bound may be."""


class BlockTimes:
    def __init__(self) -> None:
        self._known: list[tuple[int, int]] = []
        """(timestamp, number), in the order of both."""

    def learn(self, number: int, timestamp: int) -> None:
        at = (timestamp, number)
        index = bisect_left(self._known, at)
        if index < len(self._known) and self._known[index] == at:
            return
        # A chain that was reorganised has other times: what contradicts the news is forgotten.
        self._known = [
            (its_time, its_number)
            for its_time, its_number in self._known
            if (its_number < number and its_time <= timestamp) or (its_number > number and its_time >= timestamp)
        ]
        insort(self._known, at)
        if len(self._known) > _KEPT:
            del self._known[0]

    def timestamp(self, number: int) -> int | None:
        return next((timestamp for timestamp, known in self._known if known == number), None)

    def before(self, moment: int, *, tries: int = 0) -> int:
        """A block that is probably earlier than the moment; surely when it is known. After so many tries that were not
        early enough it is much earlier: what they showed may be older than anything that is remembered."""
        index = bisect_left(self._known, (moment, 0))
        if index:
            return self._known[index - 1][1]
        timestamp, number = self._known[0]
        blocks, seconds = self._pace()
        likely = 2 * (timestamp - moment) * blocks // seconds + 64
        return max(0, number - (likely << 2 * tries))

    def after(self, moment: int, *, is_sure: bool = False) -> int:
        """A block that is later than the moment, probably or surely; the newest that is known when none is."""
        index = bisect_right(self._known, (moment, 1 << 62))
        if index == len(self._known):
            return self._known[-1][1]
        timestamp, number = self._known[index]
        if is_sure or timestamp - moment <= _NEAR_S:
            return number
        blocks, seconds = self._pace()
        low = self._known[index - 1][1] + 1 if index else 0
        return max(low, number - (timestamp - moment - _NEAR_S // 2) * blocks // seconds)

    def _pace(self) -> tuple[int, int]:
        """Blocks in so many seconds."""
        (first_s, first), (last_s, last) = self._known[0], self._known[-1]
        return (last - first, last_s - first_s) if last_s - first_s >= 10 and last > first else (1, 1)
