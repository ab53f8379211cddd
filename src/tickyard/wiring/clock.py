"""Which time it is."""

from tickyard.config.settings import Settings, SettingsError
from tickyard.kernel.clock import Clock, WallClock


def open_clock(settings: Settings) -> Clock:
    """Wall time; in the sandbox, the clock that its world shares."""
    if not settings.is_sandbox:
        return WallClock()
    from tickyard.sandbox.clock import CLOCK_FILE, SandboxClock

    try:
        return SandboxClock(settings.data_path / CLOCK_FILE)
    except FileNotFoundError:
        raise SettingsError(
            f"there is no sandbox in {settings.data_path.absolute()}: `tickyard up` makes one and starts its processes"
        ) from None
