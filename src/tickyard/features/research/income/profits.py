"""What speaks against a profit: its filing's neighbours, profit per share, the profits beside it, the year before.

A profit is refuted, not replaced: by a sign that is turned, by a factor of a thousand, or by its digits in another
scale. The voices are counted where they differ, since profit per share and the number of shares slip as well.
"""

from decimal import Decimal
from typing import Final

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import are_alike, are_close, is_equal, power_off, slip
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.neighbours import Vote
from tickyard.features.research.filed.statement import Statement, Years
from tickyard.features.research.filed.tens import TENS, repeated_tenfold
from tickyard.features.research.income.divided import bears_out, made_of, per_share_of

_LEAST_PER_SHARE: Final = Decimal("0.05")
_POWERS: Final = tuple(10**power for power in range(1, 7))
_THOUSANDS: Final = (10**3, 10**6)
# An average number of shares is of the time before the cover's day, and splits and offerings come between.
_ALIKE: Final = 5
# A profit may be more than all of revenue, when something was sold or written off; hardly ever so much more.
_TIMES_SOLD: Final = 8
# Between nine months and the year, or a first quarter and the year.
_PART_ROOM: Final = 4
_FAR_OFF: Final = 4
_PROFITS: Final = (*concepts.OWNERS_PROFITS, *concepts.WHOLE_PROFITS, *concepts.COMMON_PROFITS)
_BEFORE_TAXES: Final = (*concepts.PRETAX, *reversed(concepts.IFRS_LEFT))
_FIGURES: Final = frozenset((*concepts.REVENUE, *concepts.NET_INCOME))
_SOLD: Final = frozenset((*concepts.REVENUE, *concepts.NET_INTEREST, *concepts.GROSS_INTEREST))
WRONG_SCALE: Final = "A slip: the whole filing is in another scale than its neighbours, or than profit per share."


def is_off_scale(years: Years, statement: Statement) -> bool:
    """Whether all that a filing says is in a wrong scale."""
    filing = (statement.accession, statement.end)
    if filing not in years.off_scale:
        years.off_scale[filing] = _is_outvoted(years, statement)
    return years.off_scale[filing]


def _is_outvoted(years: Years, statement: Statement) -> bool:
    vote = years.votes.get(statement.accession, Vote(0, 0))
    by_shares = _is_borne_out_by_shares(years, statement)
    against = vote.against + (by_shares is False)
    agree = vote.agree + (by_shares is True and not vote.is_per_share_odd)
    if by_shares is False:
        agree += _repeated(years, statement)
    if against < agree:
        return False  # whatever the last voice says
    by_parts = _is_borne_out_by_parts(years, statement)
    return against + (by_parts is False) > agree + (by_parts is True)


def _repeated(years: Years, statement: Statement) -> int:
    """How many other filings tell the year, or the one before it, in the same scale, with a profit per share that bears
    it out: then it is the profit per share of this one that slipped."""
    before = years.before(statement, concepts.NET_INCOME)
    found: set[str] = set()
    for own in (statement, before) if before is not None else (statement,):
        profit = own.first(_PROFITS)
        for other in years.statements(concepts.NET_INCOME, own.end):
            told = other.first(_PROFITS)
            if other.accession != own.accession and profit and told and are_alike(profit, told):
                found.update({other.accession} if _is_borne_out_by_shares(years, other) else ())
    return len(found)


def _is_borne_out_by_parts(years: Years, statement: Statement) -> bool | None:
    """Whether the year is in the scale of its first nine months; None when some lines are and others are not."""
    pairs = [
        (value, part)
        for name, value in statement.values.items()
        if name in _FIGURES and value and (part := years.part(statement, name))
    ]
    if pairs and all(slip(value, part, _PART_ROOM) for value, part in pairs):
        return False
    return True if pairs and all(are_alike(value, part) for value, part in pairs) else None


def _is_borne_out_by_shares(years: Years, statement: Statement) -> bool | None:
    """Whether profit per share makes the profit, in a scale in which it fits revenue; None when it cannot tell."""
    profit, made, sold = statement.first(_PROFITS), made_of(statement), sold_of(statement)
    if not profit or not made:
        return None
    is_in_scale = _is_count_in_scale(years, statement)
    if are_close(concepts.size(profit), concepts.size(made)):
        return True if is_in_scale is not False else None
    if not is_in_scale:
        return None
    # Some tag a profit per share in pence.
    is_off = all(slip(each, made) for each in (profit, statement.first(concepts.COMMON_PROFITS) or profit))
    return False if is_off and sold and is_usual(profit, sold) and not is_usual(made, sold) else None


def _is_count_in_scale(years: Years, statement: Statement) -> bool | None:
    """Whether the cover bears out the average number of shares: counts are in thousands more often than amounts. None
    without a cover."""
    average, cover = statement.first(concepts.AVERAGE_COUNTS), years.covers.get(statement.accession)
    return average <= _ALIKE * cover and cover <= _ALIKE * average if average and cover else None


def refute(years: Years, statement: Statement, concept: str, profit: Number) -> str | None:
    """Why a profit cannot be what its filing means; None when nothing speaks against it."""
    if is_off_scale(years, statement):
        return WRONG_SCALE
    if is_turned(statement, profit):
        return "A slip: profit per share, or the other profits of the filing, have the opposite sign."
    if power := find_slip(years, statement, concept, profit):
        return f"A slip: it is {power} times off what the rest of the filing makes of it."
    if power := repeated_tenfold(years, statement, concept, profit):
        return TENS.format(power=power)
    if is_against_all(statement, concept, profit):
        return "What was divided among the shares and what was left before taxes are quite other amounts."
    return None


def is_against_all(statement: Statement, concept: str, profit: Number) -> bool:
    """Whether it is four times off what was divided among the shares, and in the same direction off what was left
    before taxes, or more than all that came in: each of them may be so for reasons of its own, but not two."""
    if concept in concepts.WHOLE_PROFITS and statement.first(concepts.MINORITY):
        return False  # most of it may be the minority's
    divided, pretax = made_of(statement) or statement.first(concepts.COMMON_PROFITS), statement.first(concepts.PRETAX)
    if not divided or (divided > 0) != (profit > 0) or slip(divided, profit):
        return False  # a factor of a thousand is judged by itself
    own, shared, sold = concepts.size(profit), concepts.size(divided), sold_of(statement)
    left = concepts.size(pretax) if pretax and (pretax > 0) == (profit > 0) else None
    if own > _FAR_OFF * shared:
        return own > _FAR_OFF * left if left is not None else 0 < sold < own
    return left is not None and own * _FAR_OFF < min(shared, left)


def is_turned(statement: Statement, profit: Number) -> bool:
    """Whether a profit is told as a loss, or the other way round.

    A loss leaves no profit per share; some tag a loss per share without its sign, but the lines above are a loss then.
    A profit may leave a loss per share, after preferred dividends, but not one of its own size.
    """
    whole, minority = statement.first(concepts.WHOLE_PROFITS), statement.first(concepts.MINORITY)
    rest = whole - (minority or 0) if whole is not None and whole != profit else None
    pretax, common = statement.first(concepts.PRETAX), statement.first(concepts.COMMON_PROFITS)
    per_share = statement.first((*concepts.PER_SHARE, *concepts.DILUTED_PER_SHARE))
    if profit < 0 and per_share is not None and per_share > 0:
        # What is left of the whole profit is no witness for itself.
        above = (
            statement.first((*_BEFORE_TAXES, concepts.OPERATING_INCOME)),
            statement.first(concepts.OWNERS_COMPREHENSIVE),
            common,
            rest if rest != profit else None,
        )
        return not any(each is not None and each < 0 for each in above)
    operating = statement.get(concepts.OPERATING_INCOME)
    if per_share is None and common is None and whole is None and operating is not None and pretax is not None:
        # With nothing below to bear it out: a profit of the size of the loss that the lines above come to.
        return max(operating, pretax) < 0 < profit and are_close(profit, -pretax)
    preferred = statement.first(concepts.PREFERRED_DIVIDENDS)
    if preferred and common is not None and is_equal(profit - preferred, common):
        return False  # preferred dividends took as much, and the filing says so
    beside = [each for each in (made_of(statement) or common, rest) if each]
    like = [each for each in beside if are_close(concepts.size(each), concepts.size(profit))]
    against = sum((each > 0) != (profit > 0) for each in like)
    if not against:
        return False
    ours = len(like) - against + bool(pretax and (pretax > 0) == (profit > 0))
    # Abroad a loss before taxes tells a loss; a profit may as well have lost its sign with the other lines.
    left = pretax or min(statement.first(_BEFORE_TAXES) or 0, 0)
    return against + bool(left and (left > 0) != (profit > 0)) > ours


def find_slip(years: Years, statement: Statement, concept: str, profit: Number) -> int | None:
    """The power of ten by which the profit is off profit per share times shares; None when it is not.

    The count of shares may be what is off: then revenue, another profit or the year before sides with this one.
    """
    whole, minority = statement.first(concepts.WHOLE_PROFITS), statement.first(concepts.MINORITY)
    if concept in concepts.OWNERS_PROFITS and whole and minority and (power := power_off(profit, whole - minority)):
        return power
    power = _power_off_shares(statement, profit)
    if power is None:
        return _slip_beside(years, statement, concept, profit)
    names = (*_PROFITS, *concepts.PRETAX)
    beside = [value for name in names if (value := statement.get(name)) is not None and value != profit]
    if any(are_alike(value, profit) for value in beside):
        return None
    if any(power_off(profit, all_of_it) == power for all_of_it in _on_the_side_of_shares(statement, profit)):
        return power  # two witnesses: the year before may have slipped as this one did
    before = years.before(statement, concepts.NET_INCOME)
    last = before.first(concepts.NET_INCOME) if before is not None else None
    if before is not None and last:
        if are_close(concepts.size(made_of(before)), concepts.size(last)):
            return power  # the counts of the filing are in their right scale
        if _power_off_shares(before, last) == power:
            return None
    sold = sold_of(statement)
    if sold and is_usual(profit, sold) and not is_usual(made_of(statement), sold):
        return None
    return power


def _on_the_side_of_shares(statement: Statement, profit: Number) -> list[Number]:
    """What the owners earned in all, where that is as far from the profit as profit per share times shares is."""
    told = [value for name in concepts.OWNERS_COMPREHENSIVE if (value := statement.get(name)) is not None]
    made = concepts.size(made_of(statement))
    return [value for value in told if (concepts.size(value) > concepts.size(profit)) == (made > concepts.size(profit))]


def _slip_beside(years: Years, statement: Statement, concept: str, profit: Number) -> int | None:
    """A factor of a thousand or a million to the whole profit, or before taxes; to what other filings say of the year;
    or to the year before, when the profit is more than all of revenue too, or next to nothing of it."""
    if bears_out(statement, profit) and _is_count_in_scale(years, statement):
        return None
    names = (*concepts.WHOLE_PROFITS, *concepts.PRETAX)
    beside = [value for name in names if name != concept and (value := statement.get(name))]
    against = [slip(profit, value) for value in beside]
    if against and all(against):
        return against[0]
    told = [value for other in years.statements((concept,), statement.end) if (value := other.get(concept))]
    slips = [factor for value in told if (factor := slip(profit, value))]
    if len(slips) > sum(are_close(concepts.size(value), concepts.size(profit)) for value in told):
        return slips[0]
    part = years.part(statement, concept)
    # A last quarter may make the year: profit per share knows, and a slip of one line it does not bear out.
    is_borne_out = bears_out(statement, profit) or any(are_alike(value, profit) for value in beside)
    if part and not is_borne_out and (factor := slip(profit, part, _PART_ROOM)):
        return factor
    sold, before = sold_of(statement), years.before(statement, concepts.NET_INCOME)
    last = before.first(concepts.NET_INCOME) if before is not None else None
    if not sold or not last or before is None or is_usual(profit, sold):
        return None
    if factor := slip(profit, last):
        return factor
    is_far_more = concepts.size(profit) > _TIMES_SOLD * sold and concepts.size(last) <= sold_of(before)
    if not is_far_more or made_of(statement):
        return None
    return next((power for power in _THOUSANDS if is_usual(profit, sold * power)), None)


def _power_off_shares(statement: Statement, profit: Number) -> int | None:
    per_share, shares = per_share_of(statement)
    if not per_share or not shares:
        # Diluted tells the scale, though not the digits: a partner's units may be among the shares, and its part in it.
        per_share, shares = statement.first(concepts.DILUTED_PER_SHARE), statement.first(concepts.DILUTED_COUNTS)
    if not per_share or not shares or concepts.size(per_share) < _LEAST_PER_SHARE:
        return None
    made = int(Decimal(per_share) * shares)
    low, high = sorted((concepts.size(made), concepts.size(profit)))
    rounding = 5 if concepts.size(per_share) < _LEAST_PER_SHARE * 4 else 2
    if (made > 0) != (profit > 0) or not low:
        return None
    power = next((power for power in _POWERS if concepts.size(high - low * power) * 100 <= high * rounding), None)
    # What is divided among the shares may be less than the profit; a factor of a thousand shows all the same.
    return power or slip(statement.first(concepts.COMMON_PROFITS) or made, profit)


def sold_of(statement: Statement) -> Number:
    """About what came in, whatever it is called."""
    return max((concepts.size(value) for name, value in statement.values.items() if name in _SOLD), default=0)


def is_usual(profit: Number, sold: Number) -> bool:
    """Whether a profit or loss is between a thousandth of revenue and all of it."""
    return concepts.size(sold) <= 1000 * concepts.size(profit) <= 1000 * concepts.size(sold)
