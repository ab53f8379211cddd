"""Knowing when not to ask: a source that keeps failing is left alone for a moment."""


class Breaker:
    """Opens after several failed calls in a row, then lets one probe through per pause.

    Time comes in as monotonic seconds, so the rule can be tested without waiting.
    """

    def __init__(self, *, failures: int = 5, pause_s: float = 2.0) -> None:
        self._limit = failures
        self._pause_s = pause_s
        self._failed_in_a_row = 0
        self._closed_until = 0.0

    @property
    def is_open(self) -> bool:
        return self._failed_in_a_row >= self._limit

    def allows(self, now: float) -> bool:
        """Whether this call may go out. While open, a yes starts the next pause: probes come one by one."""
        if not self.is_open:
            return True
        if now < self._closed_until:
            return False
        # A probe that is cancelled reports nothing; the next pause then simply ends with another probe.
        self._closed_until = now + self._pause_s
        return True

    def wait_s(self, now: float) -> float:
        """How long until the next probe may go out."""
        return max(0.0, self._closed_until - now) if self.is_open else 0.0

    def succeeded(self) -> None:
        self._failed_in_a_row = 0

    def failed(self, now: float) -> None:
        self._failed_in_a_row += 1
        if self.is_open:
            self._closed_until = now + self._pause_s
