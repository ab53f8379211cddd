"""A copy that came from SQLite carries its own checksum: SQLite has none, and takes half a last page for a whole one.

The seal stands behind the last page, where SQLite does not look, so the copy is a database all the same. A file without
one (an older copy, or a database somebody copied by hand) must at least be as long as it says.
"""

import hashlib
import re
import struct
from pathlib import Path
from typing import Final

_SEAL: Final = re.compile(rb"\ntickyard copy, sha256 ([0-9a-f]{64})\n")
_SEAL_BYTES: Final = 23 + 64 + 1
_BLOCK_BYTES: Final = 1024 * 1024
_PAGE_SIZE_AT: Final = 16
_PAGES_AT: Final = 28
_HEADER_BYTES: Final = 100
_LARGEST_PAGE: Final = 65_536


def seal(copy: Path) -> None:
    digest = _digest(copy, copy.stat().st_size)
    with copy.open("ab") as file:
        file.write(b"\ntickyard copy, sha256 " + digest.encode() + b"\n")


def is_whole(copy: Path) -> bool:
    """Whether it is, byte by byte, what was copied; without a seal, whether nothing is missing at its end."""
    size = copy.stat().st_size
    with copy.open("rb") as file:
        header = file.read(_HEADER_BYTES)
        file.seek(max(0, size - _SEAL_BYTES))
        found = _SEAL.fullmatch(file.read())
    if found is not None:
        return _digest(copy, size - _SEAL_BYTES) == found[1].decode()
    if copy.with_name(f"{copy.name}-wal").exists():
        # A database that somebody writes to: its newest pages are in there.
        return True
    return len(header) == _HEADER_BYTES and size >= _length_by(header)


def _length_by(header: bytes) -> int:
    (page_size,) = struct.unpack_from(">H", header, _PAGE_SIZE_AT)
    (pages,) = struct.unpack_from(">I", header, _PAGES_AT)
    # The largest size does not fit into its two bytes.
    return int(pages * (_LARGEST_PAGE if page_size == 1 else page_size))


def _digest(copy: Path, size: int) -> str:
    taken = hashlib.sha256()
    with copy.open("rb") as file:
        while size and (block := file.read(min(size, _BLOCK_BYTES))):
            taken.update(block)
            size -= len(block)
    return taken.hexdigest()
