"""One number for a whole snapshot: the worker writes it, the payout agent computes it again and keeps its own copy."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from tickyard.features.earn.rules import share


@dataclass(frozen=True, slots=True)
class Sealed:
    """A sealed epoch: who held what, and how much there is to share."""

    epoch: int
    block_hash: str
    pool_raw: int
    balances: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.balances.values())

    @property
    def digest(self) -> str:
        return sealed_digest(self.epoch, self.block_hash, self.pool_raw, self.total, shares_digest(self.balances))

    def share_of(self, address: str) -> int:
        return share(self.pool_raw, self.balances.get(address, 0), self.total)


def shares_digest(balances: Mapping[str, int]) -> str:
    lines = "".join(f"{address} {balances[address]}\n" for address in sorted(balances))
    return hashlib.sha256(lines.encode()).hexdigest()


def sealed_digest(epoch: int, block_hash: str, pool_raw: int, total: int, shares: str) -> str:
    return hashlib.sha256(f"{epoch} {block_hash} {pool_raw} {total} {shares}".encode()).hexdigest()
