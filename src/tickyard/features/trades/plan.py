"""From an ask to a swap: what building and checking have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from tickyard.chain import erc20, stock_token
from tickyard.chain.address import checksum, has_valid_checksum
from tickyard.chain.multicall import Call
from tickyard.config.pinned import Contracts
from tickyard.deps import Deps
from tickyard.features.trades.bounds import check_recipient
from tickyard.features.trades.calldata import Swap
from tickyard.features.trades.note import Circumstances, write_note
from tickyard.features.trades.wire import BuildAsk, TradeBuild, TransactionStep
from tickyard.kernel.errors import NoLiquidity, UpstreamDown
from tickyard.kernel.ids import Address, Symbol, read_address
from tickyard.kernel.units import ratio_text
from tickyard.market.listing.asset import Asset
from tickyard.market.swaps.fills import Fill, Trade, best_fill
from tickyard.market.swaps.quoting import QuoteDetails, quote_fields
from tickyard.sources.issuer.api import IssuerQuote


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for, in the house's own terms."""

    ask: BuildAsk
    asset: Asset
    token: Address
    trade: Trade
    recipient: Address
    contracts: Contracts

    @classmethod
    def read(cls, deps: Deps, ask: BuildAsk) -> Self:
        asset = deps.market.registry.find(ask.symbol)
        trade = Trade.parse(ask.side, ask.denom, ask.amount)
        recipient = read_address(ask.recipient, name="recipient")
        if asset.address is None or asset.shown_address is None:
            raise NoLiquidity("this asset has no token on the chain")
        pools = [pool.address for pool in deps.market.pools.of(asset.address)]
        check_recipient(recipient, asset.address, pools, deps.settings.contracts)
        return cls(ask, asset, asset.address, trade, recipient, deps.settings.contracts)

    def swap(self, fills: list[Fill], deadline: int) -> Swap:
        return Swap.plan(
            self.trade,
            best_fill(self.trade, fills),
            self.recipient,
            self.contracts,
            slippage_bps=self.ask.slippage_bps,
            deadline=deadline,
        )

    def extra_calls(self) -> list[Call]:
        """Read at the same block as the quote."""
        token_in, _ = self.trade.side.tokens(self.token, self.contracts.usdg)
        return [
            Call(token_in, erc20.allowance(self.recipient, self.contracts.router)),
            Call(token_in, erc20.balance_of(self.recipient)),
            Call(self.token, stock_token.ORACLE_PAUSED),
            Call(self.token, stock_token.is_blocked(self.recipient)),
            # A flag is known for some pauses and blocks alone. Whether a token moves is what all of them come to. To
            # and from one account, because a block of the other end would say nothing of this one.
            *(
                Call(token, erc20.moves(account, account))
                for token in (self.token, self.contracts.usdg)
                for account in (self.contracts.multicall3, self.recipient)
            ),
        ]


@dataclass(frozen=True, slots=True)
class Planned:
    """A swap, and what stands around it."""

    wanted: Wanted
    swap: Swap
    allowance: int
    seen: Circumstances

    @classmethod
    def of(
        cls, wanted: Wanted, swap: Swap, words: Sequence[bytes | None], equity: IssuerQuote | None, at: datetime
    ) -> Self:
        """`words`: what the extra calls returned."""
        allowance, balance, paused, blocked, *moved = words
        if allowance is None or balance is None:
            raise UpstreamDown("the chain node failed to read the recipient's allowance")
        asset = wanted.asset
        flagged = blocked is not None and stock_token.read_flag(blocked)
        tokens = list(zip((asset.symbol, "USDG"), moved[::2], moved[1::2], (flagged, False), strict=True))
        seen = Circumstances(
            balance=erc20.read_amount(balance),
            is_paused=paused is not None and stock_token.read_flag(paused),
            is_active=asset.listed.status == "ASSET_STATUS_ACTIVE",
            is_halted=equity.is_halted if equity else None,
            equity_mid=equity.mid.times(asset.multiplier(at)) if equity and equity.mid else None,
            has_bad_checksum=not has_valid_checksum(wanted.ask.recipient),
            paused=next((name for name, others, _, _ in tokens if others is None), None),
            blocked_by=tuple(
                name for name, others, ours, is_flagged in tokens if is_flagged or (others is not None and ours is None)
            ),
        )
        return cls(wanted, swap, erc20.read_amount(allowance), seen)

    @property
    def has_approval(self) -> bool:
        return self.allowance < self.swap.spends_at_most

    def build(self, chain_id: int) -> TradeBuild:
        wanted, swap, asset = self.wanted, self.swap, self.wanted.asset
        assert asset.shown_address is not None
        return TradeBuild(
            symbol=asset.symbol,
            token_address=asset.shown_address,
            chain_id=chain_id,
            quote=QuoteDetails(**quote_fields(wanted.trade, swap.fill)),
            slippage_bps=wanted.ask.slippage_bps,
            deadline=swap.deadline,
            steps=_steps(swap, asset, wanted.contracts.router, has_approval=self.has_approval),
            note=write_note(swap, asset.symbol, self.seen, has_approval=self.has_approval),
        )


async def equity_quote(deps: Deps, symbol: Symbol) -> IssuerQuote | None:
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
