"""What speaks for another profit than the one tagged as the owners', though not so clearly that it is refuted."""

from decimal import Decimal
from typing import Final

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import are_alike, is_equal, power_off, slip
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.statement import Statement
from tickyard.features.research.income.divided import bears_out, has_digits_of
from tickyard.features.research.income.minority import minority_of

_LEAST: Final = Decimal("0.05")
_MORE_DIVIDED: Final = (
    "netIncome: divided among the shares was {divided}, more than that, as when preferred shares were taken back at a "
    "gain, or when the amount is that of continuing operations."
)
_OPPOSITE: Final = "netIncome: the filing tells the same amount with the opposite sign as the profit of all owners."
_NO_MINORITY: Final = (
    "netIncome: the filing tells {whole} as the profit of all owners, and no minority owners who have the rest."
)


def left_where_outdone(statement: Statement, owners: Number) -> Number | None:
    """What the minority leaves of the whole profit, where clearly more was divided among the shares than is tagged as
    the owners' part, and it could be paid of that: nobody divides more than there was."""
    whole, common = statement.first(concepts.WHOLE_PROFITS), statement.first(concepts.COMMON_PROFITS)
    if whole is None or common is None or not _is_more(common, owners) or not _is_divided(statement, common):
        return None
    rest = whole - (minority_of(statement, whole) or 0)
    is_paid = are_alike(rest, common) and rest * 100 >= common * 98 and not is_equal(rest, owners)
    # What has another sign, or its digits in another scale, is refuted and not replaced.
    has_slipped = owners * common < 0 or slip(owners, rest) is not None or power_off(owners, rest) is not None
    return rest if is_paid and not has_slipped else None


def unexplained(statement: Statement, owners: Number | None) -> str | None:
    """What must be said of the owners' part because of another profit beside it, that nothing leads to."""
    whole, common = statement.first(concepts.WHOLE_PROFITS), statement.first(concepts.COMMON_PROFITS)
    if owners is None:
        return None
    preferred = statement.first(concepts.PREFERRED_DIVIDENDS) or 0
    if common is not None and _is_more(common, owners) and not is_equal(owners - preferred, common):
        return _MORE_DIVIDED.format(divided=common) if _is_divided(statement, common) else None
    if whole is None or not owners or bears_out(statement, owners):
        return None if whole is None or owners or not whole else _NO_MINORITY.format(whole=whole)
    if whole == -owners:
        return _OPPOSITE
    is_far = concepts.size(whole - owners) * 10 > 3 * max(concepts.size(whole), concepts.size(owners))
    has_minority = minority_of(statement) is not None or any(statement.get(name) for name in concepts.MINORITY_SIGNS)
    return _NO_MINORITY.format(whole=whole) if is_far and not has_minority else None


def _is_divided(statement: Statement, common: Number) -> bool:
    """Whether profit per share makes this amount. Of a few cents little more than their rounding is left."""
    per_share = statement.first(concepts.PER_SHARE)
    return per_share is not None and concepts.size(per_share) >= _LEAST and has_digits_of(statement, common)


def _is_more(common: Number, owners: Number) -> bool:
    """By a tenth."""
    return (common - owners) * 10 > concepts.size(common)
