"""Answers as readable text: fields under one another, lists as tables."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

_NUMBER: Final = re.compile(r"-?[0-9][0-9]*(\.[0-9]+)?%?")
_CELL_MAX: Final = 44
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def render(name: str, answer: Any) -> str:
    """An answer, as it came over the wire, for a person to read. `name` is the operation's."""
    if isinstance(answer, Mapping):
        return "\n".join(_lines(answer, "")) or f"{name}: nothing"
    if isinstance(answer, list):
        return "\n".join(_table(answer, ""))
    return _cell(answer)


def label(name: str) -> str:
    """camelCase as words: usdgLiquidity -> usdg liquidity."""
    return _WORDS.sub(" ", name).lower()


def _lines(fields: Mapping[str, Any], indent: str) -> list[str]:
    plain = {label(name): value for name, value in fields.items() if not isinstance(value, Mapping | list)}
    width = max(map(len, plain), default=0)
    lines = [f"{indent}{name.ljust(width)}  {_text(value)}".rstrip() for name, value in plain.items()]
    for name, value in fields.items():
        if isinstance(value, Mapping):
            lines += ["", f"{indent}{label(name)}", *_lines(value, indent + "  ")]
        elif isinstance(value, list):
            lines += ["", f"{indent}{label(name)} ({len(value)})", *_table(value, indent + "  ")]
    return lines


def _table(items: Sequence[Any], indent: str) -> list[str]:
    if not items:
        return [f"{indent}none"]
    if not all(isinstance(item, Mapping) for item in items):
        return [f"{indent}{_text(item)}" for item in items]
    rows = [_flat(item) for item in items]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(label(column)), *(len(line[at]) for line in cells)) for at, column in enumerate(columns)]
    is_number = [all(_NUMBER.fullmatch(line[at]) or line[at] == "-" for line in cells) for at in range(len(columns))]
    shown = [[label(column) for column in columns], ["-" * width for width in widths], *cells]
    return [
        indent
        + "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, is_number, strict=True)
        ).rstrip()
        for line in shown
    ]


def _flat(item: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested fields as columns of their own; lists as their length."""
    flat: dict[str, Any] = {}
    for name, value in item.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{name}."))
        else:
            flat[prefix + name] = len(value) if isinstance(value, list) else value
    return flat


def _cell(value: Any) -> str:
    text = _text(value).replace("\n", " ")
    return text if len(text) <= _CELL_MAX else text[: _CELL_MAX - 1] + "…"


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    # What an upstream wrote must not move the cursor or change colours.
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in str(value))
