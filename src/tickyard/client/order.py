"""What somebody wants to trade."""

from dataclasses import dataclass
from typing import Literal

from tickyard.client.errors import TradeRefused
from tickyard.kernel.errors import Failure
from tickyard.kernel.units import TokenAmount, UsdgAmount


@dataclass(frozen=True, slots=True)
class Order:
    symbol: str
    side: Literal["buy", "sell"]
    amount: str
    denom: Literal["usd", "token"] = "usd"
    slippage_bps: int = 50
    token: str | None = None
    """The token's address, where it is known from elsewhere. A build for another one is refused."""
    limit: str | None = None
    """The least to get, or the most to pay, of the leg that the amount leaves open. A build that allows worse is
    refused."""
    fee_most_wei: int = 2 * 10**16
    """The most that the gas of one step may cost."""

    @property
    def is_exact_in(self) -> bool:
        return (self.side == "buy") == (self.denom == "usd")

    @property
    def fixed(self) -> int:
        """Base units of the leg that the order fixes."""
        return _units(self.amount, is_usd=self.denom == "usd")

    def allows(self, bound: int) -> bool:
        """Whether this bound, in base units of the open leg, is within the limit."""
        if self.limit is None:
            return True
        limit = _units(self.limit, is_usd=self.denom != "usd")
        return bound >= limit if self.is_exact_in else bound <= limit


def _units(text: str, *, is_usd: bool) -> int:
    try:
        return int((UsdgAmount if is_usd else TokenAmount).parse(text))
    except Failure as failure:
        raise TradeRefused(failure.message) from None
