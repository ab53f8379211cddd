"""Making a table fit the terminal: first shorter texts, then fewer columns."""

import re
from dataclasses import dataclass, replace
from typing import Final

_HEX: Final = re.compile(r"0x[0-9a-fA-F]{39,}…?")
_SHORT_CELL: Final = 24
_GAP: Final = 2


@dataclass(frozen=True, slots=True)
class Column:
    head: str
    cells: list[str]
    is_number: bool

    @property
    def width(self) -> int:
        return max(len(self.head), *map(len, self.cells))


def fit(columns: list[Column], room: int) -> tuple[list[Column], list[str]]:
    """The columns that fit into `room`, and the names of those that do not. The first one always stays."""
    if _total(columns) > room:
        columns = [replace(column, cells=[_shorter(cell) for cell in column.cells]) for column in columns]
    hidden: list[Column] = []
    while len(columns) > 1 and _total(columns) > room:
        hidden.append(max(columns[1:], key=_is_missed_least))
        columns = [column for column in columns if column is not hidden[-1]]
    return columns, [column.head for column in hidden]


def _is_missed_least(column: Column) -> tuple[bool, int]:
    """What says the same in every row goes first, then the widest."""
    return len(column.cells) > 1 and len(set(column.cells)) == 1, column.width


def _shorter(cell: str) -> str:
    if _HEX.fullmatch(cell):
        return f"{cell[:6]}…{cell[-4:]}"
    return cell if len(cell) <= _SHORT_CELL else cell[: _SHORT_CELL - 1] + "…"


def _total(columns: list[Column]) -> int:
    return sum(column.width for column in columns) + _GAP * (len(columns) - 1)
