"""Candles as text: one column each, two steps of price per line."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

_UP: Final = "\x1b[32m"
_DOWN: Final = "\x1b[31m"
_DIM: Final = "\x1b[2m"
_END: Final = "\x1b[0m"
AXIS: Final = 12
"""Columns of the price axis."""

# What stands in a cell, by (upper half, lower half): nothing, wick or body.
_SHAPES: Final = {
    "  ": " ",
    "| ": "╵",
    " |": "╷",
    "||": "│",
    "# ": "╹",
    " #": "╻",
    "##": "┃",
    "#|": "╿",
    "|#": "╽",
}


@dataclass(frozen=True, slots=True)
class Bar:
    t: datetime
    open: float
    high: float
    low: float
    close: float

    @property
    def is_up(self) -> bool:
        return self.close >= self.open


def draw(bars: Sequence[Bar], *, width: int, height: int, colours: bool = False) -> list[str]:
    """The newest candles that fit, with a price axis on the right and the time below."""
    room = max(1, width - AXIS)
    bars = bars[-room:]
    if not bars:
        return ["no candles yet"]
    low, high = min(bar.low for bar in bars), max(bar.high for bar in bars)
    steps = 2 * max(1, height - 1)
    span = (high - low) or 1.0
    columns = [_column(bar, low, span, steps) for bar in bars]
    lines = []
    for line in range(steps // 2):
        cells = [
            _painted(_SHAPES[column[2 * line : 2 * line + 2]], bar, colours)
            for column, bar in zip(columns, bars, strict=True)
        ]
        price = high - span * (2 * line + 0.5) / max(1, steps - 1) if high > low else high
        axis = f" {_price(price, span)}"[:AXIS]
        is_marked = line % 4 == 0 or line == steps // 2 - 1
        lines.append("".join(cells) + (_dim(axis, colours) if is_marked else ""))
    lines.append(_dim(_times(bars), colours))
    return [line.rstrip() for line in lines]


def _column(bar: Bar, low: float, span: float, steps: int) -> str:
    """A candle from the top of the chart to its bottom, one character per step."""

    def step(price: float) -> int:
        return min(steps - 1, max(0, round((low + span - price) / span * (steps - 1))))

    top, bottom = step(max(bar.open, bar.close)), step(min(bar.open, bar.close))
    first, last = step(bar.high), step(bar.low)
    return "".join("#" if top <= at <= bottom else "|" if first <= at <= last else " " for at in range(steps))


def _painted(shape: str, bar: Bar, colours: bool) -> str:
    if not colours or shape == " ":
        return shape
    return f"{_UP if bar.is_up else _DOWN}{shape}{_END}"


def _dim(text: str, colours: bool) -> str:
    return f"{_DIM}{text}{_END}" if colours and text.strip() else text


def _price(price: float, span: float) -> str:
    return f"{price:.2f}" if span >= 0.1 else f"{price:.4f}"


def _times(bars: Sequence[Bar]) -> str:
    first, last = (bar.t.strftime("%d %b %H:%M") for bar in (bars[0], bars[-1]))
    gap = len(bars) - len(first) - len(last)
    return f"{first}{' ' * gap}{last}" if gap > 1 else last
