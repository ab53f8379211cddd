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

    @property
    def is_exact_in(self) -> bool:
        return (self.side == "buy") == (self.denom == "usd")

    @property
    def fixed(self) -> int:
        """Base units of the leg that the order fixes."""
        try:
            return int((UsdgAmount if self.denom == "usd" else TokenAmount).parse(self.amount))
        except Failure as failure:
            raise TradeRefused(failure.message) from None
