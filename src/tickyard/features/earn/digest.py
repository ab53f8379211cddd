"""The books of a sealed epoch as one text, and its SHA-256: the number that the desk on the chain keeps.

One line per eligible wallet in the order of addresses: address, balance at the snapshot, share of the pool, both in
base units. The same text is the public file, the digest that the worker writes, and what the payout agent computes
again before it pays anything.
"""

import hashlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from tickyard.features.earn.rules import share

HEADER: Final = b"address,balance,share\n"

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
    _hash: "hashlib._Hash" = field(default_factory=lambda: hashlib.sha256(HEADER))
    _sum: int = 0

    def add(self, holdings: Iterable[Holding]) -> None:
        held = list(holdings)
        self._hash.update(book_lines(held, self.pool_raw, self.total))
        for address, balance in held:
            self._addresses += bytes.fromhex(address[2:])
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
        wanted = bytes.fromhex(address[2:])
        at = bisect_left(range(len(self._shares)), wanted, key=lambda n: bytes(self._addresses[20 * n : 20 * n + 20]))
        is_there = at < len(self._shares) and self._addresses[20 * at : 20 * at + 20] == wanted
        return self._shares[at] if is_there else 0
