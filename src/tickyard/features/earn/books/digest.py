"""The books of a sealed epoch as one text, and its SHA-256: the number that the desk on the chain keeps.

One line per eligible wallet in the order of addresses: address, balance at the snapshot, share of the pool, both in
base units. The same text is the public file, the digest that the worker writes, and what the payout agent computes
again before it pays anything.
"""

import hashlib
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from tickyard.features.earn.rules import share

HEADER: Final = b"address,balance,share\n"

_WIDTH: Final = 20
_BUCKETS: Final = 2**16

Holding = tuple[str, int]
"""Address and balance."""


def book_lines(holdings: Iterable[Holding], pool_raw: int, total: int) -> bytes:
    """Lines of the text, for holdings in the order of addresses."""
    return "".join(
        [f"{address},{balance},{share(pool_raw, balance, total)}\n" for address, balance in holdings]
    ).encode()


@dataclass(slots=True)
class Books:
    """The shares of an epoch, as small as they can be kept: 28 bytes a wallet. Filled in the order of addresses."""

    epoch: int
    pool_raw: int
    total: int
    _addresses: bytearray = field(default_factory=bytearray)
    _shares: "array[int]" = field(default_factory=lambda: array("Q"))
    _counts: "array[int]" = field(default_factory=lambda: array("I", bytes(4 * _BUCKETS)))
    _starts: "array[int] | None" = None
    """Where the addresses with these first two bytes begin."""
    _hash: "hashlib._Hash" = field(default_factory=lambda: hashlib.sha256(HEADER))
    _sum: int = 0

    def add(self, holdings: Iterable[Holding]) -> None:
        held = list(holdings)
        self._hash.update(book_lines(held, self.pool_raw, self.total))
        self._starts = None
        for address, balance in held:
            name = bytes.fromhex(address[2:])
            self._addresses += name
            self._counts[name[0] << 8 | name[1]] += 1
            self._shares.append(share(self.pool_raw, balance, self.total))
            self._sum += balance

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    @property
    def is_whole(self) -> bool:
        """What was added is what the shares were taken of."""
        return self._sum == self.total

    def share_of(self, address: str) -> int:
        if self._starts is None:
            self._starts = array("I", accumulate(self._counts, initial=0))
        wanted = bytes.fromhex(address[2:])
        bucket = wanted[0] << 8 | wanted[1]
        at, end = self._starts[bucket] * _WIDTH, self._starts[bucket + 1] * _WIDTH
        at = self._addresses.find(wanted, at, end)
        while at > 0 and at % _WIDTH:
            # Its bytes also stand across two others.
            at = self._addresses.find(wanted, at + 1, end)
        return self._shares[at // _WIDTH] if at >= 0 else 0
