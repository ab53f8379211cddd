"""Shapes of the answers in the group 'earn'. Written by `python -m tickyard.clientgen`."""

from typing import Any, Literal

from tickyard.client.routes import Answer


class EarnToken(Answer):
    symbol: str
    address: str
    chain_id: int
    decimals: int


class PayoutAsset(Answer):
    symbol: str
    address: str
    decimals: int


class Schedule(Answer):
    snapshot_utc: str
    claim_open_utc: str
    claim_close_utc: str
    next_snapshot_at: str
    next_claim_open_at: str


class Accruing(Answer):
    epoch: int
    revenue_usd: str
    calls: int
    rollover_usd: str


class EpochState(Answer):
    id: int
    pool_usd: str | None
    revenue_usd: str | None
    rollover_usd: str | None
    eligible_wallets: int
    claim_open_at: str
    claim_close_at: str
    claim_open: bool
    claimed_wallets: int
    claimed_usd: str


class Earn(Answer):
    token: EarnToken
    threshold_tokens: str
    payout_asset: PayoutAsset
    schedule: Schedule
    accruing: Accruing
    epoch: EpochState | None


class WalletEpoch(Answer):
    id: int
    claim_open_at: str
    claim_close_at: str
    claim_open: bool
    in_snapshot: bool
    claimable_usd: str | None
    claimed: bool
    claim_tx: str | None
    message: str
    typed_data: dict[str, Any]


class WalletStatus(Answer):
    address: str
    balance_tokens: str
    eligible_now: bool
    epoch: WalletEpoch


class Claimed(Answer):
    ok: bool
    epoch: int
    address: str
    amount_usd: str
    tx: str
    status: Literal["confirmed", "sent"]


class BookLine(Answer):
    address: str
    balance: str
    share_usd: str | None
    claim: Literal["confirmed", "failed", "reserved", "sent"] | None
    tx: str | None


class EpochBooks(Answer):
    id: int
    state: Literal["closed", "open", "sealed", "snapshot"]
    block_number: int | None
    block_hash: str
    proven_at_block: int
    digest: str | None
    desk: str | None
    revenue_usd: str | None
    calls: int
    rollover_usd: str | None
    pool_usd: str | None
    eligible_wallets: int
    eligible_total: str
    paid_usd: str
    in_flight_usd: str
    rolled_over_usd: str | None
    returned_later_usd: str
    balanced: bool | None
    sealed_at: str | None
    closed_at: str | None
    wallets: list[BookLine]
    next_cursor: str | None


class Payer(Answer):
    address: str
    usdg: str
    eth: str
    allowance: str


class ReservedEpoch(Answer):
    id: int
    books_hash: str | None
    on_chain_books_hash: str | None
    pool_usd: str
    paid_usd: str
    on_chain_paid_usd: str


class Reserves(Answer):
    block_number: int
    as_of: str
    desk: str
    payer: Payer
    owed_usd: str
    sealed_usd: str
    paid_usd: str
    epochs: list[ReservedEpoch]
