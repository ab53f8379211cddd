"""Profit per share and number of shares of a period, in the scale they are meant in.

Either times the other is the profit, so a factor of a thousand or a million between them is a slip of one of them.
Other filings of the period and the nearest cover tell of which. What can be set right exactly is, the rest is unknown.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Final

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import are_close, slip
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.statement import Statement
from tickyard.features.research.shares.doubts import LEAST
from tickyard.sources.filings.border import Entry

COUNTS: Final = (*concepts.DILUTED_COUNTS, *concepts.AVERAGE_COUNTS)
PER_SHARE: Final = concepts.DILUTED_PER_SHARE
_PROFITS: Final = (*concepts.COMMON_PROFITS, *concepts.OWNERS_PROFITS, *concepts.WHOLE_PROFITS)
_NEAR, _AROUND = timedelta(days=400), timedelta(days=1500)
# Some tag pence as pounds: a hundred times the profit that was divided among the shares.
_PENCE: Final = 50
OFF_PER_SHARE: Final = "The diluted profit per share is a thousand times or more off what profit and shares make."
_DIGITS: Final = 6
"""Of a profit per share."""
# No profit per share but one has ever been more, and below a cent rounding is all that is left.
_MOST_PER_SHARE, _LEAST_PER_SHARE = 100_000, Decimal("0.01")


def implied(statement: Statement) -> Number | None:
    """How many shares profit and profit per share make."""
    profit, per_share = statement.first(_PROFITS), statement.first(PER_SHARE)
    if not profit or per_share is None or not _LEAST_PER_SHARE <= concepts.size(per_share) <= _MOST_PER_SHARE:
        return None
    return abs(Fraction(profit)) // abs(Fraction(per_share))


def nearest(covers: Iterable[Entry], end: date) -> Number | None:
    """The count on the cover that is the nearest in time."""
    since, until = end - _NEAR, end + _NEAR
    near = [row for row in covers if since <= row.end <= until and row.value is not None and row.value >= LEAST]
    found = min(near, key=lambda row: (abs(row.end - end), row.filed, row.accession, row.value or 0), default=None)
    return found.value if found is not None else None


def largest(counts: Iterable[Entry], end: date) -> Number | None:
    """The largest number of shares told for a period around this time: a count in thousands is the smaller one."""
    since, until = end - _AROUND, end + _AROUND
    return max((row.value for row in counts if since <= row.end <= until and row.value is not None), default=None)


def usual(amounts: Iterable[Entry], end: date) -> Number | None:
    """What a profit per share came to in other periods around this time, the one in the middle."""
    since, until = end - _AROUND, end + _AROUND
    sizes = sorted(
        concepts.size(row.value) for row in amounts if row.value and since <= row.end <= until and row.end != end
    )
    return sizes[len(sizes) // 2] if sizes else None


def is_odd(statement: Statement, usually: Callable[[], Number | None]) -> bool:
    """Whether a profit per share is a thousand times off what profit and shares of its filing make, and that is nearer
    to what it usually is: then it slipped, and not the number of shares."""
    per_share, profit, count = statement.first(PER_SHARE), statement.first(_PROFITS), statement.first(COUNTS)
    if not per_share or not profit or not count or slip(Decimal(per_share) * count, profit) is None:
        return False
    # Few profits per share slip: only of those it is asked what they usually are.
    often = usually()
    if not often:
        return False
    tagged, made, middle = abs(Fraction(per_share)), Fraction(abs(Fraction(profit)), Fraction(count)), Fraction(often)
    return max(made, middle) * min(tagged, middle) < max(tagged, middle) * min(made, middle)


def is_count_off(
    statement: Statement,
    count: Number,
    others: Sequence[Number],
    cover: Number | None,
    around: Callable[[], Number | None],
) -> bool:
    """`around`: the largest count of its time, which is asked when there is no better witness."""
    told = implied(statement)
    voices = [*([told] if told else []), *([cover] if cover is not None else [])]
    if not voices and (most := around()) is not None:
        return count < most and slip(count, most) is not None
    return _is_outvoted(count, voices, others)


def doubt_per_share(
    statement: Statement, per_share: Number, others: Sequence[Number], cover: Number | None
) -> str | None:
    """Why a profit per share cannot be right; None when nothing speaks against it."""
    if _is_turned(statement, per_share):
        return "The diluted profit per share has the opposite sign of the profit that it was made of."
    return OFF_PER_SHARE if _is_per_share_off(statement, per_share, others, cover) else None


def _is_turned(statement: Statement, per_share: Number) -> bool:
    """A loss leaves no profit per share. A profit leaves a loss per share only when preferred dividends take it all."""
    owners, whole = statement.first(concepts.OWNERS_PROFITS), statement.first(concepts.WHOLE_PROFITS)
    common, minority = statement.first(concepts.COMMON_PROFITS), statement.first(concepts.MINORITY)
    profit = owners if owners is not None else whole - (minority or 0) if whole is not None else common
    if profit is None or profit * per_share >= 0:
        return False
    left = common if common is not None else profit - (statement.first(concepts.PREFERRED_DIVIDENDS) or 0)
    return profit < 0 or left * per_share < 0


def _is_per_share_off(statement: Statement, per_share: Number, others: Sequence[Number], cover: Number | None) -> bool:
    if concepts.size(per_share) > _MOST_PER_SHARE:
        return True
    profit, count = statement.first(_PROFITS), statement.first(COUNTS)
    # Counts slip more often than amounts per share: only one that a cover bears out is a witness.
    told = int(concepts.size(profit) * 10**_DIGITS) // int(cover) if profit and cover else 0
    voices = [Decimal(told).scaleb(-_DIGITS)] if told else []
    common = statement.first(concepts.COMMON_PROFITS)
    if common and count and concepts.size(per_share) * count > _PENCE * concepts.size(common):
        return True
    return _is_outvoted(concepts.size(per_share), voices, [concepts.size(other) for other in others])


def _is_outvoted(value: Number, voices: Sequence[Number], others: Sequence[Number]) -> bool:
    """`others`: what the other filings of the period say. They repeat each other, so the most of them are one voice,
    and they are no witness for a value: a table that slips does so every year."""
    against = sum(slip(value, each) is not None for each in voices)
    ours = sum(are_close(value, each) for each in voices)
    slips, close = sum(slip(value, each) is not None for each in others), sum(are_close(value, each) for each in others)
    return against + (slips > close + 1) > ours


def set_right(statement: Statement, count: Number) -> int | None:
    """A count that profit per share shows to be a thousand or a million times off, in its right scale."""
    told = implied(statement)
    factor = slip(count, told) if told else None
    if factor is None or told is None:
        return None
    return int(count * factor) if count < told else int(count // factor)
