"""What checking a trade asks and answers."""

from typing import Annotated, Literal

from msgspec import Meta

from tickyard.features.trades.note import IssueCode, Severity
from tickyard.features.trades.reasons import ReasonCode
from tickyard.features.trades.wire import BuildAsk, TradeBuild
from tickyard.kernel.wire import AddressText, Answer, Moment, MoneyText, PriceText
from tickyard.market.swaps.quoting import BlockNumber, FeeTier

RawText = Annotated[str, Meta(examples=["99500000"], description="Base units.")]
HexText = Annotated[str, Meta(examples=["0x0"], pattern="^0x[0-9a-f]+$")]
DataText = Annotated[str, Meta(examples=["0x095ea7b3"], pattern="^0x([0-9a-f]{2})*$")]
BlockHash = Annotated[str, Meta(examples=["0x" + "5a" * 32], pattern="^0x[0-9a-f]{64}$")]
PercentText = Annotated[str, Meta(examples=["0.3012"])]


class CheckAsk(BuildAsk):
    max_premium_bps: (
        Annotated[
            int,
            Meta(ge=0, le=100_000, examples=[200], description="Refuse a price so much worse than the equity quote."),
        ]
        | None
    ) = None
    max_impact_bps: (
        Annotated[int, Meta(ge=0, le=10_000, examples=[100], description="Refuse a price impact beyond this.")] | None
    ) = None


class Sum(Answer):
    raw: RawText
    text: Annotated[str, Meta(examples=["99.500000"])]
    unit: Annotated[str, Meta(examples=["USDG"])]


class GasFigure(Answer):
    units: Annotated[str, Meta(examples=["152000"], description="Gas of all steps.")]
    wei: RawText
    eth: Annotated[str, Meta(examples=["0.0000152"])]
    usd: MoneyText | None


class Figures(Answer):
    minimum_received: Sum | None
    maximum_paid: Sum | None
    spot_price: PriceText
    price_impact_pct: PercentText | None
    premium_pct: (
        Annotated[str, Meta(examples=["-0.1200"], description="Positive is worse than the equity quote.")] | None
    )
    pool_fee_usdg: MoneyText
    gas: GasFigure
    block_number: BlockNumber
    block_hash: BlockHash
    expires_at: Moment


class Issue(Answer):
    code: IssueCode
    severity: Severity
    message: Annotated[str, Meta(examples=["The recipient holds only 5.000000 USDG: the swap may revert."])]


class Reason(Answer):
    code: ReasonCode
    message: Annotated[str, Meta(examples=["Too little received: less would come out than the bound allows."])]
    data: Annotated[DataText, Meta(description="What the contract reverted with.")]


class SimulatedStep(Answer):
    description: Annotated[str, Meta(examples=["Buy AAPL in the 0.05 % pool."])]
    success: bool
    gas_used: Annotated[str, Meta(examples=["152000"])]
    reason: Reason | None


class BalanceChange(Answer):
    account: AddressText
    token: AddressText
    unit: Annotated[str, Meta(examples=["USDG"])]
    before: RawText
    after: RawText
    change: Annotated[str, Meta(examples=["-100000000"], description="Base units.")]


class Simulation(Answer):
    success: bool
    steps: list[SimulatedStep]
    balance_changes: list[BalanceChange]


class WalletCall(Answer):
    to: AddressText
    data: DataText
    value: HexText


class SendCalls(Answer):
    """The parameter of `wallet_sendCalls` (EIP-5792)."""

    version: Literal["2.0.0"]
    chain_id: HexText
    from_: AddressText
    atomic_required: bool
    calls: list[WalletCall]


class UnsignedTransaction(Answer):
    type: Literal["0x2"]
    chain_id: HexText
    from_: AddressText
    to: AddressText
    data: DataText
    value: HexText
    gas: HexText
    max_fee_per_gas: HexText
    max_priority_fee_per_gas: HexText


class Calls(Answer):
    send_calls: SendCalls
    transactions: list[UnsignedTransaction]


class ReadApproval(Answer):
    token: AddressText
    spender: AddressText
    amount: RawText


class ReadSwap(Answer):
    router: AddressText
    mode: Literal["exactIn", "exactOut"]
    token_in: AddressText
    token_out: AddressText
    fee_tier: FeeTier
    recipient: AddressText
    amount: Annotated[RawText, Meta(description="In (exactIn) or out (exactOut).")]
    bound: Annotated[RawText, Meta(description="Minimum out (exactIn) or maximum in (exactOut).")]
    price_limit: Annotated[str, Meta(examples=["0"])]
    deadline: Annotated[int, Meta(examples=[1791037390])]


class Decoded(Answer):
    approval: ReadApproval | None
    swap: ReadSwap


class TradeCheck(Answer):
    build: TradeBuild
    figures: Figures
    issues: list[Issue]
    simulation: Simulation | None
    simulation_note: Annotated[str, Meta(examples=["The node refused to run the steps."])] | None
    calls: Calls
    decoded: Decoded
    block_number: BlockNumber
    block_hash: BlockHash
    as_of: Moment
