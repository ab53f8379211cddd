"""The controls of the sandbox world: look, move time, trade, fund, break things."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tickyard.chain.address import checksum
from tickyard.config.pinned import USDC_8453
from tickyard.kernel.clock import next_slot
from tickyard.kernel.errors import BadRequest
from tickyard.kernel.ids import Address
from tickyard.kernel.operation import NoAsk
from tickyard.kernel.units import Price, UsdgAmount, ratio_text
from tickyard.kernel.wire import (
    AddressField,
    AddressText,
    Answer,
    Ask,
    ChainId,
    Moment,
    PriceText,
    SymbolField,
    Ticker,
    iso,
)
from tickyard.sandbox.controls.attached import Sandbox
from tickyard.sandbox.controls.slots import TickReport, do_what_is_due, live_through
from tickyard.sandbox.world import trader
from tickyard.sandbox.world.holders import DESK
from tickyard.sandbox.world.second_chain import mint_usdc

_YEAR_S = 366 * 24 * 3600
Target = Literal["issuer", "filings", "rpc", "facilitator-4663", "facilitator-8453"]
Mode = Literal["ok", "down", "slow", "garbage", "throttle"]
Url = Annotated[str, Meta(examples=["http://127.0.0.1:40001/rpc"])]
Decimal_ = Annotated[
    Any,
    Meta(
        examples=["250.5"],
        extra_json_schema={"type": ["string", "number"]},
        extra={"says": "a positive decimal, as text or number"},
    ),
]


class ContractAddresses(Answer):
    factory: AddressText
    router: AddressText
    quoter: AddressText
    multicall3: AddressText
    permit2: AddressText
    usdg: AddressText
    usdc: AddressText
    spender: AddressText
    service_token: AddressText
    desk: AddressText


class WalletInfo(Answer):
    name: Annotated[str, Meta(examples=["demo"])]
    address: AddressText
    private_key: Annotated[str, Meta(examples=["0x" + "11" * 32], description="Sandbox only: everybody knows it.")]


class SandboxInfo(Answer):
    chain_id: ChainId
    rpc_url: Url
    rpc_url8453: Annotated[Url, Meta(description="The second chain, on which payments in USDC settle.")]
    contracts: ContractAddresses
    wallets: list[WalletInfo]
    inbox_url: Url
    issuer_url: Url
    filings_url: Url
    facilitators: Annotated[dict[str, str], Meta(examples=[{"eip155:4663": "http://127.0.0.1:40001/facilitator-4663"}])]


class ClockReading(Answer):
    now: Moment


class ClockAsk(Ask):
    advance_seconds: Annotated[int, Meta(ge=0, le=_YEAR_S, examples=[3600])] | None = None
    to: Annotated[str, Meta(examples=["2027-01-01T00:00:00Z"], extra={"says": "an ISO 8601 time"})] | None = None


class InboxAsk(Ask):
    id: Annotated[str, Meta(max_length=64, description="An alert's id; all deliveries when left out.")] | None = None


class ReceivedPost(Answer):
    received_at: Moment
    method: Annotated[str, Meta(examples=["POST"])]
    path: Annotated[str, Meta(examples=["/my-hook"])]
    headers: dict[str, str]
    body: Annotated[str, Meta(examples=['{"type":"price_alert"}'])]


class InboxContents(Answer):
    deliveries: list[ReceivedPost]


class MoveAsk(Ask):
    symbol: SymbolField
    price: Decimal_


class MovedPrice(Answer):
    symbol: Ticker
    pool: AddressText
    price: PriceText


class FundAsk(Ask):
    address: AddressField
    asset: Annotated[
        str,
        Meta(min_length=1, max_length=16, examples=["USDG"], description="ETH, USDG, USDC, SERVICE or a ticker."),
    ]
    amount: Decimal_


class Funded(Answer):
    address: AddressText
    asset: Annotated[str, Meta(examples=["USDG"])]
    balance: Annotated[str, Meta(examples=["100250.5"])]


class FaultAsk(Ask):
    target: Target
    mode: Mode


class Fault(Answer):
    target: Target
    mode: Mode


class Faults(Answer):
    faults: list[Fault]


async def show_sandbox(sandbox: Sandbox, _ask: NoAsk) -> SandboxInfo:
    """Show this world: where its chain and stand-ins are, its contracts, and wallets with their keys."""
    at = {name: checksum(Address(address)) for name, address in sandbox.world.contracts.items()}
    url = sandbox.stand_ins_url
    return SandboxInfo(
        chain_id=sandbox.world.chain_id,
        rpc_url=f"{url}/rpc",
        rpc_url8453=sandbox.deps.settings.rpc_urls_8453[0],
        contracts=ContractAddresses(
            factory=at["factory"],
            router=at["router"],
            quoter=at["quoter"],
            multicall3=at["multicall3"],
            permit2=at["permit2"],
            usdg=at["usdg"],
            usdc=checksum(USDC_8453),
            spender=at["spender"],
            service_token=at["serviceToken"],
            desk=checksum(DESK),
        ),
        wallets=[
            WalletInfo(name=w.name, address=checksum(w.address), private_key=w.private_key)
            for w in sandbox.world.wallets
        ],
        inbox_url=sandbox.inbox_url,
        issuer_url=f"{url}/issuer",
        filings_url=f"{url}/filings",
        facilitators={f"eip155:{chain_id}": f"{url}/facilitator-{chain_id}" for chain_id in (4663, 8453)},
    )


async def read_clock(sandbox: Sandbox, _ask: NoAsk) -> ClockReading:
    """Read the sandbox's clock."""
    return ClockReading(now=iso(sandbox.clock.now()))


async def move_clock(sandbox: Sandbox, ask: ClockAsk) -> ClockReading:
    """Move the sandbox's clock forward, by seconds or to a moment, and answer when what is due by then is done:
    snapshot, seal, opening, close, expiry. Slots that are skipped stay missing."""
    if (ask.advance_seconds is None) == (ask.to is None):
        raise BadRequest("give either advanceSeconds or to")
    async with sandbox.moving:
        by = timedelta(seconds=ask.advance_seconds or 0)
        if ask.to is not None:
            by = _moment(ask.to) - sandbox.clock.now()
            if by < timedelta(0):
                raise BadRequest("to lies in the past: the sandbox's clock only moves forward")
            if by.total_seconds() > _YEAR_S:
                raise BadRequest("to is more than a year ahead")
        sandbox.clock.advance(by)
        await trader.follow_clock(sandbox.node, sandbox.clock.now())
        await do_what_is_due(sandbox.deps, sandbox.rooms, (sandbox.node, sandbox.second_node))
    return ClockReading(now=iso(sandbox.clock.now()))


async def run_tick(sandbox: Sandbox, _ask: NoAsk) -> TickReport:
    """Move to the start of the next five-minute slot and live through it: trades now, and all that is due."""
    async with sandbox.moving:
        now = sandbox.clock.now()
        slot = next_slot(now)
        # Traded before the clock moves: a worker that wakes at the new slot samples what was traded.
        await sandbox.trade(slot)
        sandbox.clock.advance(slot - now)
        await trader.follow_clock(sandbox.node, sandbox.clock.now())
        return await live_through(sandbox.deps, slot)


async def move_price(sandbox: Sandbox, ask: MoveAsk) -> MovedPrice:
    """Trade the deepest pool of a token to a price, within one basis point. The trader then leaves the symbol
    alone until after the next tick."""
    price = _positive(ask.price, "price")
    price_e6 = price.num * 10**6 // price.den
    if not 0 < price_e6 < 10**15:
        raise BadRequest("price must be between 0.000001 and 1000000000")
    async with sandbox.moving:
        pool, reached = await trader.move_price(sandbox.node, sandbox.world, ask.symbol, price_e6)
        sandbox.world.held.add(ask.symbol)
    return MovedPrice(symbol=ask.symbol, pool=checksum(pool), price=reached.text())


async def fund_wallet(sandbox: Sandbox, ask: FundAsk) -> Funded:
    """Give a wallet ETH, USDG, USDC (on the second chain), service tokens (SERVICE) or a stock token (its ticker)."""
    amount = _positive(ask.amount, "amount")
    async with sandbox.moving:
        asset = ask.asset.upper()
        if asset == "USDC":
            raw = await mint_usdc(
                sandbox.second_node, ask.address, UsdgAmount.parse(ratio_text(amount.num, amount.den, 18))
            )
            return Funded(address=checksum(ask.address), asset=asset, balance=ratio_text(raw, 10**6, 6))
        balance = await trader.fund(
            sandbox.node, sandbox.world, ask.address, asset, ratio_text(amount.num, amount.den, 18)
        )
    return Funded(address=checksum(ask.address), asset=asset, balance=balance)


async def read_inbox(sandbox: Sandbox, ask: InboxAsk) -> InboxContents:
    """Read what the sandbox's webhook inbox has received. Alerts may use any path below `inboxUrl`."""
    return msgspec.convert({"deliveries": await sandbox.deliveries(ask.id)}, InboxContents)


async def read_faults(sandbox: Sandbox, _ask: NoAsk) -> Faults:
    """Read what every far end does now, whoever has set it."""
    found = await sandbox.faults()
    return msgspec.convert({"faults": [{"target": target, "mode": mode} for target, mode in found.items()]}, Faults)


async def set_fault(sandbox: Sandbox, ask: FaultAsk) -> Fault:
    """Break a far end, or mend it with mode `ok`: down, slow (over 5 s), garbage or throttled."""
    await sandbox.set_fault(ask.target, ask.mode)
    return Fault(target=ask.target, mode=ask.mode)


def _positive(value: Any, name: str) -> Price:
    text = format(value, "f") if isinstance(value, Decimal) else str(value)
    price = Price.parse(text) if isinstance(value, str | int | Decimal) and not isinstance(value, bool) else None
    if price is None:
        raise BadRequest(f"{name} must be a positive decimal, as text or number")
    return price


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadRequest("to must be an ISO 8601 time") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment
