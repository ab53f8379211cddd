"""The agent's own memory of the books it has accepted: a file that no database can change."""

import os
from pathlib import Path

import msgspec

from tickyard.features.earn.books.digest import Books
from tickyard.kernel.errors import UpstreamDown
from tickyard.payout.halt import Halted


class Accepted(msgspec.Struct, frozen=True):
    epoch: int
    digest: str
    pool_raw: int
    desk: str = ""
    """Empty: accepted before this was written down."""


class AcceptedBooks:
    """One JSON line per epoch, appended and synced before anything of that epoch is signed."""

    def __init__(self, path: Path, desk: str = "") -> None:
        self._path = path
        self._desk = desk
        self._known: dict[int, Accepted] = {}
        self._is_torn = False
        if path.exists():
            content = path.read_bytes()
            # A line that a crash cut off must not swallow the one that is written after it.
            self._is_torn = bool(content) and not content.endswith(b"\n")
            for line in content.splitlines():
                self._remember(line)

    def accept(self, books: Books) -> None:
        """Take these books for good. Raises Halted when others were taken for the same epoch, or for another desk."""
        known = self._known.get(books.epoch)
        if known is None:
            try:
                self._append(Accepted(books.epoch, books.digest, books.pool_raw, self._desk))
            except OSError as error:
                # A full disk is trouble like any other: claims wait, and an agent that stands by may have room.
                raise UpstreamDown(f"{self._path} cannot be written: {error.strerror}") from error
        elif (known.digest, known.pool_raw) != (books.digest, books.pool_raw):
            raise Halted(
                f"the books of epoch {books.epoch} are not the ones that were accepted before ({self._path}): "
                "if the desk has these books, move that file away and restart the agent"
            )
        elif known.desk and known.desk != self._desk:
            # Whom that one has paid, this one would pay again.
            raise Halted(f"epoch {books.epoch} was accepted for the desk {known.desk} before ({self._path})")

    def _append(self, entry: Accepted) -> None:
        line = (b"\n" if self._is_torn else b"") + msgspec.json.encode(entry) + b"\n"
        is_new = not self._path.exists()
        file = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        # Until all of it is on the disk, whatever comes next begins on a line of its own.
        self._is_torn = True
        try:
            while line:
                line = line[os.write(file, line) :]
            os.fsync(file)
        finally:
            os.close(file)
        if is_new:
            _sync_folder(self._path.parent)
        self._is_torn = False
        self._known[entry.epoch] = entry

    def _remember(self, line: bytes) -> None:
        try:
            entry = msgspec.json.decode(line, type=Accepted)
        except (msgspec.DecodeError, UnicodeDecodeError):
            # Cut off before anything was signed under it: as if it had never been written.
            return
        self._known.setdefault(entry.epoch, entry)


def _sync_folder(folder: Path) -> None:
    """The name of a new file is the folder's to keep."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
