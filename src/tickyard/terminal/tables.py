"""Answers as readable text: fields under one another, lists as tables."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tickyard.terminal.fitting import Column, fit

_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?%?")
# ASSET_STATUS_ACTIVE stands in a column that says status.
_CHOICE: Final = re.compile(r"[A-Z]+(?:_[A-Z]+)*_(?:STATUS|TYPE)_([A-Z_]+)")
_DECIMALS_MAX: Final = 6
_CELL_MAX: Final = 44
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def render(name: str, answer: Any, width: int | None = None) -> str:
    """An answer, as it came over the wire, for a person to read. `name` is the operation's.

    `width`: of the terminal; tables give up columns to fit it, and say so. None: as wide as they are.
    """
    if isinstance(answer, Mapping):
        return "\n".join(_lines(answer, "", width)) or f"{name}: nothing"
    if isinstance(answer, list):
        return "\n".join(_table(answer, "", width))
    return _cell(answer)


def label(name: str) -> str:
    """camelCase as words: usdgLiquidity -> usdg liquidity."""
    return _WORDS.sub(" ", name).lower()


def _lines(fields: Mapping[str, Any], indent: str, width: int | None) -> list[str]:
    plain = {label(name): value for name, value in fields.items() if not isinstance(value, Mapping | list)}
    longest = max(map(len, plain), default=0)
    lines = [f"{indent}{name.ljust(longest)}  {_text(value)}".rstrip() for name, value in plain.items()]
    for name, value in fields.items():
        if isinstance(value, Mapping):
            lines += ["", f"{indent}{label(name)}", *_lines(value, indent + "  ", width)]
        elif isinstance(value, list):
            lines += ["", f"{indent}{label(name)} ({len(value)})", *_table(value, indent + "  ", width)]
    return lines


def _table(items: Sequence[Any], indent: str, width: int | None) -> list[str]:
    if not items:
        return [f"{indent}none"]
    if not all(isinstance(item, Mapping) for item in items):
        return [f"{indent}{_text(item)}" for item in items]
    columns = _columns([_flat(item) for item in items])
    hidden: list[str] = []
    if width is not None:
        columns, hidden = fit(columns, width - len(indent))
    shown = [[column.head, "-" * column.width, *column.cells] for column in columns]
    lines = [
        indent
        + "  ".join(
            text.rjust(column.width) if column.is_number else text.ljust(column.width)
            for text, column in zip(line, columns, strict=True)
        ).rstrip()
        for line in zip(*shown, strict=True)
    ]
    return [*lines, f"{indent}not shown: {', '.join(hidden)}; --json has all"] if hidden else lines


def _columns(rows: list[dict[tuple[str, ...], Any]]) -> list[Column]:
    paths = list(dict.fromkeys(path for row in rows for path in row))
    # Where another row has fields inside, a null is only their absence.
    paths = [
        path for path in paths if not any(len(path) < len(other) and other[: len(path)] == path for other in paths)
    ]
    columns = []
    for path in paths:
        values = [row.get(path) for row in rows]
        twin = path[-1:]
        # A thing inside the row that repeats what the row says.
        if len(path) > 1 and all(row.get(path) in (None, row.get(twin)) for row in rows) and twin in rows[0]:
            continue
        cells = [_cell(value) for value in values]
        head = " ".join(label(name) for name in (path if len(path) < 3 else path[1:]))
        columns.append(Column(head, cells, all(_NUMBER.fullmatch(cell) or cell == "-" for cell in cells)))
    return columns


def _flat(item: Mapping[str, Any], prefix: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Nested fields as columns of their own; lists as their length."""
    flat: dict[tuple[str, ...], Any] = {}
    for name, value in item.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, (*prefix, name)))
        else:
            flat[(*prefix, name)] = len(value) if isinstance(value, list) else value
    return flat


def _cell(value: Any) -> str:
    text = _text(value).replace("\n", " ")
    if _NUMBER.fullmatch(text):
        # A table is for looking; whoever counts takes the JSON.
        whole, point, decimals = text.partition(".")
        return whole + point + decimals[:_DECIMALS_MAX] if point else text
    if choice := _CHOICE.fullmatch(text):
        text = choice[1]
    return text if len(text) <= _CELL_MAX else text[: _CELL_MAX - 1] + "…"


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(str(value))


def printable(text: str) -> str:
    """What an upstream wrote must not move the cursor or change colours."""
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)
