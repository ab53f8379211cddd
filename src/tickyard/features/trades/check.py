"""`POST /v1/trade/check`."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from tickyard.chain.address import checksum
from tickyard.chain.v3.swap_reader import decode_approval, decode_swap
from tickyard.deps import Deps
from tickyard.features.trades.calldata import Swap
from tickyard.features.trades.check_wire import (
    BalanceChange,
    Calls,
    CheckAsk,
    Decoded,
    Figures,
    GasFigure,
    Issue,
    ReadApproval,
    ReadSwap,
    Reason,
    SendCalls,
    SimulatedStep,
    Simulation,
    Sum,
    TradeCheck,
    UnsignedTransaction,
    WalletCall,
)
from tickyard.features.trades.evidence import Evidence, gather_evidence
from tickyard.features.trades.issues import find_issues
from tickyard.features.trades.note import impact_of, premium_of, premium_sentence
from tickyard.features.trades.plan import Planned, Wanted, equity_quote
from tickyard.features.trades.reasons import Revert
from tickyard.features.trades.rehearse import Run, holdings
from tickyard.features.trades.wire import TradeBuild, TransactionStep
from tickyard.kernel.errors import NoLiquidity, UpstreamDown
from tickyard.kernel.ids import Address
from tickyard.kernel.units import TokenAmount, UsdgAmount, percent_text, ratio_text
from tickyard.kernel.wire import iso
from tickyard.market.swaps.fills import Mode, Side

_APPROVAL_GAS: Final = 70_000
"""Where nothing was run."""


async def check_trade(deps: Deps, ask: CheckAsk) -> TradeCheck:
    """Build one swap and tell what would happen if the recipient signed it now: every step run by the node in order
    at one named block (outcome, gas, balance changes, the reason of a failure in words), the figures, a closed list of
    issues, the steps ready for a wallet, and what the calldata says when somebody else reads it. Nothing is sent.
    `maxPremiumBps` and `maxImpactBps` refuse a price beyond them.

    Freshness: at the chain's newest block, at most about two seconds old, never reused.
    Advice: Call it before anybody signs, and show the issues; build_trade alone is quicker.
    """
    wanted = Wanted.read(deps, ask)
    equity, seen = await asyncio.gather(equity_quote(deps, wanted.asset.symbol), gather_evidence(deps, wanted))
    planned = Planned.of(wanted, seen.swap, seen.words, equity, seen.block.at)
    _refuse_beyond(ask, planned)
    build = planned.build(deps.settings.chain_id)
    gas = _gas(build, seen)
    limits = _limits(build, gas, seen.first_gas)
    run = _with_gas_money(seen, limits)
    issues = find_issues(planned, seen, sum(limits) * seen.fees.most, deps.settings.depth_floor_usd)
    return TradeCheck(
        build=build,
        figures=_figures(planned, seen, sum(gas)),
        issues=[Issue(code=each.code, severity=each.severity, message=each.text) for each in issues if each.code],
        simulation=None if run is None else _simulation(build, seen, run, wanted.asset.symbol),
        simulation_note=seen.run_note,
        calls=_calls(build, seen, limits),
        decoded=_decoded(build.steps),
        block_number=seen.block.number,
        block_hash=seen.block.hash,
        as_of=iso(seen.block.at),
    )


def _refuse_beyond(ask: CheckAsk, planned: Planned) -> None:
    if ask.max_impact_bps is not None:
        impact = impact_of(planned.swap)
        if impact is None or impact.is_over(ask.max_impact_bps):
            shown = "cannot be told" if impact is None else f"is {impact.text()} %"
            raise NoLiquidity(
                f"the price impact {shown}; maxImpactBps allows {percent_text(ask.max_impact_bps, 10**4)} %"
            )
    if ask.max_premium_bps is not None:
        premium = premium_of(planned.swap, planned.seen.equity_mid)
        if premium is None:
            raise UpstreamDown("the equity quote could not be read, so maxPremiumBps cannot be judged")
        if premium.is_over(ask.max_premium_bps):
            said = premium_sentence(planned.swap, premium).rstrip(".")
            raise NoLiquidity(
                f"{said[0].lower()}{said[1:]}; maxPremiumBps allows {percent_text(ask.max_premium_bps, 10**4)} %"
            )


def _gas(build: TradeBuild, seen: Evidence) -> list[int]:
    """Per step: as it ran, else as it is usual."""
    if seen.run is not None:
        return [step.gas for step in seen.run.steps]
    return [_APPROVAL_GAS] * (len(build.steps) - 1) + [int(build.quote.gas_estimate)]


def _limits(build: TradeBuild, gas: list[int], first_gas: int | None) -> list[int]:
    """A quarter more than it takes. What the node asks for the data of the first step, it asks for the others too."""
    sizes = [len(step.data) for step in build.steps]
    for_data = max(0, (first_gas or 0) - gas[0])
    return [used * 5 // 4 + -(-for_data * size // sizes[0]) for used, size in zip(gas, sizes, strict=True)]


def _with_gas_money(seen: Evidence, limits: list[int]) -> Run | None:
    """The run, in which a step that nobody can pay for fails."""
    if seen.run is None:
        return None
    left, steps = seen.ether, []
    for step, limit in zip(seen.run.steps, limits, strict=True):
        if left < limit * seen.fees.most and step.refusal is None:
            step = replace(step, refusal=Revert("gas_short", None, b""))
        left -= step.gas * seen.fees.price
        steps.append(step)
    return replace(seen.run, steps=steps)


def _figures(planned: Planned, seen: Evidence, gas: int) -> Figures:
    swap, symbol = planned.swap, planned.wanted.asset.symbol
    spot = swap.fill.before.price
    assert spot is not None
    impact, premium = impact_of(swap), premium_of(swap, planned.seen.equity_mid)
    is_exact_in = swap.trade.mode is Mode.EXACT_IN
    fee = swap.fill.before.pool.fee
    if swap.trade.side is Side.BUY:
        pool_fee = UsdgAmount(swap.fill.usdg * fee // 10**6)
    else:
        pool_fee = spot.value_of(TokenAmount(swap.fill.token * fee // 10**6))
    wei = gas * seen.fees.price
    return Figures(
        minimum_received=_sum(swap, swap.bound, symbol, is_in=False) if is_exact_in else None,
        maximum_paid=None if is_exact_in else _sum(swap, swap.bound, symbol, is_in=True),
        spot_price=spot.text(),
        price_impact_pct=impact.text() if impact else None,
        premium_pct=premium.text() if premium else None,
        pool_fee_usdg=pool_fee.text(),
        gas=GasFigure(units=str(gas), wei=str(wei), eth=ratio_text(wei, 10**18, 18), usd=None),
        block_number=seen.block.number,
        block_hash=seen.block.hash,
        expires_at=iso(datetime.fromtimestamp(swap.deadline, UTC)),
    )


def _sum(swap: Swap, raw: int, symbol: str, *, is_in: bool) -> Sum:
    is_usdg = (swap.trade.side is Side.BUY) == is_in
    text = UsdgAmount(raw).text() if is_usdg else TokenAmount(raw).text()
    return Sum(raw=str(raw), text=text, unit="USDG" if is_usdg else symbol)


def _simulation(build: TradeBuild, seen: Evidence, run: Run, symbol: str) -> Simulation:
    steps = [
        SimulatedStep(
            description=step.description,
            success=ran.refusal is None,
            gas_used=str(ran.gas),
            reason=_reason(ran.refusal),
        )
        for step, ran in zip(build.steps, run.steps, strict=True)
    ]
    after = run.balances if run.is_success else seen.balances
    changes = [
        BalanceChange(
            account=checksum(account),
            token=checksum(token),
            unit="USDG" if token != seen.swap.fill.before.pool.token else symbol,
            before=str(had),
            after=str(has),
            change=str(has - had),
        )
        for (token, account), had, has in zip(holdings(seen.swap), seen.balances, after, strict=True)
    ]
    return Simulation(success=run.is_success, steps=steps, balance_changes=changes)


def _reason(refusal: Revert | None) -> Reason | None:
    if refusal is None:
        return None
    return Reason(code=refusal.code, message=refusal.text, data="0x" + refusal.data[:1024].hex())


def _calls(build: TradeBuild, seen: Evidence, limits: list[int]) -> Calls:
    sender, chain_id = checksum(seen.swap.recipient), hex(build.chain_id)
    return Calls(
        send_calls=SendCalls(
            version="2.0.0",
            chain_id=chain_id,
            from_=sender,
            atomic_required=False,
            calls=[WalletCall(to=step.to, data=step.data, value="0x0") for step in build.steps],
        ),
        transactions=[
            UnsignedTransaction(
                type="0x2",
                chain_id=chain_id,
                from_=sender,
                to=step.to,
                data=step.data,
                value="0x0",
                gas=hex(limit),
                max_fee_per_gas=hex(seen.fees.most),
                max_priority_fee_per_gas=hex(seen.fees.tip),
            )
            for step, limit in zip(build.steps, limits, strict=True)
        ],
    )


def _decoded(steps: list[TransactionStep]) -> Decoded:
    """Read from the very text that is served."""
    *before, last = steps
    read = decode_swap(bytes.fromhex(last.data[2:]))
    approval = None
    for step in before:
        allowed = decode_approval(bytes.fromhex(step.data[2:]))
        approval = ReadApproval(token=step.to, spender=checksum(allowed.spender), amount=str(allowed.amount))
    return Decoded(
        approval=approval,
        swap=ReadSwap(
            router=last.to,
            mode="exactIn" if read.is_exact_input else "exactOut",
            token_in=checksum(read.token_in),
            token_out=checksum(read.token_out),
            fee_tier=read.fee,
            recipient=checksum(Address(read.recipient)),
            amount=str(read.amount),
            bound=str(read.bound),
            price_limit=str(read.price_limit),
            deadline=read.deadline,
        ),
    )
