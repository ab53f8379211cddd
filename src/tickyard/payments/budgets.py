"""How often somebody may waste our time: a bounded count per minute and name, in the memory of this process."""

from collections import OrderedDict, deque
from typing import Final

WINDOW_S: Final = 60
_NAMES_MAX: Final = 50_000


class Budget:
    """At most `quota` events in any minute for each name. None: no limit."""

    def __init__(self, quota: int | None) -> None:
        self._quota = quota
        # The name spent on least recently first: the one to forget.
        self._spent: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_s(self, name: str, now: float) -> int:
        """Seconds until this name may spend again; 0: now. `now` is monotonic seconds."""
        if self._quota is None or name not in self._spent:
            return 0
        moments = self._spent[name]
        while moments and moments[0] <= now - WINDOW_S:
            moments.popleft()
        if not moments:
            del self._spent[name]
            return 0
        return 0 if len(moments) < self._quota else int(moments[0] + WINDOW_S - now) + 1

    def spend(self, name: str, now: float) -> None:
        if self._quota is None:
            return
        if name not in self._spent and len(self._spent) >= _NAMES_MAX:
            self._spent.popitem(last=False)
        self._spent.setdefault(name, deque(maxlen=self._quota)).append(now)
        self._spent.move_to_end(name)
