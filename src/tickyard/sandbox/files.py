"""Files by which the processes of a sandbox tell each other what they need to know."""

import os
from pathlib import Path
from typing import Final

from tickyard.kernel.clock import WallClock

_LOOK_S: Final = 0.02


def write_whole(path: Path, data: bytes) -> None:
    """A reader sees nothing or all of it."""
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(data)
    unfinished.replace(path)


async def appears(path: Path) -> None:
    """Wait until the file is there, or until whoever was to write it is gone."""
    clock, parent = WallClock(), os.getppid()
    while not _is_there(path):
        if os.getppid() != parent:
            raise SystemExit(1)
        await clock.sleep(_LOOK_S)


def _is_there(path: Path) -> bool:
    return path.exists()
