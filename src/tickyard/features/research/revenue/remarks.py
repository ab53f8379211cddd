"""What must be said beside a number that is taken for revenue, though nothing proves it and nothing refutes it."""

from tickyard.features.research.filed import concepts, costs
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.statement import Statement
from tickyard.features.research.revenue.interest import (
    after_interest,
    banking_income,
    income_abroad,
    without_interest_abroad,
)
from tickyard.features.research.revenue.proofs import (
    WITHOUT_GAINS,
    is_less_than_left_abroad,
    left_and_spent,
    left_of_more,
    sums_of,
    without_excise,
)

_WITH_EXCISE = "revenue may include excise: gross profit and cost of sales make {rest} without it."
_BEFORE_INTEREST = "revenue is before interest expense: net interest and non-interest income make {rest}."
_MAYBE_BEFORE_INTEREST = (
    "revenue may be before interest expense: net interest and non-interest income make {rest}, which is less."
)
_BEFORE_INTEREST_ABROAD = "revenue is before interest expense: without what interest cost it is {rest}."
_LESS_THAN_CONTRACTS = (
    "revenue may be only a part: contracts with customers are {more}, unless those are told before something is taken "
    "off them."
)
_BESIDE = (
    "revenue may be only a part: what was left over and spent makes {rest}, of which the rest was gained beside it or "
    "stands under another name."
)
_LEFT_OF_MORE = (
    "revenue may be told before something was taken off it: what was left over and spent makes {rest}, unless a cost "
    "stands under another name."
)
_FAR_LESS = (
    "revenue may be another amount: operating income and all costs of the same filing make {rest}, less than half of "
    "it, unless costs stand under another name."
)
TOTAL_ABOVE = (
    "revenue may be without other revenue: the filing tags a total of {whole}, unless sales between its own segments "
    "are in that."
)
_LESS_THAN_LEFT = (
    "revenue may be only a part: more was left of all income than this, as when investments gained in value or "
    "interest is not in it."
)
_WITH_FAR_MORE = (
    "revenue may be only a part: the filing tags {more} as revenue with other income, as when what was earned on "
    "investments or loans stands apart."
)
_RENT = "revenue is rent: contracts with customers of {fees} stand beside it, unless they are no part of revenue."
_CROSSED = "revenue may include other income: the filing tags {less} as what should be revenue with other income."
_LEFT_ABROAD = "revenue is what is left of {more}, tagged as revenue too, after interest, fees or losses on loans."
_REMARKS = {
    concepts.IFRS_WITH_OTHER: ("revenue includes other income: the filing tags no narrower total.",),
    concepts.IFRS_INSURANCE: ("revenue is that of insurance: what investments earned is not in it.",),
}


def remarks_on(
    statement: Statement,
    concept: str,
    value: Number,
    before: Statement | None,
    *,
    contracts: Number,
    has_excise: bool,
) -> tuple[str, ...]:
    """`contracts`: the largest amount of contracts with customers that stands beside it."""
    rest = without_excise(statement, concept, value, has_excise=has_excise)
    notes: tuple[str, ...] = (_WITH_EXCISE.format(rest=rest),) if rest else _REMARKS.get(concept, ())
    if (after := after_interest(statement, value)) is not None:
        notes = (_BEFORE_INTEREST.format(rest=after),)
    elif (after := banking_income(statement, value)) is not None:
        notes = (_MAYBE_BEFORE_INTEREST.format(rest=after),)
    elif (more := _before_income(statement, concept, value)) is not None:
        notes = (_LEFT_ABROAD.format(more=more),)
    elif (after := without_interest_abroad(statement, concept, value)) is not None:
        notes = (_BEFORE_INTEREST_ABROAD.format(rest=after),)
    # Hedges that lost may bring a total a little below its contracts.
    if concept in concepts.TOTALS and contracts * 10 > value * 11:
        notes += (_LESS_THAN_CONTRACTS.format(more=contracts),)
    if concept in concepts.LEASES:
        notes += _beside_rent(statement, value)
    return notes + _on_parts(statement, concept, value, before)


def _before_income(statement: Statement, concept: str, value: Number) -> Number | None:
    """What a foreign lender tags as revenue beside the income of its statement, if that is what was taken."""
    more = statement.get(concepts.IFRS_REVENUE)
    if concept != concepts.IFRS_WITH_OTHER or more is None:
        return None
    return more if income_abroad(statement, concepts.IFRS_REVENUE, more) == value else None


def _beside_rent(statement: Statement, value: Number) -> tuple[str, ...]:
    fees = statement.first((concepts.CONTRACTS_NET, concepts.CONTRACTS_GROSS))
    return (_RENT.format(fees=fees),) if fees is not None and fees * 100 > value else ()


def _on_parts(statement: Statement, concept: str, value: Number, before: Statement | None) -> tuple[str, ...]:
    """What must be said of a number that nothing refutes, but of which more seems to have come in."""
    if (rest := left_and_spent(statement, concept, value, before)) is not None:
        return (_BESIDE.format(rest=rest),)
    if (rest := _left_in_operation(statement, concept, value)) is not None:
        return (_BESIDE.format(rest=rest),)
    if (rest := left_of_more(statement, concept, value, before)) is not None:
        return (_LEFT_OF_MORE.format(rest=rest),)
    less = statement.get(concepts.IFRS_WITH_OTHER)
    if concept == concepts.IFRS_REVENUE and less is not None and value * 100 < less * 200 < value * 199:
        return (_CROSSED.format(less=less),)
    if concept == concepts.IFRS_REVENUE and less is not None and less * 5 > value * 6:
        return (_WITH_FAR_MORE.format(more=less),)
    if is_less_than_left_abroad(statement, concept, value, before):
        return (_LESS_THAN_LEFT,)
    return _on_costs(statement, value)


def _on_costs(statement: Statement, value: Number) -> tuple[str, ...]:
    """What operating income and all costs make, where that is less than half; or what was left and spent by the names
    of a trade, or abroad, where that is over a tenth more."""
    operating, spent = statement.get(concepts.OPERATING_INCOME), statement.get(concepts.ALL_COSTS)
    is_all = statement.first((*concepts.COSTS_OF_SALES, *concepts.COSTS_APART)) is None
    if is_all and operating is not None and spent is not None:
        rest = max(total for _, total in sums_of(statement))
        if 0 < 2 * rest < value:
            return (_FAR_LESS.format(rest=rest),)
    provision = statement.first(costs.PROVISIONS) or 0
    ways = (
        ((concepts.OPERATING_INCOME,), costs.UTILITY_COSTS, 0),
        (concepts.PRETAX, costs.BANK_COSTS, provision),
        (concepts.IFRS_LEFT, costs.IFRS_COSTS, 0),
    )
    made = [
        left + cost + more
        for names, name, more in ways
        for each in names
        if (left := statement.get(each)) is not None and (cost := statement.get(name)) is not None
    ]
    return (_BESIDE.format(rest=min(made)),) if made and 0 < value * 11 < min(made) * 10 else ()


def _left_in_operation(statement: Statement, concept: str, value: Number) -> Number | None:
    """What was left before taxes and spent, without what was gained beside operation, where that is over a twentieth
    more than a total, and no operating income tells better: segments have totals too."""
    told = (total for words, total in sums_of(statement) if words == WITHOUT_GAINS)
    rest = max(told, default=0)
    return rest if concept in concepts.TOTALS and 0 < value * 105 < rest * 100 else None
