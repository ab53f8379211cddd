"""One number out of the rows that one filing has for it."""

from collections.abc import Iterable

from tickyard.features.research.filed.concepts import Number
from tickyard.sources.filings.border import Entry


def settle(rows: list[Entry]) -> Entry:
    """What one filing says about one concept and one end: its value is None when the filing contradicts itself."""
    if len(rows) == 1:
        return rows[0]
    # Of two lengths for one end in one filing the longer is the period; the other lost a week in the tagging.
    start = min(row.start or row.end for row in rows)
    rows = [row for row in rows if (row.start or row.end) == start]
    first = min(rows, key=lambda row: row.form)
    values = {row.value for row in rows}
    return first if len(values) == 1 else _with(first, _finest(values))


def _finest(values: set[Number | None]) -> Number | None:
    """Of one amount, rounded in the text and exact in the table, the exact one; None for different amounts."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    finest = max(known, key=_digits)
    return finest if all(is_rounded(value, finest) for value in known) else None


def _digits(value: Number) -> tuple[int, Number]:
    return len(str(abs(value)).rstrip("0").replace(".", "")), value


def is_rounded(value: Number, exact: Number, *, may_end_in_zero: bool = False) -> bool:
    """Whether a value is the exact one, cut to at least two leading digits. The second is a zero of which nobody can
    tell by itself that it was not cut."""
    whole, other = int(value), int(exact)
    text = str(abs(whole))
    zeros = len(text) - len(text.rstrip("0"))
    cut = min(zeros, len(text) - 2) if may_end_in_zero else zeros
    return whole == other or (zeros >= 3 and len(text) - cut >= 2 and 2 * abs(whole - other) <= 10**cut)


def _with(row: Entry, value: Number | None) -> Entry:
    return Entry(row.start, row.end, value, row.accession, row.form, row.filed)


def latest(entries: Iterable[Entry]) -> Entry | None:
    """The entry of the latest filing, whatever the order of the rows."""
    rows = list(entries)
    if not rows:
        return None
    filing = max((entry.filed, entry.accession) for entry in rows)
    return settle([entry for entry in rows if (entry.filed, entry.accession) == filing])
