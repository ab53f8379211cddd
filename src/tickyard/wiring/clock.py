"""Which time it is."""

from tickyard.config.settings import Settings
from tickyard.kernel.clock import Clock, WallClock


def open_clock(settings: Settings) -> Clock:
    """Wall time; in the sandbox, the clock that its world shares."""
    if not settings.is_sandbox:
        return WallClock()
    from tickyard.sandbox.clock import CLOCK_FILE, SandboxClock

    return SandboxClock(settings.data_path / CLOCK_FILE)
