"""What was divided among the shares. It tells apart the profits that a filing names."""

from decimal import Decimal
from itertools import combinations
from typing import Final

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import is_equal
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.statement import Statement

_POWERS: Final = tuple(10**power for power in range(1, 7))
# Half a cent of it is half a hundredth.
_FINE_PER_SHARE: Final = Decimal(1)
_FEWEST: Final = 1000


def per_share_of(statement: Statement) -> tuple[Number | None, Number | None]:
    """Basic profit per share, and the average number of shares it was made with."""
    return statement.first(concepts.PER_SHARE), statement.first(concepts.AVERAGE_COUNTS)


def bears_out(statement: Statement, profit: Number) -> bool:
    """Whether profit per share times the average number of shares comes to this amount, within its rounding."""
    per_share, shares = per_share_of(statement)
    if per_share is None or not shares:
        return False  # of a profit that is less than half a cent a share, nothing is what it rounds to
    # Half a cent, and half of the last digit that the average shows: half a thousandth of it at least.
    rounding = max(abs(Decimal(profit)), abs(Decimal(per_share)) * _last_digit(shares) * 1000)
    return abs(Decimal(per_share) * shares - profit) * 2000 <= 10 * shares + rounding


def _last_digit(shares: Number) -> int:
    """What one of the last digit that is shown stands for, as far as the zeros tell: nobody shows fewer than three."""
    worth = 1
    while shares >= _FEWEST * worth and shares % (10 * worth) == 0:
        worth *= 10
    return worth


def has_digits_of(statement: Statement, profit: Number) -> bool:
    """The same in whatever scale and with whatever sign: one of the two may have slipped, but its digits still tell
    apart the profits that a filing names. How far it is rounded is not known then."""
    if bears_out(statement, profit):
        return True
    low, high = sorted((concepts.size(made_of(statement)), concepts.size(profit)))
    scales = (1, *_POWERS) if made_of(statement) * profit < 0 else _POWERS
    return low > 0 and any(_is_rounded(statement, concepts.size(high - low * power), high) for power in scales)


def _is_rounded(statement: Statement, off: Number, profit: Number) -> bool:
    """Whether profit per share times shares may be so far off: by half a cent a share, a 400th at least and a 100th at
    most."""
    per_share = abs(Decimal(per_share_of(statement)[0] or 0))
    return off * 400 <= profit or (off * 100 <= profit and off * per_share * 200 <= profit)


def is_nearer(statement: Statement, one: Number, other: Number) -> bool:
    """Whether one of two profits is about what was divided among the shares, and the other one is clearly not: untagged
    preferred dividends, or what takes part beside the shares, keep a profit a little above it."""
    made, (per_share, _) = made_of(statement), per_share_of(statement)
    if not per_share or concepts.size(per_share) < _FINE_PER_SHARE or not made or made * one <= 0:
        return False
    off, far = concepts.size(one - made), concepts.size(other - made)
    return off * 100 <= concepts.size(one) * 2 and far > 4 * off


def is_told_by_neither(statement: Statement, one: Number, other: Number) -> bool:
    """Whether two profits lie so near to each other that cents a share bear out both."""
    return has_digits_of(statement, one) and has_digits_of(statement, other)


def is_what_was_divided(statement: Statement, profit: Number) -> bool:
    """Whether the shareholders' part comes to this amount, with preferred dividends or without."""
    preferred = statement.first(concepts.PREFERRED_DIVIDENDS) or 0
    common = statement.first(concepts.COMMON_PROFITS)
    told = common is not None and any(is_equal(common, profit - each) for each in (0, preferred))
    return told or has_digits_of(statement, profit) or has_digits_of(statement, profit - preferred)


def is_set_aside(statement: Statement, gap: Number) -> bool:
    """Whether preferred shares, and others that take part, have what lies between a profit and the common shares'."""
    names = (*concepts.PREFERRED_DIVIDENDS, *concepts.SET_ASIDE)
    told = {amount for name in names if (amount := statement.get(name)) is not None and amount > 0}
    return gap in {0, *told, *(one + other for one, other in combinations(told, 2))}


def divided_instead(statement: Statement, rest: Number) -> Number | None:
    """What was divided among the shares, where it is clearly less than a profit with which no tag reconciles it."""
    common, per_share = statement.first(concepts.COMMON_PROFITS), per_share_of(statement)[0] or 0
    if common is None and concepts.size(per_share) >= _FINE_PER_SHARE:
        common = made_of(statement)
    if not common or not has_digits_of(statement, common) or is_what_was_divided(statement, rest):
        return None
    return common if (rest - common) * 100 > concepts.size(rest) else None


def made_of(statement: Statement) -> int:
    """Profit per share times shares."""
    per_share, shares = per_share_of(statement)
    return int(Decimal(per_share or 0) * (shares or 0))
