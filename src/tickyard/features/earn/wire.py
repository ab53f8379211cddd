"""The shapes of the reward program on the wire."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from msgspec import Meta
from sqlalchemy import Row

from tickyard.features.earn import rules
from tickyard.kernel.units import money_text
from tickyard.kernel.wire import AddressText, Answer, ChainId, Moment, MoneyText, TokenText, iso

EpochId = Annotated[
    int, Meta(ge=0, le=99_991_231, examples=[20261115], description="The day of the snapshot as YYYYMMDD.")
]
TxHash = Annotated[str, Meta(examples=["0x" + "9f2c1d5be8a04c6f" * 4], description="Hash of the payout transaction.")]
UtcTime = Annotated[str, Meta(examples=["23:00"])]


class EarnToken(Answer):
    symbol: Annotated[str, Meta(examples=["TICK"])]
    address: AddressText
    chain_id: ChainId
    decimals: int


class PayoutAsset(Answer):
    symbol: Annotated[str, Meta(examples=["USDG"])]
    address: AddressText
    decimals: int


class Schedule(Answer):
    snapshot_utc: UtcTime
    claim_open_utc: UtcTime
    claim_close_utc: UtcTime
    next_snapshot_at: Moment
    next_claim_open_at: Moment


class Accruing(Answer):
    """The pool of the day, as far as it is known."""

    epoch: EpochId
    revenue_usd: MoneyText
    calls: Annotated[int, Meta(description="Settled paid calls behind the revenue.")]
    rollover_usd: MoneyText


class EpochState(Answer):
    id: EpochId
    pool_usd: Annotated[MoneyText | None, Meta(description="Null until the pool is sealed at 00:00 UTC.")]
    revenue_usd: MoneyText | None
    rollover_usd: MoneyText | None
    eligible_wallets: int
    claim_open_at: Moment
    claim_close_at: Moment
    claim_open: bool
    claimed_wallets: int
    claimed_usd: MoneyText

    @classmethod
    def of(cls, row: Row[Any], now: datetime, wallets: int, paid_raw: int) -> Self:
        return cls(
            id=row.id,
            pool_usd=_money(row.pool_raw),
            revenue_usd=_money(row.revenue_raw),
            rollover_usd=_money(row.rollover_raw),
            eligible_wallets=row.eligible_wallets,
            claim_open_at=iso(rules.opens_at(row.id)),
            claim_close_at=iso(rules.closes_at(row.id)),
            claim_open=row.state == "open" and rules.is_in_window(row.id, now),
            claimed_wallets=wallets,
            claimed_usd=money_text(paid_raw),
        )


class Earn(Answer):
    token: EarnToken
    threshold_tokens: TokenText
    payout_asset: PayoutAsset
    schedule: Schedule
    accruing: Accruing
    epoch: Annotated[EpochState | None, Meta(description="The newest epoch with a snapshot; null before the first.")]


class WalletEpoch(Answer):
    id: EpochId
    claim_open_at: Moment
    claim_close_at: Moment
    claim_open: bool
    in_snapshot: bool
    claimable_usd: Annotated[MoneyText | None, Meta(description="The wallet's share; null until the pool is sealed.")]
    claimed: bool
    claim_tx: TxHash | None
    message: Annotated[str, Meta(description="Sign exactly this with personal_sign.")]
    typed_data: Annotated[
        dict[str, Any],
        Meta(description="Or sign this with eth_signTypedData_v4.", examples=[{"primaryType": "Claim"}]),
    ]


class WalletStatus(Answer):
    address: AddressText
    balance_tokens: TokenText
    eligible_now: bool
    epoch: WalletEpoch


class Claimed(Answer):
    ok: bool
    epoch: EpochId
    address: AddressText
    amount_usd: MoneyText
    tx: TxHash
    status: Literal["sent", "confirmed"]


def _money(raw: int | None) -> str | None:
    return None if raw is None else money_text(raw)
