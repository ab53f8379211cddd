"""Many processes behind a real proxy on a real PostgreSQL, ten minutes of mixed traffic, a fault every twenty seconds."""

from tickyard.kernel.clock import WallClock

CLOCK = WallClock()
"""A storm takes its time."""
