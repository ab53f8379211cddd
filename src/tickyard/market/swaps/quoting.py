"""What a quote says, shared by the quote itself and by the build that carries one."""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from tickyard.kernel.wire import Answer, MoneyText, PriceText, TokenText
from tickyard.market.swaps.fills import Fill, Trade
from tickyard.market.swaps.gas import swap_gas

VENUE: Final = "dex-v3"
PAIR: Final = "TOKEN/USDG"

Gas = Annotated[str, Meta(examples=["152000"], description="Gas units of the router call, an estimate.")]
FeeTier = Annotated[int, Meta(examples=[500], description="Hundredths of a basis point: 500 is 0.05 %.")]


BlockNumber = Annotated[int, Meta(examples=[48211075], description="The block that all of it was read at.")]
SideField = Annotated[Literal["buy", "sell"], Meta(description="buy spends USDG, sell spends the token.")]
DenomField = Annotated[Literal["usd", "token"], Meta(description="The unit of amount: usd is USDG.")]


class QuoteDetails(Answer):
    side: Literal["buy", "sell"]
    mode: Literal["exactIn", "exactOut"]
    fee_tier: FeeTier
    usd_amount: MoneyText
    token_amount: TokenText
    effective_price_per_token: PriceText | None
    gas_estimate: Gas
    venue: Literal["dex-v3"]
    pair: Literal["TOKEN/USDG"]


def quote_fields(trade: Trade, fill: Fill) -> dict[str, Any]:
    """The fields of QuoteDetails for this fill."""
    return {
        "side": trade.side.value,
        "mode": trade.mode.value,
        "fee_tier": fill.before.pool.fee,
        "usd_amount": fill.usdg.text(),
        "token_amount": fill.token.text(),
        "effective_price_per_token": fill.price.text() if fill.price is not None else None,
        "gas_estimate": str(swap_gas(trade, fill)),
        "venue": VENUE,
        "pair": PAIR,
    }
