"""How old a node's newest block may be, judged against our own clock.

A node that is stuck goes on answering, and every answer of it looks right: only its age tells. The newest block of a
chain that moves many times a second is never a minute old.
"""

from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from tickyard.chain.rpc.reply import read_one, read_quantity
from tickyard.chain.rpc.trouble import Garbage, RpcError, Stale
from tickyard.kernel.clock import Clock

T = TypeVar("T")

HEAD_CHECK: Final = b'{"jsonrpc":"2.0","id":0,"method":"eth_getBlockByNumber","params":["latest",false]}'
_AHEAD_MAX_S: Final = 600
"""Clocks differ by seconds. A time further ahead, once believed, would make every honest node look stuck."""


_STILL_S: Final = 5
"""A chain may be quiet for so long, and a node stuck: the others know."""


class _Dated(msgspec.Struct):
    timestamp: msgspec.Raw


class BlockAge:
    def __init__(self, clock: Clock, max_s: int, *, look_every_s: float = 5.0) -> None:
        self._clock = clock
        self._max_s = max_s
        self.look_every_s = look_every_s

    def judge(self, block_time_s: int) -> None:
        """Stale or Garbage when this cannot be the time of the newest block."""
        age = self._clock.seconds() - block_time_s
        if age > self._max_s:
            raise Stale
        if age < -_AHEAD_MAX_S:
            raise Garbage

    def is_still(self, block_time_s: int) -> bool:
        """Whether this is rather old for the newest block, if not too old."""
        return self._clock.seconds() - block_time_s > _STILL_S

    def judged(self, read: Callable[[bytes], int]) -> Callable[[bytes], int]:
        def reading(answer: bytes) -> int:
            at = read(answer)
            self.judge(at)
            return at

        return reading


def read_head_time(answer: bytes) -> int:
    """The time in the answer to HEAD_CHECK."""
    try:
        return read_quantity(msgspec.json.decode(read_one(answer, (0, "eth_getBlockByNumber")), type=_Dated).timestamp)
    except (msgspec.MsgspecError, RpcError):
        raise Garbage from None
