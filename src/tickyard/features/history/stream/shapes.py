"""What each event of the stream says, for the clients' types. A test holds what is really told against them."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from tickyard.features.history.operations import Interval, Number, OpenedAt
from tickyard.kernel.wire import Answer, ChainId, Moment, PriceText, Ticker

_Block = Annotated[int, Meta(examples=[48211075])]


class StreamPrice(Answer):
    """A symbol's deepest pool has moved."""

    symbol: Ticker
    price: PriceText
    premium_pct: Annotated[str, Meta(description="Over the equity quote; null while the issuer quotes nothing.")] | None
    block_number: _Block
    as_of: Moment


class StreamSnapshotPrice(Answer):
    symbol: Ticker
    price: Number
    live: Annotated[StreamPrice, Meta(description="What was last told of it; null while nobody follows it.")] | None


class StreamSnapshot(Answer):
    """How things stood when you came."""

    as_of: Moment
    chain_id: ChainId
    last_slot: Moment | None
    prices: list[StreamSnapshotPrice]


class StreamSample(Answer):
    symbol: Ticker
    price: Number
    suspect: Annotated[bool, Meta(description="Over 25 % off the equity quote of an open market.")]


class StreamSamples(Answer):
    """A round was recorded."""

    slot: Moment
    block_number: _Block
    samples: list[StreamSample]


class StreamCandle(Answer):
    symbol: Ticker
    open: Number
    high: Number
    low: Number
    close: Number
    ticks: Annotated[int, Meta(description="How many 5-minute samples the candle holds.")]


class StreamCandles(Answer):
    """Candles have closed."""

    interval: Interval
    t: OpenedAt
    candles: list[StreamCandle]


class StreamStatus(Answer):
    """After each round."""

    as_of: Moment
    last_slot: Moment
    sampled: int
    suspect: list[Ticker]
    block_number: _Block


class StreamGap(Answer):
    """What you missed cannot be told again; a snapshot follows."""

    reason: str


SHAPES: Final[dict[str, type[msgspec.Struct]]] = {
    "snapshot": StreamSnapshot,
    "price": StreamPrice,
    "sample": StreamSamples,
    "candle": StreamCandles,
    "status": StreamStatus,
    "gap": StreamGap,
}
