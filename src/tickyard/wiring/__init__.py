"""The composition root: Settings -> Deps. The only place that builds things."""

from tickyard.wiring.clock import open_clock
from tickyard.wiring.parts import ServiceDeps, open_deps

__all__ = ["ServiceDeps", "open_clock", "open_deps"]
