"""What speaks against a count of shares: the other counts of its filing, profit per share, earlier covers, the float.

Witnesses that agree beat one that does not. A factor of a thousand is a slip of scale: then the sides are counted.
Average and balance sheet stand in one table and slip together, so they are one voice.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import Final

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import are_close, slip
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.reports import implied_count, newest_average, public_float
from tickyard.sources.filings.border import CompanyFacts, Entry

# Subsidiaries and shells file 1, 100 or 1000; the smallest listed company has close to a million shares.
LEAST: Final = 100_000
MOST: Final = 10**13
SET_RIGHT: Final = "sharesOutstanding: the cover is tagged in a wrong scale and was set right by others."
_UNIT: Final = "shares"
# Dollars. No listed share but one has ever been worth more, and none that is worth less stays listed.
_DEAREST, _CHEAPEST_PER_DOLLAR = 50_000, 1_000
# Dollars. Few listed shares are worth more: of two scales, the one with such a price is the unlikely one.
_DEAR: Final = 1_000
_TENTHS: Final = 10
# In tenths of what the witnesses agree on. Offerings and mergers since the period's end have come to two thirds more,
# buy-backs to a quarter less; a class that is left out is a third and more.
_LESS, _MORE = 7, 18
# In tenths of the average, where it is so twice on end or several classes are known of.
_SHORT: Final = 9
# In tenths. Nobody slips by such a factor, unless it is a power of ten; who merges with a shell multiplies its shares.
_SHELL: Final = 50
# In tenths of a lone average, which a fresh listing leaves far behind.
_FAR_MORE: Final = 3000
_POWERS: Final = (10, 100)
_HUNDREDS: Final = 200


class ShareVerdict(Enum):
    SLIP = "slip"
    """Wrong by itself: the other counts may be asked."""
    DISPUTE = "dispute"
    """Contradicted by all others, as after a great issue of shares, or wrong: nobody can tell."""


@dataclass(frozen=True, slots=True)
class Doubt:
    verdict: ShareVerdict
    why: str
    cure: Fraction | None = None
    """What a count that is too large by a thousand would have to be multiplied by."""


@dataclass(frozen=True, slots=True)
class Witnesses:
    """What else is known about the number of shares at the time of a report."""

    average: Number | None
    balance: Number | None
    implied: int | None
    """Profit over profit per share."""
    before: Number | None
    """The cover of the report before."""
    float_value: Number | None
    before_average: Number | None = None
    """The average in the report before."""
    of_owners: int | None = None
    """The owners' profit over profit per share."""
    older: Number | None = None
    """The newest cover before that counts anything, be it two years old: good to tell a scale."""

    @property
    def in_table(self) -> tuple[Number, ...]:
        return tuple(each for each in (self.average, self.balance) if each is not None and each >= LEAST)


def witnesses(facts: CompanyFacts, today: date, accession: str, before: Entry | None) -> Witnesses:
    """`before`: the cover of the report before."""
    average, held = newest_average(facts, accession), public_float(facts, today)
    then = newest_average(facts, before.accession) if before is not None else None
    return Witnesses(
        average[1].value if average is not None else None,
        balance_in(facts, accession),
        implied_count(facts, accession),
        before.value if before is not None else None,
        held.value if held is not None else None,
        then[1].value if then is not None else None,
        implied_count(facts, accession, is_of_owners=True),
    )


def doubt(count: Number, seen: Witnesses, *, is_cover: bool) -> Doubt | None:
    """What the witnesses say against a count; None when nothing does."""
    slipped = _against_scale(count, seen, is_cover=is_cover)
    if slipped is not None:
        return slipped
    average = seen.average
    if average is not None and seen.implied is not None and slip(average, seen.implied):
        average = seen.implied
    table = [each for each in (average, seen.balance) if each is not None and each >= LEAST and not slip(each, count)]
    if not table:
        if is_cover and seen.of_owners is not None and _is_short_again(count, seen.of_owners, seen.before):
            why = "is far below what profit and profit per share make, as the one before was, and may leave out a class"
            return Doubt(ShareVerdict.SLIP, why)
        is_borne_out = seen.implied is not None and are_close(count, seen.implied)
        held = None if is_borne_out else seen.float_value
        far = None if is_borne_out else _against_older(count, seen.older)
        return _against_before(count, seen.before) or far or _against_float(count, held)
    if is_cover and seen.balance is not None and _is_within(count, seen.balance, 9, 11):
        return None  # two counts of one day each; the average is of a time before
    if is_cover and (fallen := _against_fall(count, seen.before, table)) is not None:
        return fallen
    if is_cover and average is not None and _is_ever_short(count, average, seen):
        why = "is below the average number of shares, as the one before was, and may leave out a class"
        return Doubt(ShareVerdict.SLIP, why)
    # Where profit over profit per share makes what the balance sheet counts, cover and average are of one class.
    is_one_class = seen.implied and seen.balance and _is_within(seen.implied, seen.balance, 9, 11)
    is_told = is_cover and not is_one_class and average is not None
    if is_told and average is not None and seen.before is not None and _is_borne_out(count, average, seen.before):
        return None  # a balance sheet that counts the treasury too, or what was ever issued, says nothing against both
    others = [*table, seen.before] if seen.before is not None and not slip(seen.before, count) else table
    if is_cover and len(others) > 1:
        return _against_all(count, others, table)
    if not is_cover and seen.before is None and average is not None and count * _TENTHS < average * _SHORT:
        # Whose covers give no single count has several classes.
        return Doubt(ShareVerdict.SLIP, "is below the average number of shares and may leave out a class")
    return _against_average(count, table[0], most=_FAR_MORE if is_cover else 200)


def _against_all(count: Number, others: list[Number], table: list[Number]) -> Doubt | None:
    """Two witnesses or more. Too many shares need all of them; a class may be left out of every cover."""
    if all(count * _TENTHS < each * _LESS for each in table):
        return Doubt(ShareVerdict.SLIP, "is far below the average number of shares and may leave out a class")
    if not _agree(others) or any(count * _TENTHS <= each * _MORE for each in others):
        return _against_average(count, max(table), most=_FAR_MORE)
    if any(_is_within(count, each * power, 9, 11) for each in others for power in _POWERS):
        return Doubt(ShareVerdict.SLIP, "is ten or a hundred times the other counts")
    if count * _TENTHS > max(others) * _SHELL:
        return _against_average(count, max(table), most=_FAR_MORE)
    return Doubt(ShareVerdict.DISPUTE, "is far above the average number of shares and the other counts, which agree")


def _against_fall(count: Number, before: Number | None, table: list[Number]) -> Doubt | None:
    """Who leaves a class out of its covers does so every time. Where the cover before counted what the table does, and
    this one far less, shares were put together since: a table, and an amendment's report, is of before."""
    if before is None or not _agree([before, *table]) or any(count * _TENTHS >= each * _LESS for each in table):
        return None
    return Doubt(ShareVerdict.DISPUTE, "is far below the cover before and the table, as after a reverse split")


def _against_before(count: Number, before: Number | None) -> Doubt | None:
    """A power of ten between two covers is a split or a slip, and nothing else in the filing tells which."""
    if before is None or not is_tens_off(count, before):
        return None
    return Doubt(ShareVerdict.DISPUTE, "is ten or a hundred times off the cover before")


def _against_older(count: Number, older: Number | None) -> Doubt | None:
    """Shares are not put together or split into hundreds unless more is told of it than one number."""
    if older is None or max(count, older) < min(count, older) * _HUNDREDS:
        return None
    return Doubt(ShareVerdict.DISPUTE, "is hundreds of times off the cover before, and nothing bears it out")


def _is_ever_short(count: Number, average: Number, seen: Witnesses) -> bool:
    """Whether this cover and the one before count at least a tenth fewer than the averages of their reports, though
    those stay. What is bought back or exchanged at once brings the next average down."""
    before, then = seen.before, seen.before_average
    if before is None or then is None or not _is_within(average, then, 9, 11):
        return False
    return count * _TENTHS < average * _SHORT and before * _TENTHS < then * _SHORT


def _is_short_again(count: Number, shared: Number, before: Number | None) -> bool:
    """Whether this cover, and the one before with about as many, count far fewer than shared the profit. After a
    reverse split the one before counts more."""
    is_same = before is not None and _is_within(count, before, 9, 11)
    return is_same and count * _TENTHS < shared * _LESS and not is_tens_off(count, shared)


def is_tens_off(count: Number, other: Number) -> bool:
    """Whether one of two counts is ten or a hundred times the other."""
    low, high = sorted((count, other))
    return any(_is_within(high, low * power, 9, 11) for power in _POWERS)


def _against_average(count: Number, average: Number, *, most: int) -> Doubt | None:
    # A filing states both after the same splits. Fresh listings count far more than their average was.
    if count * _TENTHS < average * _LESS:
        return Doubt(ShareVerdict.SLIP, "is far below the average number of shares and may leave out a class")
    if count * _TENTHS > average * most:
        return Doubt(ShareVerdict.SLIP, "is far above the average number of shares")
    return None


def _against_scale(count: Number, seen: Witnesses, *, is_cover: bool) -> Doubt | None:
    """A factor of a thousand or a million, with the voices for either side counted."""
    alone = [each for each in (seen.implied, seen.older or seen.before) if each is not None]
    # A count of the table is held against the others only: the table slips as a whole.
    table = seen.in_table if is_cover else ()
    against = [each for each in alone if slip(count, each)]
    # One voice, unless its two counts are of two scales: then each has its own.
    is_table_against = any(slip(count, each) for each in table)
    if not against and not is_table_against:
        return None
    other = against[0] if against else next(each for each in table if slip(count, each))
    ours = 1 + sum(are_close(count, each) for each in alone) + _is_likelier(count, other, seen.float_value)
    ours += any(are_close(count, each) for each in table)
    theirs = len(against) + is_table_against + _is_likelier(other, count, seen.float_value)
    if ours > theirs:
        return None
    factor = slip(count, other)
    why = "is {} times off what the other counts or profit and profit per share make"
    why = why.format("a thousand" if factor == 1000 else "a million")
    if ours == theirs or factor is None:
        return Doubt(ShareVerdict.DISPUTE, why)
    return Doubt(ShareVerdict.SLIP, why, Fraction(1, factor) if count > other else None)


def cured(row: Entry, doubted: Doubt, seen: Witnesses) -> Entry | None:
    """A cover in the scale that outweighs its own, if nothing is said against it there."""
    if doubted.cure is None or row.value is None:
        return None
    value = int(Fraction(row.value) * doubted.cure)
    is_told = any(are_close(value, each) for each in seen.in_table)  # profit per share slips too
    if not is_told or value < LEAST or doubt(value, seen, is_cover=True) is not None:
        return None
    return Entry(row.start, row.end, value, row.accession, row.form, row.filed)


def sides_with(one: Number, other: Number, counts: Iterable[Number | None], value: Number | None) -> int:
    """How many more voices are for one of two scales of a count than for the other: counts of other times and the
    public float. They may be far from either, but not as far as a factor of a thousand."""
    told = [each for each in counts if each is not None and each >= LEAST]
    ours = sum(_apart(each, one) < _apart(each, other) for each in told)
    return 2 * ours - len(told) + _is_likelier(one, other, value) - _is_likelier(other, one, value)


def _apart(one: Number, other: Number) -> Fraction:
    return Fraction(Fraction(max(one, other)), Fraction(max(min(one, other), 1)))


def _is_likelier(one: Number, other: Number, value: Number | None) -> bool:
    """Whether the public float makes a usual price of one count and an unusual one of the other."""
    return value is not None and _is_usual(one, value) and not _is_usual(other, value)


def _is_usual(count: Number, value: Number) -> bool:
    return value <= count * _DEAR and count <= value * 20


def _is_borne_out(count: Number, average: Number, before: Number) -> bool:
    """Whether the average of the same report and the cover before both count about as many."""
    return _is_within(count, average, 9, 11) and _is_within(count, before, 9, 11)


def _agree(values: Iterable[Number]) -> bool:
    low, high = min(values), max(values)
    return high * 2 <= low * 3


def _is_within(count: Number, other: Number, least: int, most: int) -> bool:
    """In tenths."""
    return other * least <= count * _TENTHS <= other * most


def _against_float(count: Number, value: Number | None) -> Doubt | None:
    """Where nothing else is there to hold a count against, the price that the public float makes must be possible."""
    if value is None:
        return None
    if value > count * _DEAREST:
        return Doubt(ShareVerdict.SLIP, f"is too small for a public float of {value} USD")
    if value * _CHEAPEST_PER_DOLLAR < count:
        return Doubt(ShareVerdict.SLIP, f"is too large for a public float of {value} USD")
    return None


def balance_in(facts: CompanyFacts, accession: str) -> Number | None:
    rows = [
        row
        for concept in concepts.BALANCE_COUNTS
        for row in facts.units(concept).get(_UNIT, ())
        if row.accession == accession and row.value is not None
    ]
    newest = max(rows, key=lambda row: (row.end, row.value or 0), default=None)
    return newest.value if newest is not None else None
