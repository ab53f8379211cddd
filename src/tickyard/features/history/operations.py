"""History as callers see it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Final, Literal, Self

import msgspec
from msgspec import Meta

from tickyard.deps import Deps
from tickyard.features.history import reading
from tickyard.features.history.candles import Bar
from tickyard.kernel.clock import SLOT_S
from tickyard.kernel.errors import BadRequest
from tickyard.kernel.operation import Kept
from tickyard.kernel.units import ratio_text
from tickyard.kernel.wire import Answer, Ask, Moment, SymbolField, TextAnswer, Ticker, iso
from tickyard.market.sampling.rounds import slot_number, slot_start

Interval = Literal["5m", "15m", "1h", "4h", "1d"]
SECONDS: Final[dict[Interval, int]] = {"5m": 300, "15m": 900, "1h": 3_600, "4h": 14_400, "1d": 86_400}
SOURCE: Final = "dex-v3 TOKEN/USDG deepest pool, sampled every 5 minutes"
CSV_HEADER: Final = "t,open,high,low,close,ticks"

_E9: Final = 10**9
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# A round is written within seconds after its slot begins; an answer kept a little longer than the slot costs
# nobody a candle, because a new round drops what we keep ourselves.
_MARGIN_S: Final = 3
_OVERDUE_S: Final = 5

Number = Annotated[float, Meta(examples=[371.615], description="Dollars.")]
OpenedAt = Annotated[
    datetime, Meta(tz=True, examples=["2026-10-03T14:00:00Z"], description="When the candle opened, UTC.")
]


class Candle(Answer):
    t: OpenedAt
    open: Number
    high: Number
    low: Number
    close: Number
    ticks: Annotated[int, Meta(examples=[12], description="How many 5-minute samples the candle holds.")]


class History(Answer):
    symbol: Ticker
    interval: Interval
    source: Annotated[str, Meta(examples=[SOURCE])]
    history_since: Annotated[Moment, Meta(description="The first sample of this symbol.")] | None
    candles: list[Candle]


def read_moment(text: str) -> str:
    """A time as typed by a caller, in the one spelling under which its answer is kept."""
    return iso(_moment(text))


def _moment(text: str) -> datetime:
    try:
        # In a query, the plus sign of an offset arrives as a space.
        moment = datetime.fromisoformat(text.replace(" ", "+"))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadRequest("before must be an ISO 8601 time such as 2026-10-03T14:00:00Z") from None


class HistoryAsk(Ask):
    symbol: SymbolField
    interval: Annotated[Interval, Meta(description="Length of one candle.")] = "1h"
    limit: Annotated[int, Meta(ge=1, le=300, description="At most so many candles, the newest.")] = 100
    before: (
        Annotated[
            str,
            Meta(
                examples=["2026-10-03T14:00:00Z"],
                max_length=64,
                description="Only candles that opened before this time: page back with the oldest t you have.",
                extra={"says": "an ISO 8601 time such as 2026-10-03T14:00:00Z", "read": read_moment},
            ),
        ]
        | None
    ) = None
    format: Annotated[
        Literal["json", "csv"],
        Meta(description="csv: one line per candle, prices exact.", extra={"http_only": True}),
    ] = "json"

    def settled(self) -> Self:
        """Up to the next opening of a candle: every moment in between gives the same candles."""
        if self.before is None:
            return self
        interval_s = SECONDS[self.interval]
        buckets = -(-_seconds_up(_moment(self.before)) // interval_s)
        try:
            before = iso(_EPOCH + timedelta(seconds=buckets * interval_s))
        except OverflowError:
            return self  # within a day of the end of the calendar
        return msgspec.structs.replace(self, before=before)


async def get_history(deps: Deps, ask: HistoryAsk) -> Kept[History] | Kept[TextAnswer]:
    """Read price candles of one token, from the samples taken every 5 minutes of its deepest TOKEN/USDG pool. The
    newest `limit` candles, oldest first; the last one may still be open; times without a sample have no candle.

    Freshness: from samples taken every 5 minutes; changes only with a new sample.
    Limits: at most 300 candles a call, older ones with `before`.
    """
    asset = deps.market.registry.find(ask.symbol)
    interval_s = SECONDS[ask.interval]
    before_s = _seconds_up(_moment(ask.before)) if ask.before is not None else None
    page = reading.CandlePage(None, None, None, [])
    if asset.address is not None:
        async with deps.store.glance() as tx:
            page = await reading.page(tx, asset.address, interval_s, ask.limit, before_s)
    seconds = reuse_s(deps.clock.now(), page.newest_round)
    if ask.format == "csv":
        return Kept(TextAnswer(text=_csv(page.candles, interval_s), content_type="text/csv; charset=utf-8"), seconds)
    history = History(
        symbol=asset.symbol,
        interval=ask.interval,
        source=_source(page.synthetic_before),
        history_since=iso(slot_start(page.first_slot)) if page.first_slot is not None else None,
        candles=_shown(page.candles, interval_s),
    )
    return Kept(history, seconds)


def reuse_s(now: datetime, newest_round: int | None) -> int:
    """How long an answer stays true: until the next round, or a moment while this slot's is overdue."""
    if newest_round is None or newest_round < slot_number(now):
        return _OVERDUE_S
    return SLOT_S - int(now.timestamp()) % SLOT_S + _MARGIN_S


def _seconds_up(moment: datetime) -> int:
    """Rounded up: a candle that opened in the same second, but earlier, is still before."""
    return -((_EPOCH - moment) // timedelta(seconds=1))


def _source(synthetic_before: int | None) -> str:
    if synthetic_before is None:
        return SOURCE
    return f"{SOURCE}, synthetic before {iso(slot_start(synthetic_before))}"


# Every token's candles open at the same times: a day of the shortest, and months of the others.
@lru_cache(maxsize=4096)
def _opened(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _shown(bars: Sequence[Bar], interval_s: int) -> list[Candle]:
    # Dividing two integers gives the double nearest to the exact price; this is the wire.
    opened = _opened
    return [
        Candle(
            t=opened(bucket * interval_s),
            open=first / _E9,
            high=high / _E9,
            low=low / _E9,
            close=last / _E9,
            ticks=ticks,
        )
        for bucket, first, high, low, last, ticks in bars
    ]


def _csv(bars: Sequence[Bar], interval_s: int) -> str:
    lines = [CSV_HEADER]
    for bucket, first, high, low, last, ticks in bars:
        opened = iso(_opened(bucket * interval_s))
        prices = ",".join(ratio_text(price, _E9, 9) for price in (first, high, low, last))
        lines.append(f"{opened},{prices},{ticks}")
    return "\r\n".join(lines) + "\r\n"
