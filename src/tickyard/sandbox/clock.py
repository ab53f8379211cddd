"""The sandbox's clock: wall time plus an offset that every process of one world shares.

The offset is eight bytes in a file of the run's folder, mapped into memory, so that reading it costs
nothing and a move is seen by all processes at once. It only ever grows.
"""

import asyncio
import mmap
import struct
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

CLOCK_FILE = "clock"

_OFFSET_US = struct.Struct("<q")


class SandboxClock:
    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _OFFSET_US.size)

    @classmethod
    def create(cls, path: Path, start: datetime) -> "SandboxClock":
        """A clock that shows `start` now, or wall time when that is later."""
        ahead = max(start - datetime.now(UTC), timedelta(0))
        path.write_bytes(_OFFSET_US.pack(round(ahead / timedelta(microseconds=1))))
        return cls(path)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.offset

    def seconds(self) -> int:
        return int(self.timestamp())

    def timestamp(self) -> float:
        return time.time() + self.offset.total_seconds()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    @property
    def offset(self) -> timedelta:
        return timedelta(microseconds=_OFFSET_US.unpack_from(self._map)[0])

    def advance(self, by: timedelta) -> None:
        if by < timedelta(0):
            raise ValueError("the sandbox clock only moves forward")
        _OFFSET_US.pack_into(self._map, 0, round((self.offset + by) / timedelta(microseconds=1)))
