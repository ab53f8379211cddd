"""`POST /v1/trade/build`."""

import asyncio
from typing import Annotated

from msgspec import Meta

from tickyard.chain import erc20, stock_token
from tickyard.chain.address import checksum, has_valid_checksum
from tickyard.chain.multicall import Call
from tickyard.deps import Deps
from tickyard.features.trades.bounds import check_recipient
from tickyard.features.trades.calldata import Swap
from tickyard.features.trades.note import Circumstances, write_note
from tickyard.kernel.errors import NoLiquidity, UpstreamDown
from tickyard.kernel.ids import ADDRESS_PATTERN, EXAMPLE_WALLET, Address, Symbol, read_address
from tickyard.kernel.units import ratio_text
from tickyard.kernel.wire import AddressText, AmountField, Answer, Ask, ChainId, SymbolField, Ticker
from tickyard.market.asset import Asset
from tickyard.market.fills import Trade, best_fill
from tickyard.market.quoting import DenomField, QuoteDetails, SideField, quote_fields
from tickyard.sources.issuer.api import IssuerQuote

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


async def build_trade(deps: Deps, ask: BuildAsk) -> TradeBuild:
    """Quote one swap and build the unsigned transactions for it, to be signed and sent in order by the
    recipient: an approval for exactly what is needed, only if the allowance is short, then the swap with its
    bound and its deadline. Nothing is executed and no key is involved. `note` says what the steps do, the bound,
    the price impact, and what may go wrong.

    Freshness: asked of the chain's newest block at the moment of the call, never reused; the transactions expire at
    deadline.
    Limits: slippage from 0.01 % to 50 %.
    Advice: The recipient's wallet must sign and send the steps in order; show the user the note first.
    """
    asset = deps.market.registry.find(ask.symbol)
    trade = Trade.parse(ask.side, ask.denom, ask.amount)
    recipient = read_address(ask.recipient, name="recipient")
    if asset.address is None or asset.shown_address is None:
        raise NoLiquidity("this asset has no token on the chain")
    market, contracts = deps.market, deps.settings.contracts
    pools = [pool.address for pool in market.pools.of(asset.address)]
    check_recipient(recipient, asset.address, pools, contracts)
    token_in, _ = trade.side.tokens(asset.address, contracts.usdg)
    offer, equity = await asyncio.gather(
        market.offer(asset.address, trade, _extra_calls(asset.address, token_in, recipient, contracts.router)),
        _equity_quote(deps, asset.symbol),
    )
    deadline = deps.clock.seconds() + deps.settings.deadline_s
    fill = best_fill(trade, offer.fills)
    swap = Swap.plan(trade, fill, recipient, contracts, slippage_bps=ask.slippage_bps, deadline=deadline)
    allowance, balance, paused, blocked = offer.extra
    if allowance is None or balance is None:
        raise UpstreamDown("the chain node failed to read the recipient's allowance")
    has_approval = erc20.read_amount(allowance) < swap.spends_at_most
    seen = Circumstances(
        balance=erc20.read_amount(balance),
        is_paused=paused is not None and stock_token.read_flag(paused),
        is_recipient_blocked=blocked is not None and stock_token.read_flag(blocked),
        is_active=asset.listed.status == "ASSET_STATUS_ACTIVE",
        is_halted=equity.is_halted if equity else None,
        equity_mid=equity.mid.times(asset.multiplier(offer.at)) if equity and equity.mid else None,
        has_bad_checksum=not has_valid_checksum(ask.recipient),
    )
    return TradeBuild(
        symbol=asset.symbol,
        token_address=asset.shown_address,
        chain_id=deps.settings.chain_id,
        quote=QuoteDetails(**quote_fields(trade, fill)),
        slippage_bps=ask.slippage_bps,
        deadline=deadline,
        steps=_steps(swap, asset, contracts.router, has_approval=has_approval),
        note=write_note(swap, asset.symbol, seen, has_approval=has_approval),
    )


def _extra_calls(token: Address, token_in: Address, recipient: Address, router: Address) -> list[Call]:
    """Read at the same block as the quote."""
    return [
        Call(token_in, erc20.allowance(recipient, router)),
        Call(token_in, erc20.balance_of(recipient)),
        Call(token, stock_token.ORACLE_PAUSED),
        Call(token, stock_token.is_blocked(recipient)),
    ]


async def _equity_quote(deps: Deps, symbol: Symbol) -> IssuerQuote | None:
    """For warnings only: a silent issuer does not keep anybody from trading, the note says so."""
    try:
        quote, _ = await deps.market.mids.one(symbol)
    except UpstreamDown:
        return None
    return quote


def _steps(swap: Swap, asset: Asset, router: Address, *, has_approval: bool) -> list[TransactionStep]:
    steps = []
    if has_approval:
        steps.append(
            _step("Approve the router to spend exactly what the swap needs.", swap.token_in, swap.approval(router))
        )
    percent = ratio_text(swap.fill.before.pool.fee, 10_000, 4)
    words = f"{swap.trade.side.value.capitalize()} {asset.symbol} in the {percent} % pool."
    steps.append(_step(words, router, swap.calldata()))
    return steps


def _step(description: str, to: Address, data: bytes) -> TransactionStep:
    return TransactionStep(description=description, to=checksum(to), data="0x" + data.hex(), value="0")
