"""The agent's own memory of the snapshots it has accepted: a file that no database can change."""

import os
from pathlib import Path

import msgspec

from tickyard.features.earn.digest import Sealed
from tickyard.payout.halt import Halted


class Accepted(msgspec.Struct, frozen=True):
    epoch: int
    digest: str
    pool_raw: int


class AcceptedSnapshots:
    """One JSON line per epoch, appended and synced before the first payout of that epoch is signed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[int, Accepted] = {}
        if path.exists():
            for line in path.read_bytes().splitlines():
                self._remember(line)

    def accept(self, sealed: Sealed) -> None:
        """Take this snapshot for good. Raises Halted when another one was taken for the same epoch."""
        known = self._known.get(sealed.epoch)
        digest = sealed.digest
        if known is None:
            self._append(Accepted(sealed.epoch, digest, sealed.pool_raw))
        elif known.digest != digest:
            raise Halted(f"the sealed snapshot of epoch {sealed.epoch} is not the one that was accepted before")

    def _append(self, entry: Accepted) -> None:
        line = msgspec.json.encode(entry) + b"\n"
        file = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        try:
            os.write(file, line)
            os.fsync(file)
        finally:
            os.close(file)
        self._known[entry.epoch] = entry

    def _remember(self, line: bytes) -> None:
        try:
            entry = msgspec.json.decode(line, type=Accepted)
        except msgspec.DecodeError:
            # Cut off by a crash before anything was signed under it: as if it had never been written.
            return
        self._known.setdefault(entry.epoch, entry)
