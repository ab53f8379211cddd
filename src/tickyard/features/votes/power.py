"""Vote power: the shares that a wallet's tokens stand for. Exact integers; cut, never rounded up."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tickyard.kernel.units import TokenAmount, money_text

# Base units (18 decimals) times a multiplier of 18 decimals, down to millionths of a share.
_PER_MILLIONTH: Final = 10**30


@dataclass(frozen=True, slots=True)
class Stake:
    symbol: str
    balance: TokenAmount
    multiplier_e18: int

    @property
    def exact(self) -> int:
        """Shares with 36 decimals."""
        return self.balance * self.multiplier_e18

    @property
    def millionths(self) -> int:
        return self.exact // _PER_MILLIONTH


def ranked(stakes: Iterable[Stake]) -> list[Stake]:
    """Largest first, by symbol where equal."""
    return sorted(stakes, key=lambda stake: (-stake.exact, stake.symbol))


def shares_text(stake: Stake) -> str:
    return money_text(stake.millionths)


def total_text(stakes: Sequence[Stake]) -> str:
    """The sum of the figures as they are shown."""
    return money_text(sum(stake.millionths for stake in stakes))
