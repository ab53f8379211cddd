"""Which of two numbers of one filing is only a slice of what the other one stands for."""

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.statement import Statement

# Interest that is spent, paid, and taken off are not quite the same.
_TIMES_INTEREST = 2


def dwarfs(larger_concept: str, larger: Number, concept: str, value: Number) -> bool:
    """Whether one concept is so much larger than another of the same filing that the other is only a slice of it.

    Twice as much is more than rounding, hedges, other income or rebates explain. Contract revenue with and without
    assessed tax is a pair apart: excise alone can be several times the net (tobacco). Interest may take more than half
    of a broker's revenue, but hardly three quarters: what is left of more is that of a lender in the house. Contracts
    are a part of revenue after interest by definition.
    """
    if concept == concepts.NET_OF_INTEREST:
        return larger > (4 if larger_concept in concepts.TOTALS else 2) * value
    if larger_concept == concepts.NET_OF_INTEREST and concept not in concepts.TOTALS:
        return larger > value
    if larger_concept == concepts.REGULATED and concept == concepts.REVENUES:
        return larger > value
    if larger_concept == concepts.CONTRACTS_GROSS and concept == concepts.CONTRACTS_NET:
        return larger > 5 * value
    return larger > 2 * value


def is_nothing_sold(statement: Statement, value: Number) -> bool:
    """Whether what was lost in operation is all that was spent there, and nothing tells of goods that were sold: then a
    number that stands under a name of revenue is of a note, unless the loss of the year knows of it."""
    lost, profit = statement.get(concepts.OPERATING_INCOME), statement.first(concepts.NET_INCOME)
    spent = next((each for name in concepts.EXPENSES if (each := statement.get(name)) is not None), None)
    sold = (*concepts.GROSS_PROFITS, *concepts.COSTS_OF_SALES, *concepts.COSTS_APART)
    if lost is None or lost >= 0 or lost + (spent or 0) != 0 or value <= 0 or statement.first(sold) is not None:
        return False
    return profit is None or concepts.size(profit - lost - value) * 50 > value


def is_margin(statement: Statement, concept: str) -> bool:
    """Whether what is tagged as revenue after interest expense is what losses on loans left of it too: several times
    the interest that the filing tells is taken off its revenue."""
    whole, net = statement.get(concepts.REVENUES), statement.get(concepts.NET_OF_INTEREST)
    spent = max((amount for name in concepts.INTEREST_SPENT if (amount := statement.get(name)) is not None), default=0)
    if concept != concepts.NET_OF_INTEREST or whole is None or net is None:
        return False
    return 0 < spent * _TIMES_INTEREST < whole - net
