"""What a lender's revenue is after what interest cost it, as far as its filing tells."""

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import is_equal
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.statement import Statement
from tickyard.features.research.revenue.proofs import has_sales

_MOST_BEFORE = 4
"""Whose income is less than a quarter of its revenue lends in a house of another trade."""


def after_interest(statement: Statement, value: Number) -> Number | None:
    """What a lender's total before interest expense is after it; None when it is not that."""
    gross, net = statement.first(concepts.GROSS_INTEREST), statement.first(concepts.NET_INTEREST)
    other = statement.get(concepts.OTHER_BANKING)
    if gross is None or net is None or other is None or net >= gross or not is_equal(gross + other, value):
        return None
    return net + other


def banking_income(statement: Statement, value: Number) -> Number | None:
    """What net interest and other income make, where a bank's total is clearly more than both and nothing tells why."""
    net, other = statement.first(concepts.NET_INTEREST), statement.get(concepts.OTHER_BANKING)
    if net is None or other is None or net <= 0 or has_sales(statement):
        return None
    return net + other if 0 < (net + other) * 105 < value * 100 else None


def without_interest_abroad(statement: Statement, concept: str, value: Number) -> Number | None:
    """A foreign lender's total without what interest cost it, where the gross interest that is tagged is in the total
    and some of it was spent."""
    gross, net = statement.first(concepts.GROSS_INTEREST), statement.first(concepts.NET_INTEREST)
    if concept not in (concepts.IFRS_REVENUE, concepts.IFRS_WITH_OTHER) or gross is None or net is None:
        return None
    spent = gross - net
    return value - spent if 0 < gross <= value < 20 * spent and 2 * gross > value else None


def is_less_than_banking(statement: Statement, value: Number) -> bool:
    """Whether a bank's net interest and other income together are clearly more."""
    net, other = statement.first(concepts.NET_INTEREST), statement.get(concepts.OTHER_BANKING)
    return net is not None and net > 0 and other is not None and (net + other) * 98 > value * 100


def income_abroad(statement: Statement, concept: str, value: Number) -> Number | None:
    """What is left of a foreign lender's revenue when interest, fees or losses on loans were taken off it: it tags the
    income of its statement apart, which holds its net interest and is less."""
    income, net = statement.get(concepts.IFRS_WITH_OTHER), statement.first(concepts.NET_INTEREST)
    if concept != concepts.IFRS_REVENUE or income is None or net is None or has_sales(statement):
        return None
    return income if 0 < net <= income < value <= _MOST_BEFORE * income else None


def gross_income(statement: Statement) -> Number | None:
    """A foreign lender's gross profit, where it tags neither a total nor a cost of sales: its net interest is in it,
    and what it earned besides."""
    net, gross = statement.get(concepts.NET_INTEREST[1]), statement.get(concepts.GROSS_PROFITS[1])
    is_sold = statement.first(concepts.COSTS_OF_SALES) is not None
    return gross if net is not None and gross is not None and 0 < net <= gross < 4 * net and not is_sold else None
