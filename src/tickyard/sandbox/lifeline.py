"""Children of the sandbox live as long as their standard input: a parent that dies leaves no orphan.

This works the same on every system, also when the parent is killed outright.
"""

import asyncio
import os
import threading
from collections.abc import Callable


def on_parent_gone(then: Callable[[], object]) -> None:
    """Run `then` on the running loop once the parent's end of our standard input is closed."""
    loop = asyncio.get_running_loop()
    threading.Thread(target=_await_end_of_stdin, args=(loop, then), daemon=True).start()


def _await_end_of_stdin(loop: asyncio.AbstractEventLoop, then: Callable[[], object]) -> None:
    # A thread with a plain read: an event loop cannot watch every kind of stdin (a file, the null device).
    try:
        while os.read(0, 4096):
            continue
    except OSError:
        # No stdin at all counts as one that was closed.
        pass
    if not loop.is_closed():
        loop.call_soon_threadsafe(then)
