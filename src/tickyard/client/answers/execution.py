"""Shapes of the answers in the group 'execution'. Written by `python -m tickyard.clientgen`."""

from typing import Literal

from tickyard.client.answers.shared import TradeBuild
from tickyard.client.routes import Answer


class Sum(Answer):
    raw: str
    text: str
    unit: str


class GasFigure(Answer):
    units: str
    wei: str
    eth: str
    usd: str | None


class Figures(Answer):
    minimum_received: Sum | None
    maximum_paid: Sum | None
    spot_price: str
    price_impact_pct: str | None
    premium_pct: str | None
    pool_fee_usdg: str
    gas: GasFigure
    block_number: int
    block_hash: str
    expires_at: str


class Issue(Answer):
    code: Literal[
        "allowance_short",
        "balance_short",
        "gas_short",
        "halted",
        "impact_high",
        "inactive",
        "multiplier_pending",
        "pool_shallow",
        "premium_high",
        "quote_unreadable",
        "recipient_blocked",
        "slippage_wide",
        "token_paused",
    ]
    severity: Literal["error", "info", "warning"]
    message: str


class Reason(Answer):
    code: Literal[
        "allowance_short",
        "balance_short",
        "gas_short",
        "other",
        "out_of_gas_or_assertion",
        "pool_refused",
        "recipient_blocked",
        "token_paused",
        "too_little_received",
        "too_much_requested",
        "transaction_too_old",
        "transfer_failed",
    ]
    message: str
    data: str


class SimulatedStep(Answer):
    description: str
    success: bool
    gas_used: str
    reason: Reason | None


class BalanceChange(Answer):
    account: str
    token: str
    unit: str
    before: str
    after: str
    change: str


class Simulation(Answer):
    success: bool
    steps: list[SimulatedStep]
    balance_changes: list[BalanceChange]


class WalletCall(Answer):
    to: str
    data: str
    value: str


class SendCalls(Answer):
    version: Literal["2.0.0"]
    chain_id: str
    from_: str
    atomic_required: bool
    calls: list[WalletCall]


class UnsignedTransaction(Answer):
    type: Literal["0x2"]
    chain_id: str
    from_: str
    to: str
    data: str
    value: str
    gas: str
    max_fee_per_gas: str
    max_priority_fee_per_gas: str


class Calls(Answer):
    send_calls: SendCalls
    transactions: list[UnsignedTransaction]


class ReadApproval(Answer):
    token: str
    spender: str
    amount: str


class ReadSwap(Answer):
    router: str
    mode: Literal["exactIn", "exactOut"]
    token_in: str
    token_out: str
    fee_tier: int
    recipient: str
    amount: str
    bound: str
    price_limit: str
    deadline: int


class Decoded(Answer):
    approval: ReadApproval | None
    swap: ReadSwap


class TradeCheck(Answer):
    build: TradeBuild
    figures: Figures
    issues: list[Issue]
    simulation: Simulation | None
    simulation_note: str | None
    calls: Calls
    decoded: Decoded
    block_number: int
    block_hash: str
    as_of: str
