"""The reward program as callers see it: its state, a wallet's standing, and the claim."""

from typing import Annotated, Literal

from msgspec import Meta

from tickyard.chain.address import checksum
from tickyard.features.earn import rules
from tickyard.features.earn.claims import store
from tickyard.features.earn.claims.message import claim_digests, claim_message, claim_typed_data
from tickyard.features.earn.claims.signature import SIGNATURE_PATTERN, is_key_account, is_signed_by, read_signature
from tickyard.features.earn.days.pool import accrued
from tickyard.features.earn.days.token import balance
from tickyard.features.earn.room import EarnDeps, token_facts
from tickyard.features.earn.wire import (
    Accruing,
    Claimed,
    Earn,
    EarnToken,
    EpochId,
    EpochState,
    PayoutAsset,
    Schedule,
    WalletEpoch,
    WalletStatus,
)
from tickyard.kernel.errors import BadRequest, UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.kernel.operation import Kept, NoAsk
from tickyard.kernel.units import money_text
from tickyard.kernel.wire import AddressField, Ask, iso

_KEEP_S = 2


class StatusAsk(Ask):
    address: AddressField


class ClaimAsk(Ask):
    address: AddressField
    epoch: EpochId
    signature: Annotated[
        str,
        Meta(
            examples=["0x" + "5c" * 64 + "1b"],
            pattern=SIGNATURE_PATTERN,
            description="personal_sign of the message in the wallet's status, or eth_signTypedData_v4 of its "
            "typedData, by the wallet itself.",
            extra={"says": "0x followed by 130 hex digits"},
        ),
    ]


async def get_earn(deps: EarnDeps, _ask: NoAsk) -> Kept[Earn]:
    """The daily reward program: token, schedule, the pool that accrues today, and the newest epoch. Holders of at
    least 1,000,000 service tokens at 23:00 UTC share the day's paid revenue and claim it between 00:00 and 01:00.

    Freshness: read from our own records at the moment of the call.
    """
    terms = deps.earn.terms
    facts = await token_facts(deps)
    async with deps.store.read() as tx:
        now = await deps.store.now(tx)
        today = rules.accruing_epoch(now)
        so_far = await accrued(tx, today)
        newest = await store.newest_epoch(tx)
        wallets, paid = await store.claimed(tx, newest.id) if newest else (0, 0)
    return Kept(
        Earn(
            token=EarnToken(
                symbol=facts.symbol,
                address=checksum(terms.token),
                chain_id=terms.chain_id,
                decimals=facts.decimals,
            ),
            threshold_tokens=str(rules.THRESHOLD_TOKENS),
            payout_asset=PayoutAsset(symbol="USDG", address=checksum(terms.usdg), decimals=6),
            schedule=Schedule(
                snapshot_utc="23:00",
                claim_open_utc="00:00",
                claim_close_utc="01:00",
                next_snapshot_at=iso(rules.next_snapshot_at(now)),
                next_claim_open_at=iso(rules.next_open_at(now)),
            ),
            accruing=Accruing(
                epoch=today,
                revenue_usd=money_text(so_far.revenue_raw),
                calls=so_far.calls,
                rollover_usd=money_text(so_far.rollover_raw),
            ),
            epoch=EpochState.of(newest, now, wallets, paid) if newest else None,
        ),
        _KEEP_S,
    )


async def get_earn_status(deps: EarnDeps, ask: StatusAsk) -> WalletStatus:
    """A wallet's standing in the newest epoch, with the exact message to sign for a claim.

    Freshness: asked of the chain's newest block at the moment of the call, never reused.
    Advice: The message in it is for the wallet's owner to sign. Claiming is not possible here.
    """
    facts = await token_facts(deps)
    held = await balance(deps.rpc, deps.earn.terms.token, ask.address)
    async with deps.store.read() as tx:
        now = await deps.store.now(tx)
        found = await store.newest_standing(tx, ask.address)
    epoch = found.epoch if found else rules.accruing_epoch(now)
    return WalletStatus(
        address=checksum(ask.address),
        balance_tokens=facts.whole(held),
        eligible_now=held >= rules.threshold_raw(facts.decimals),
        epoch=WalletEpoch(
            id=epoch,
            claim_open_at=iso(rules.opens_at(epoch)),
            claim_close_at=iso(rules.closes_at(epoch)),
            claim_open=found is not None and found.is_open(now),
            in_snapshot=found is not None and found.in_snapshot,
            claimable_usd=money_text(found.share_raw) if found and found.share_raw is not None else None,
            claimed=found is not None and found.is_claimed,
            claim_tx=found.tx if found else None,
            message=claim_message(deps.earn.terms, epoch, ask.address),
            typed_data=claim_typed_data(deps.earn.terms, epoch, ask.address),
        ),
    )


async def claim(deps: EarnDeps, ask: ClaimAsk) -> Claimed:
    """Claim a wallet's share of one epoch's pool with its signature. The service sends the payout and pays the gas.
    Claiming again returns its newest transaction. Contract wallets cannot claim."""
    signature = read_signature(ask.signature)
    async with deps.store.read() as tx:
        found = await store.standing(tx, ask.epoch, ask.address)
        now = await deps.store.now(tx)
    if found is None:
        raise rules.no_such_epoch(ask.epoch, now)
    if not found.is_claimed:
        store.must_be_in_window(ask.epoch, now)
    store.must_have_a_snapshot(found)
    if not found.in_snapshot:
        raise BadRequest("this wallet is not in the snapshot of this epoch")
    if not is_signed_by(ask.address, claim_digests(deps.earn.terms, ask.epoch, ask.address), signature):
        raise BadRequest("the signature is not this wallet's over the message of this epoch")
    if not found.is_claimed:
        store.must_be_open(found, now)
        if not found.share_raw:
            raise BadRequest("this wallet's share of the pool is less than one base unit")
        await _must_have_a_key(deps, ask.address)
    attempt = await store.reserve(deps.store, ask.epoch, ask.address, ask.signature.lower())
    return await _paid(deps, ask, attempt)


async def _paid(deps: EarnDeps, ask: ClaimAsk, attempt: int) -> Claimed:
    """The newest transaction of a reserved claim; the one that is final stays."""
    try:
        await deps.earn.waiting.wait(deps.store, (ask.epoch, ask.address, attempt))
        async with deps.store.read() as tx:
            found = await store.standing(tx, ask.epoch, ask.address)
    except UpstreamDown:
        # Whatever keeps us from looking, the claim itself is safe: say that, not what went wrong.
        found = None
    if found is not None and found.payout_state == "confirmed" and found.tx is None:
        # Found in the desk's memory: whoever was told to repeat would do so for ever.
        raise UpstreamDown("the claim is paid, but the chain node does not show its transaction")
    if found is None or found.tx is None or found.payout_raw is None:
        raise UpstreamDown("the claim is reserved, repeat to read its transaction", retry_after_s=10)
    status: Literal["sent", "confirmed"] = "confirmed" if found.payout_state == "confirmed" else "sent"
    return Claimed(
        ok=True,
        epoch=ask.epoch,
        address=checksum(ask.address),
        amount_usd=money_text(found.payout_raw),
        tx=found.tx,
        status=status,
    )


async def _must_have_a_key(deps: EarnDeps, address: Address) -> None:
    code = await deps.rpc.call("eth_getCode", [address, "latest"])
    if not isinstance(code, str):
        raise UpstreamDown("the chain node sent a malformed answer")
    if not is_key_account(code):
        raise BadRequest("contract wallets cannot claim: the wallet must be an externally owned account")
