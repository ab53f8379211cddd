"""Lines on their way to a stream that may be slow, full or gone.

What is said about an answer never changes the answer: whoever logs hands its lines over and goes on. A thread writes
them, because a terminal or a pipe whose reader has stopped makes a write wait for ever. What does not fit is dropped
and counted.
"""

import atexit
import sys
import threading
from collections import deque
from functools import cache
from typing import Final, TextIO

_WAITING_MAX: Final = 4 * 1024 * 1024
_LAST_WORDS_S: Final = 1.0


class Lines:
    def __init__(self, stream: TextIO | None = None, *, waiting_max: int = _WAITING_MAX) -> None:
        """`stream`: standard error, when none is given."""
        self._stream = stream
        self._waiting: deque[str] = deque()
        self._size = 0
        self._max = waiting_max
        self._changed = threading.Condition()
        self._is_writing = False
        self._thread: threading.Thread | None = None
        self.lost = 0
        """Lines that nobody will read."""

    def write(self, text: str) -> None:
        """Whole lines."""
        with self._changed:
            if self._size + len(text) > self._max:
                self.lost += text.count("\n")
                return
            self._waiting.append(text)
            self._size += len(text)
            if self._thread is None:
                self._thread = threading.Thread(target=self._keep_writing, name="log lines", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def drain(self, timeout_s: float = _LAST_WORDS_S) -> None:
        """Wait until all that was handed over is written, or lost."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting and not self._is_writing, timeout_s)

    def _keep_writing(self) -> None:
        while True:
            with self._changed:
                self._is_writing = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting)
                text = "".join(self._waiting)
                self._waiting.clear()
                self._is_writing = True
            is_written = self._write_out(text)
            with self._changed:
                # Only now is there room again: what a blocked stream holds up counts as waiting.
                self._size -= len(text)
                self.lost += 0 if is_written else text.count("\n")

    def _write_out(self, text: str) -> bool:
        try:
            stream = self._stream or sys.stderr
            if stream is None:
                return False
            stream.write(text)
            stream.flush()
        except (OSError, ValueError):
            # A full disk, a reader that has gone, a stream that was closed.
            return False
        return True


@cache
def standard_error() -> Lines:
    """Where a process says what it does."""
    lines = Lines()
    atexit.register(lines.drain)
    return lines
