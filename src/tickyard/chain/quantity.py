"""Numbers and hashes as a node spells them. One reader: Python's own `int` also takes signs, blanks and underscores."""

import re
from typing import Final

from tickyard.chain.abi import malformed

_QUANTITY: Final = re.compile(r"0x[0-9a-fA-F]{1,64}")
_BYTES: Final = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}")


def quantity(value: object) -> int:
    """A JSON value that must be a number in hex digits."""
    if not isinstance(value, str) or not _QUANTITY.fullmatch(value):
        raise malformed()
    return int(value, 16)


def hash_text(value: object) -> str:
    """A JSON value that must be 32 bytes, in lower case."""
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        raise malformed()
    return value.lower()


def bytes_of(value: object) -> bytes:
    """A JSON value that must be bytes, any number of them."""
    if not isinstance(value, str) or not _BYTES.fullmatch(value):
        raise malformed()
    return bytes.fromhex(value[2:])
