"""What somebody wants to trade."""

from dataclasses import dataclass
from typing import Final, Literal, get_args

from tickyard.client.errors import TradeRefused
from tickyard.kernel.errors import Failure
from tickyard.kernel.units import TokenAmount, UsdgAmount

Side = Literal["buy", "sell"]
Denom = Literal["usd", "token"]
_SLIPPAGE_MOST_BPS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Order:
    symbol: str
    side: Side
    amount: str
    denom: Denom = "usd"
    slippage_bps: int = 50
    token: str | None = None
    """The token's address, where it is known from elsewhere. A build for another one is refused."""
    limit: str | None = None
    """The least to get, or the most to pay, of the leg that the amount leaves open. A build that allows worse is
    refused."""
    fee_most_wei: int = 2 * 10**16
    """The most that the gas of one step may cost."""

    def __post_init__(self) -> None:
        for name in ("symbol", "amount", "token", "limit"):
            is_left_out = getattr(self, name) is None and name in ("token", "limit")
            if not is_left_out and not isinstance(getattr(self, name), str):
                raise TradeRefused(f"{name} must be a string")
        if not isinstance(self.slippage_bps, int):
            raise TradeRefused("slippage_bps must be an integer")
        # A word that is not known must never be read as the other one: "BUY" is not a sale.
        if self.side not in get_args(Side) or self.denom not in get_args(Denom):
            raise TradeRefused("an order buys or sells, an amount in usd or in token")
        if not 0 < self.slippage_bps <= _SLIPPAGE_MOST_BPS:
            raise TradeRefused(f"slippage must be from 1 to {_SLIPPAGE_MOST_BPS} hundredths of a percent")

    @property
    def is_exact_in(self) -> bool:
        return (self.side == "buy") == (self.denom == "usd")

    @property
    def fixed(self) -> int:
        """Base units of the leg that the order fixes."""
        return _units(self.amount, "amount", is_usd=self.denom == "usd")

    def allows(self, bound: int) -> bool:
        """Whether this bound, in base units of the open leg, is within the limit."""
        if self.limit is None:
            return True
        limit = _units(self.limit, "limit", is_usd=self.denom != "usd")
        return bound >= limit if self.is_exact_in else bound <= limit


def _units(text: str, name: str, *, is_usd: bool) -> int:
    try:
        return int((UsdgAmount if is_usd else TokenAmount).parse(text))
    except Failure as failure:
        raise TradeRefused(failure.message.replace("amount", name, 1)) from None
