"""An asset as the house knows it: what the issuer lists, and what the token's contract says of its multiplier."""

from dataclasses import dataclass
from datetime import datetime

from tickyard.chain.stock_token import MULTIPLIER_ONE, pending_multiplier
from tickyard.kernel.ids import Address, Symbol
from tickyard.kernel.units import Price, ratio_text
from tickyard.sources.issuer.border import ListedAsset


@dataclass(frozen=True, slots=True)
class MultiplierSchedule:
    """The token contract's word on its multiplier: the present value, and the one it flips to by itself."""

    current_e18: int
    new_e18: int
    effective_at: int
    """Unix seconds; the contract never clears it."""
    read_at: int

    def at(self, second: int) -> int:
        """The value flips between two blocks without a transaction, so we flip it too."""
        return self.new_e18 if self.read_at < self.effective_at <= second else self.current_e18

    def pending_at(self, second: int) -> int | None:
        return pending_multiplier(self.at(second), self.new_e18, self.effective_at, second)


@dataclass(frozen=True, slots=True)
class Asset:
    listed: ListedAsset
    schedule: MultiplierSchedule | None
    """None: the chain has not told us yet (or the asset has no address); the registry's value stands in."""
    shown_address: str | None
    """The address in its EIP-55 form."""

    @property
    def symbol(self) -> Symbol:
        return self.listed.symbol

    @property
    def name(self) -> str:
        return self.listed.name

    @property
    def address(self) -> Address | None:
        return self.listed.address

    def multiplier_e18(self, now: datetime) -> int:
        """Underlying shares per token at this moment. The chain wins over the registry."""
        if self.schedule is not None:
            return self.schedule.at(int(now.timestamp()))
        return self.listed.multiplier_e18

    def multiplier(self, now: datetime) -> Price:
        return Price(self.multiplier_e18(now), MULTIPLIER_ONE)

    def pending_multiplier_e18(self, now: datetime) -> int | None:
        if self.schedule is not None:
            return self.schedule.pending_at(int(now.timestamp()))
        return self.listed.pending_multiplier_e18


def multiplier_text(e18: int) -> str:
    return ratio_text(e18, MULTIPLIER_ONE, 18)
