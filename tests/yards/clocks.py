"""Time in the hands of a test."""

from datetime import datetime, timedelta

from tickyard.kernel.clock import WallClock


class MovedClock(WallClock):
    """Wall time plus an offset, as in the sandbox."""

    def __init__(self) -> None:
        self.offset = timedelta(0)
        self.wrong = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.offset + self.wrong

    def seconds(self) -> int:
        return int(self.timestamp())

    def timestamp(self) -> float:
        return self.now().timestamp()

    def monotonic(self) -> float:
        return super().monotonic() + self.offset.total_seconds()

    def move(self, seconds: float = 0, **span: float) -> None:
        self.offset += timedelta(seconds=seconds, **span)

    def misset(self, seconds: float = 0, **span: float) -> None:
        """Somebody sets the machine's clock: no time passes by it. Set by nothing it is right again."""
        self.wrong = timedelta(seconds=seconds, **span)


class SkippingClock(MovedClock):
    """Pauses go by at once: whoever measures them finds that they took their time."""

    async def sleep(self, seconds: float) -> None:
        self.move(seconds)
        await super().sleep(0)
