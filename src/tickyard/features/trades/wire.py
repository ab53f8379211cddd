"""What building a trade asks and answers."""

from typing import Annotated

from msgspec import Meta

from tickyard.kernel.ids import ADDRESS_PATTERN, EXAMPLE_WALLET
from tickyard.kernel.wire import AddressText, AmountField, Answer, Ask, ChainId, SymbolField, Ticker
from tickyard.market.swaps.quoting import DenomField, QuoteDetails, SideField

RecipientField = Annotated[
    str,
    Meta(
        examples=[EXAMPLE_WALLET],
        pattern=ADDRESS_PATTERN,
        description="The wallet that signs, sends and receives.",
        extra={"says": "0x followed by 40 hex digits"},
    ),
]


class BuildAsk(Ask):
    symbol: SymbolField
    side: SideField
    amount: AmountField
    recipient: RecipientField
    denom: DenomField = "usd"
    slippage_bps: Annotated[int, Meta(ge=1, le=5000, examples=[50], description="50 is 0.5 %.")] = 50


class TransactionStep(Answer):
    description: Annotated[str, Meta(examples=["Approve the router to spend exactly 100.500000 USDG."])]
    to: AddressText
    data: Annotated[str, Meta(examples=["0x095ea7b3"], pattern="^0x([0-9a-f]{2})*$", description="Calldata.")]
    value: Annotated[str, Meta(examples=["0"], description="Native value in wei, always 0.")]


class TradeBuild(Answer):
    symbol: Ticker
    token_address: AddressText
    chain_id: ChainId
    quote: QuoteDetails
    slippage_bps: Annotated[int, Meta(examples=[50])]
    deadline: Annotated[int, Meta(examples=[1791037390], description="Unix seconds after which the swap reverts.")]
    steps: list[TransactionStep]
    note: Annotated[str, Meta(examples=["One step: the swap, which buys AAPL for USDG."])]
