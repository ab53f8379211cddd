"""How the service itself is doing: how old what it serves is, and how complete its samples are."""

from datetime import datetime
from typing import Annotated, Final

from msgspec import Meta
from sqlalchemy import select

from tickyard.deps import Deps
from tickyard.features.history.reading import coverage, newest_slot, suspects_of
from tickyard.kernel.errors import UpstreamDown
from tickyard.kernel.operation import Kept, NoAsk
from tickyard.kernel.units import ratio_text
from tickyard.kernel.wire import Answer, ChainId, Moment, PriceText, Ticker, iso
from tickyard.market.sampling.rounds import slot_number, slot_start
from tickyard.market.sampling.samples import DAY_SLOTS
from tickyard.observe import metrics
from tickyard.store.tokens import token

_REUSE_S: Final = 2
Seconds = Annotated[int, Meta(examples=[12])]


class Upstream(Answer):
    name: Annotated[str, Meta(examples=["issuer"])]
    last_ok_at: Moment | None
    age_seconds: Seconds | None


class BlockStatus(Answer):
    number: Annotated[int, Meta(examples=[48211075])]
    at: Moment
    lag_seconds: Seconds


class Coverage(Answer):
    symbol: Ticker
    samples: Annotated[int, Meta(examples=[287])]


class SuspectSample(Answer):
    symbol: Ticker
    price: PriceText
    equity_token_usd: PriceText


class Status(Answer):
    chain_id: ChainId
    as_of: Moment
    block: BlockStatus | None
    upstreams: list[Upstream]
    last_slot: Moment | None
    slots_per_day: Annotated[int, Meta(examples=[DAY_SLOTS])]
    coverage24h: list[Coverage]
    suspect: Annotated[
        list[SuspectSample],
        Meta(description="Samples of the newest round that lay over 25 % off the equity quote of an open market."),
    ]


async def get_status(deps: Deps, _ask: NoAsk) -> Kept[Status]:
    """Show how fresh the service is: the newest block and its lag, the age of every upstream's last good answer, the
    newest sampled slot, how many of the day's 288 samples each token has, and which samples of the newest round are
    not to be trusted. Null means never.

    Freshness: read from our own records at the moment of the call.
    """
    now = deps.clock.now()
    async with deps.store.read() as tx:
        newest = await newest_slot(tx)
        counts = await coverage(tx, slot_number(now) - DAY_SLOTS + 1)
        doubted = await suspects_of(tx, newest) if newest is not None else []
        symbols = {row[0]: row[1] for row in await tx.execute(select(token.c.id, token.c.symbol))}
    shown = sorted((symbols[token_id], samples) for token_id, samples in counts.items())
    for symbol, samples in shown:
        metrics.coverage.labels(symbol).set(samples)
    block = await _block(deps, now)
    status = Status(
        chain_id=deps.settings.chain_id,
        as_of=iso(now),
        block=block,
        upstreams=[
            _upstream("issuer", deps.market.registry.refreshed_at, now),
            _upstream("node", deps.rpc.head_read_at, now),
        ],
        last_slot=iso(slot_start(newest)) if newest is not None else None,
        slots_per_day=DAY_SLOTS,
        coverage24h=[Coverage(symbol=symbol, samples=samples) for symbol, samples in shown],
        suspect=[
            SuspectSample(
                symbol=symbols[each.token_id],
                price=ratio_text(each.price_e9, 10**9, 9),
                equity_token_usd=ratio_text(each.equity_e9, 10**9, 9),
            )
            for each in doubted
        ],
    )
    return Kept(status, _REUSE_S)


def _upstream(name: str, last_ok_at: datetime | None, now: datetime) -> Upstream:
    if last_ok_at is None:
        return Upstream(name=name, last_ok_at=None, age_seconds=None)
    age = max(0, int((now - last_ok_at).total_seconds()))
    return Upstream(name=name, last_ok_at=iso(last_ok_at), age_seconds=age)


async def _block(deps: Deps, now: datetime) -> BlockStatus | None:
    """A status that fails when the node is down would not be one."""
    try:
        head = await deps.rpc.head()
    except UpstreamDown:
        return None
    at = datetime.fromtimestamp(head.timestamp, now.tzinfo)
    return BlockStatus(number=head.number, at=iso(at), lag_seconds=max(0, int((now - at).total_seconds())))
