"""What a filing says about a total without naming it: sums that come to it, and amounts it cannot be less than."""

from collections.abc import Iterable, Iterator
from typing import Final

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import are_close, is_equal, power_off, slip
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.statement import Statement
from tickyard.features.research.revenue.slices import dwarfs

SALES_PROOF: Final = "gross profit and cost of sales"
_CONTRACTS: Final = (concepts.CONTRACTS_NET, concepts.CONTRACTS_GROSS)
_OPERATING: Final = "operating income"
WITHOUT_GAINS: Final = "expenses and income before taxes, without what was gained beside operation,"
_WITHOUT_OTHERS: Final = "operating income and expenses, without a part in others' profits,"


def prove(statement: Statement, value: Number) -> str | None:
    """The words for a sum inside the filing that comes to this amount; None without one."""
    return next((words for words, total in sums_of(statement) if is_equal(total, value)), None)


def sums_of(statement: Statement) -> tuple[tuple[str, Number], ...]:
    """Amounts that the total may come to, with words for what they are the sum of."""
    if not statement.sums:
        statement.sums["all"] = tuple(_sums_of(statement))
    return statement.sums["all"]


def _sums_of(statement: Statement) -> Iterator[tuple[str, Number]]:
    get, first = statement.get, statement.first
    gross = first(concepts.GROSS_PROFITS)
    for cost in concepts.COSTS_OF_SALES:
        if gross is not None and (spent := get(cost)) is not None:
            yield SALES_PROOF, gross + spent
    operating, gains = get(concepts.OPERATING_INCOME), get(concepts.PROPERTY_GAINS)
    others, beside = get(concepts.OTHERS_PROFITS), get(concepts.BESIDE_OPERATION)
    for expense in concepts.EXPENSES:
        spent = get(expense)
        if spent is None:
            continue
        if operating is not None:
            yield "operating income and expenses", operating + spent
            if gains is not None:
                yield "operating income and expenses, without gains on property,", operating + spent - gains
            if others is not None:
                yield _WITHOUT_OTHERS, operating + spent - others
        left = first(concepts.PRETAX)
        if operating is None and left is not None and beside:
            yield WITHOUT_GAINS, left - beside + spent
        if expense != "us-gaap:OperatingExpenses":
            for pretax in concepts.PRETAX:
                if (profit := get(pretax)) is not None:
                    yield "income before taxes and expenses", profit + spent
    costs = get(concepts.OPERATING_COSTS)
    if operating is not None and costs is not None:
        yield "costs and income of operation", operating + costs
    interest, other = first(concepts.NET_INTEREST), get(concepts.OTHER_BANKING)
    if interest is not None and other is not None:
        yield "net interest and non-interest income", interest + other


def find_slip(statement: Statement, concept: str, value: Number, before: Statement | None) -> str | None:
    """What shows the number to be in a wrong scale: a sum of the same digits, or the year before."""
    last = before.get(concept) if before is not None else None
    for words, total in sums_of(statement):
        power = power_off(value, total)
        # Where the year before is of the same scale, the parts are in the wrong one.
        if power is not None and (last is None or not are_close(value, last)):
            return f"A slip: {words} give the same digits, {power} times off."
    if last is not None and value > 0 and (factor := slip(value, last)):
        return f"A slip: it is {factor} times off the year before in the same filing."
    return None


def net_of_excise(statement: Statement, value: Number, *, has_excise: bool) -> Number | None:
    """What remains of sales without the excise in them, when gross profit and cost of sales come to the same.

    Some tag the excise itself under a name of their own: then who is known to collect it has sold what those two make.
    """
    excise = statement.get(concepts.EXCISE)
    if excise is not None:
        is_proved = 0 < excise < value and prove(statement, value - excise) == SALES_PROOF
        return value - excise if is_proved else None
    sold = [total for words, total in sums_of(statement) if words == SALES_PROOF] if has_excise else []
    # Costs that stand beside the cost of sales, as those of services do, are spent and not collected for others.
    apart = {statement.get(name) for name in concepts.COSTS_APART}
    sold = [total for total in sold if value - total not in apart]
    # More than as much again is not what a maker of drinks or fuels collects, but another line of business.
    return max((total for total in sold if total < value < 2 * total), default=None)


def without_excise(statement: Statement, concept: str, value: Number, *, has_excise: bool) -> Number | None:
    """What a total may be without taxes collected for others. International standards know gross profit as what cost of
    sales leaves of revenue: there a clear difference is told, whether or not excise is."""
    if concept != concepts.IFRS_REVENUE:
        return net_of_excise(statement, value, has_excise=has_excise)
    rest = net_of_excise(statement, value, has_excise=True)
    return rest if rest is not None and rest * 102 < value * 100 else None


def is_before_interest(concept: str, value: Number, readable: Iterable[tuple[str, Number]]) -> bool:
    """Whether revenue after interest expense stands beside a proved total: then interest is among the expenses that
    prove it."""
    net = dict(readable).get(concepts.NET_OF_INTEREST)
    if concept != concepts.REVENUES or net is None:
        return False
    return 0 < net < value and not dwarfs(concept, value, concepts.NET_OF_INTEREST, net)


def total_above(
    statement: Statement, concept: str, value: Number, readable: Iterable[tuple[str, Number]]
) -> Number | None:
    """A total that stands above sales which gross profit proves: those between the filer's own segments are in
    it more often than other revenue. What is more by the excise, or is told with taxes, is neither."""
    if concept in concepts.TOTALS or value <= 0:
        return None
    gained, operating = statement.first(concepts.GROSS_PROFITS), statement.get(concepts.OPERATING_INCOME)
    spent = statement.get("us-gaap:OperatingExpenses")
    if gained is not None and operating is not None and spent is not None and is_equal(operating + spent, gained):
        return None  # the statement goes from these sales to operating income without other revenue
    known = (statement.get(concepts.EXCISE), statement.get(concepts.CONTRACTS_GROSS))
    above = [whole for name, whole in readable if name in concepts.TOTALS and value * 1005 < whole * 1000]
    return next((whole for whole in above if whole not in known and not _is_with(whole, value, known[0])), None)


def _is_with(whole: Number, value: Number, excise: Number | None) -> bool:
    return excise is not None and is_equal(whole - excise, value)


def is_outdone(statement: Statement, value: Number) -> bool:
    """Whether more came in as rent than a number that gross profit proves: what is sold beside that is a business on
    the side, with a cost of its own."""
    rent = max((amount for name in concepts.LEASES if (amount := statement.get(name)) is not None), default=0)
    return 0 < value < rent


def is_below_costs(statement: Statement, value: Number, *, is_with_taxes: bool) -> bool:
    """Whether more was spent on the goods sold, or left over, than this, or both are more together: possible with a
    gain beside the sales, but a larger number is likelier. Taxes that are collected for others pay for neither."""
    gained = statement.first(concepts.GROSS_PROFITS)
    if gained is not None and gained < 0:
        return False
    spent = max((amount for name in concepts.COSTS_OF_SALES if (amount := statement.get(name)) is not None), default=0)
    left = max(statement.get(concepts.OPERATING_INCOME) or 0, 0)
    return max(spent, left) > value or (not is_with_taxes and (spent + left) * 100 > value * 102)


def is_less_by_losses(statement: Statement, value: Number, premiums: Number) -> bool:
    """Whether an insurer's revenue is less than its premiums because it lost on investments: it tags as much, or what
    was left before taxes and spent comes to about the revenue. Where that is less than the premiums too, something was
    gained beside the revenue."""
    lost = max((-gain for name in concepts.INVESTMENT_GAINS if (gain := statement.get(name)) is not None), default=0)
    sums = (total for words, total in sums_of(statement) if words == "income before taxes and expenses")
    return premiums - value <= lost or any(
        concepts.size(total - value) * (10 if total < premiums else 50) <= value for total in sums
    )


def is_disproved(statement: Statement, value: Number) -> bool:
    """Whether it cannot be the total, alone or not: more was left over than that, or spent on the goods sold without a
    loss, or twice as much was left over and spent. Before taxes what was gained elsewhere is left over too."""
    operating, gained = statement.get(concepts.OPERATING_INCOME), statement.first(concepts.GROSS_PROFITS)
    if value <= 0 or (gained is not None and gained < 0):
        return False
    pretax, profit = statement.first(concepts.PRETAX), statement.first(concepts.NET_INCOME)
    if operating is None:
        return pretax is not None and profit is not None and min(pretax, profit) > value
    spent = [amount for name in concepts.COSTS_OF_SALES if (amount := statement.get(name)) is not None]
    both = _left_in_operation(statement)
    return operating > value or (operating > 0 and max(spent, default=0) > value) or max(both, default=0) > 2 * value


def is_beside_the_sum(statement: Statement, concept: str, value: Number, before: Statement | None) -> bool:
    """Whether clearly more was left over and spent than a number that may be a part. Beside contracts with customers a
    gain, or a part in others' profits, comes to a seventh at times. Where it was all of it in the year before, a gain
    or a write-down brings the sum off."""
    told = _left_in_operation(statement)
    if value <= 0 or not told or max(told) <= 0 or _was_total(before, concept, value):
        return False
    percent = 115 if concept in _CONTRACTS else 102
    return min(told) * 100 > value * percent and not _is_about_a_sum(statement, value)


def _left_in_operation(statement: Statement) -> list[Number]:
    """What others earned may stand below operating income: without it a sum proves, but refutes nothing."""
    return [total for words, total in sums_of(statement) if words.startswith(_OPERATING) and words != _WITHOUT_OTHERS]


def _is_about_a_sum(statement: Statement, value: Number) -> bool:
    """Whether some sum of the statement comes near: a line of a few thousandths stands under another name."""
    return any(concepts.size(total - value) * 200 <= value for _, total in sums_of(statement))


def is_less_than_before_taxes(statement: Statement, concept: str, value: Number, before: Statement | None) -> bool:
    """Whether clearly more was left before taxes and spent than a number that may be a part, where no operating income
    tells: that is all of an insurer's revenue. Of others more may be gained beside it, but hardly half as much again;
    beside rent, hardly a sixth. A landlord that pays no taxes tags no profit before them."""
    is_rent = concept in concepts.LEASES
    left = statement.first((*concepts.PRETAX, *concepts.WHOLE_PROFITS) if is_rent else concepts.PRETAX)
    is_told = statement.get(concepts.OPERATING_INCOME) is not None
    if value <= 0 or left is None or is_told or _was_total(before, concept, value):
        return False
    left -= max(statement.get(concepts.PROPERTY_GAINS) or 0, 0)
    room = 115 if is_rent else 150
    return any(
        (left + spent) * 100 > value * percent
        for name, percent in ((concepts.BENEFITS, 105), (concepts.ALL_COSTS, room))
        if (spent := statement.get(name)) is not None
    )


def left_and_spent(statement: Statement, concept: str, value: Number, before: Statement | None) -> Number | None:
    """What was left over and spent, where that is more than a number that may be a part: by a fiftieth in operation, or
    by a twentieth before taxes. The rest was gained beside it, or is revenue under another name."""
    if value <= 0 or concept in concepts.TOTALS or _was_total(before, concept, value):
        return None
    is_told = statement.get(concepts.OPERATING_INCOME) is not None
    before_taxes = [total for words, total in sums_of(statement) if words == "income before taxes and expenses"]
    sums, percent = (_left_in_operation(statement), 102) if is_told else (before_taxes, 105)
    more = [total for total in sums if total * 100 > value * percent]
    is_more = bool(more) and len(more) == len(sums) and not (is_told and _is_about_a_sum(statement, value))
    return min(more) if is_more else None


def left_of_more(statement: Statement, concept: str, value: Number, before: Statement | None) -> Number | None:
    """What was left over and spent, where a number that may be a part is clearly more and no cost of the goods sold is
    tagged: some cost stands under a name of the filer's own, or it is told before something was taken off it."""
    costs = statement.first((*concepts.GROSS_PROFITS, *concepts.COSTS_OF_SALES, *concepts.COSTS_APART))
    told = max(_left_in_operation(statement), default=0)
    if concept in concepts.TOTALS or costs is not None or _was_total(before, concept, value):
        return None
    is_more = told * 105 < value * 100 < told * 200 and not _is_about_a_sum(statement, value)
    return told if is_more else None


def is_less_than_left_abroad(statement: Statement, _: str, value: Number, __: Statement | None) -> bool:
    """Whether more was left, by two lines of a statement under international standards, than a number that may be a
    part: contracts of a landlord, or of a bank."""
    left = [amount for name in concepts.IFRS_LEFT if (amount := statement.get(name)) is not None]
    profit = statement.first(concepts.NET_INCOME)
    if len(left) == 1 and profit is not None:
        left.append(profit)
    return len(left) > 1 and min(left) > value > 0


def is_less_than_goods_cost(statement: Statement, concept: str, value: Number, before: Statement | None) -> bool:
    """Whether more was spent on the goods sold than a number that may be a part, and a profit was left all the same, by
    two lines at least: then other goods were sold too."""
    names = (*concepts.IFRS_LEFT, *concepts.PRETAX)
    left = [amount for name in names if (amount := statement.get(name)) is not None]
    profit, gained = statement.first(concepts.NET_INCOME), statement.first(concepts.GROSS_PROFITS)
    if value <= 0 or not left or profit is None or min(*left, profit) <= 0 or (gained is not None and gained < 0):
        return False
    spent = [amount for name in concepts.COSTS_OF_SALES if (amount := statement.get(name)) is not None]
    return max(spent, default=0) > value and not _was_total(before, concept, value)


def _was_total(before: Statement | None, concept: str, value: Number) -> bool:
    last = before.get(concept) if before is not None else None
    return before is not None and last is not None and are_close(value, last) and prove(before, last) is not None


def is_other_than(statement: Statement, value: Number, total: Number) -> bool:
    """Whether a number is not the total that stands beside it: less than that, or more than a total that is proved."""
    if total * 1000 > value * 1005:
        return prove(statement, value) is None
    return 0 < total * 1005 < value * 1000 and prove(statement, total) is not None


def has_sales(statement: Statement) -> bool:
    """Whether there is a cost of sales, or an operating loss: a bank has neither, and whose business is not lending
    earns its interest beside its revenue, not in it."""
    operating = statement.get(concepts.OPERATING_INCOME)
    is_losing = operating is not None and operating < 0
    return is_losing or statement.first((*concepts.GROSS_PROFITS, *concepts.COSTS_OF_SALES)) is not None
