"""The one place that knows what time it is.

`Clock.now()` is wall time plus an offset. Outside the sandbox the offset is the constant 0 and nothing
can move it. Rules never ask a clock: they take `now` or a slot as a value.
"""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol

SLOT_S = 300
"""Samples are taken once per slot: five minutes, aligned to UTC."""


class Clock(Protocol):
    def now(self) -> datetime:
        """The present moment in UTC."""
        ...

    def seconds(self) -> int:
        """The present moment as whole Unix seconds."""
        ...

    def timestamp(self) -> float:
        """The present moment as Unix seconds with their fraction, for cheap comparisons."""
        ...

    def monotonic(self) -> float:
        """Seconds that never jump, for measuring how long something takes."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class WallClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def seconds(self) -> int:
        return int(time.time())

    def timestamp(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Stamp(NamedTuple):
    """A moment of this process's life, for asking how long ago it was."""

    wall: float
    steady: float


def stamp(clock: Clock) -> Stamp:
    return Stamp(clock.timestamp(), clock.monotonic())


def seconds_since(clock: Clock, moment: Stamp) -> float:
    """How long ago that was, by the clock that makes it longer: wall time that is set back makes nothing young again,
    and a leap of it (a machine that slept, the sandbox) ages everything."""
    return max(clock.timestamp() - moment.wall, clock.monotonic() - moment.steady)


async def breathe() -> None:
    """Let every other task of this loop have a turn. No time passes by it, whoever's clock it is."""
    await asyncio.sleep(0)


def slot_of(moment: datetime) -> datetime:
    """The start of the five-minute slot that holds this moment."""
    seconds = int(moment.timestamp())
    return datetime.fromtimestamp(seconds - seconds % SLOT_S, UTC)


def next_slot(moment: datetime) -> datetime:
    return slot_of(moment) + timedelta(seconds=SLOT_S)
