"""Solidity's 32-byte words: making them, and reading them with suspicion.

What comes back from a node has crossed a border: a word of the wrong length, an address with a dirty
prefix or a boolean of 7 is the node's failure, not ours.
"""

from struct import Struct
from typing import Final

from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.ids import Address

WORD: Final = 32
_CLEAN_PREFIX: Final = bytes(12)
_ERROR_STRING: Final = bytes.fromhex("08c379a0")


def uint_word(value: int) -> bytes:
    """Raises OverflowError outside uint256: an amount is checked long before it comes here."""
    return value.to_bytes(WORD, "big")


def address_word(address: Address) -> bytes:
    return _CLEAN_PREFIX + bytes.fromhex(address[2:])


def malformed() -> UpstreamDown:
    return UpstreamDown("the chain node sent a malformed answer")


def words(data: bytes, count: int) -> list[bytes]:
    """Exactly this many words, nothing before or after."""
    if len(data) != count * WORD:
        raise malformed()
    return [data[start : start + WORD] for start in range(0, len(data), WORD)]


class UintWords:
    """Unsigned numbers of given widths, one a word, all checked at once: for answers that are read all the time."""

    def __init__(self, *bits: int) -> None:
        self._size = len(bits) * WORD
        self._split = Struct(f"{WORD}s" * len(bits)).unpack
        self._too_high = int.from_bytes(b"".join(uint_word((1 << 256) - (1 << width)) for width in bits), "big")

    def read(self, data: bytes) -> tuple[int, ...]:
        if len(data) != self._size or int.from_bytes(data, "big") & self._too_high:
            raise malformed()
        return tuple([int.from_bytes(word, "big") for word in self._split(data)])


def read_uint(word: bytes, bits: int = 256) -> int:
    if len(word) != WORD:
        raise malformed()
    value = int.from_bytes(word, "big")
    if value >> bits:
        raise malformed()
    return value


def read_int(word: bytes, bits: int = 256) -> int:
    if len(word) != WORD:
        raise malformed()
    value = int.from_bytes(word, "big", signed=True)
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise malformed()
    return value


def read_bool(word: bytes) -> bool:
    value = read_uint(word)
    if value > 1:
        raise malformed()
    return value == 1


def read_address(word: bytes) -> Address:
    if len(word) != WORD or word[:12] != _CLEAN_PREFIX:
        raise malformed()
    return Address("0x" + word[12:].hex())


def read_text(data: bytes) -> str:
    """A string, as a contract returns it; what is no text in it is replaced, and more than 200 characters are cut."""
    if len(data) < 2 * WORD or read_uint(data[:WORD]) != WORD:
        raise malformed()
    size = read_uint(data[WORD : 2 * WORD])
    if len(data) < 2 * WORD + size:
        raise malformed()
    return data[2 * WORD : 2 * WORD + size].decode("utf-8", "replace")[:200]


def revert_text(data: bytes | None) -> str | None:
    """The text of `Error(string)`, such as STF. None for any other revert data."""
    if data is None or len(data) < 4 + 2 * WORD or data[:4] != _ERROR_STRING:
        return None
    size = int.from_bytes(data[4 + WORD : 4 + 2 * WORD], "big")
    if int.from_bytes(data[4 : 4 + WORD], "big") != WORD or len(data) < 4 + 2 * WORD + size:
        return None
    return data[4 + 2 * WORD : 4 + 2 * WORD + size].decode("utf-8", "replace")[:200]
