"""The total among the numbers of one filing that are called revenue.

The statement itself tells which it is: what was left of it plus what was spent, or a bank's interest and other income.
Where no such sum can be made, a number that is smaller than one of its own parts is no total, and the best concept of
the rest is taken.
"""

from collections.abc import Iterable

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import are_close
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.facts import (
    unread,
)
from tickyard.features.research.filed.statement import Statement
from tickyard.features.research.revenue.interest import income_abroad, is_less_than_banking
from tickyard.features.research.revenue.parts import OFF_SCALE, Trial, less_excise, made_of_parts, sum_of_parts
from tickyard.features.research.revenue.proofs import (
    SALES_PROOF,
    find_slip,
    has_sales,
    is_before_interest,
    is_below_costs,
    is_beside_the_sum,
    is_disproved,
    is_less_by_losses,
    is_less_than_before_taxes,
    is_less_than_goods_cost,
    is_less_than_left_abroad,
    is_outdone,
    left_and_spent,
    net_of_excise,
    prove,
    sums_of,
    total_above,
)
from tickyard.features.research.revenue.remarks import TOTAL_ABOVE, remarks_on
from tickyard.features.research.revenue.slices import dwarfs, is_margin, is_nothing_sold
from tickyard.sources.filings.border import Entry

Readable = list[tuple[str, Number]]

_SAME_BUSINESS = 3
_SALES = (concepts.SALES, concepts.GOODS, concepts.CONTRACTS_GROSS)
_CONTRACTS = (concepts.CONTRACTS_NET, concepts.IFRS_CONTRACTS)
_COSTS = "Less than was spent on the goods sold, or left over: the larger number beside it is likelier the total."
_DISPROVED = "A slice: more was left over, or with what was spent twice as much, than this."
_NOTHING_SOLD = "No revenue: what was lost in operation is all that was spent."
_BESIDE_THE_SUM = "No total: what was left over and spent comes to another amount."
_MARGIN = "A margin: far more than interest is taken off it."
_BEFORE_INCOME = "Before interest, fees or losses on loans: the income of the statement stands beside it."
_INTEREST = "Interest of a comparable size lies outside it, so it is only a part of revenue."
_ONE_BUSINESS = "One business of several, unless something else in the filing comes to it."
ONLY_A_PART = "revenue: only a part of it is reported"
_NO_SALES = "revenue: the loss in operation of the year ended {end} is all that was spent, so nothing was sold."
_PART_OF_TOTAL = ONLY_A_PART + " for the year ended {end}, the total is not."


def try_total(statement: Statement, sliced: frozenset[str], before: Statement | None, *, has_excise: bool) -> Trial:
    rows = [(concept, statement.rows[concept]) for concept in concepts.REVENUE if concept in statement.rows]
    if not rows:
        return sum_of_parts(statement, {}, before) or Trial(None, "", (), {})
    end, losers = statement.end, {}
    readable = [(concept, row.value) for concept, row in rows if row.value is not None]
    losers.update(
        {
            concept: "Its amount could not be read or is given more than once."
            for concept, row in rows
            if row.value is None
        }
    )
    if (rows[0][1].value is None and rows[0][0] in concepts.TOTALS) or not readable:
        losers |= _left(rows, losers, "The total could not be read or is given more than once.")
        return Trial(None, "", (unread("revenue", end),), losers, is_final=True)
    losers |= {concept: _MARGIN for concept, _ in readable if is_margin(statement, concept)}
    readable = [each for each in readable if each[0] not in losers]
    if (trial := _borne_out(statement, readable, losers)) is not None:
        return trial
    if (net := _less_taxes(statement, readable, has_excise=has_excise)) is not None:
        losers |= _left(rows, losers, "It includes taxes collected for others.")
        return less_excise(statement, *net, losers)
    standing, is_odd = _sift(statement, readable, sliced, before, losers)
    if is_odd and standing:
        # What stands beside the total is not the total because the total slipped.
        losers |= _left(rows, losers, "The better concept of the filing is in a wrong scale.")
        return Trial(None, "", (OFF_SCALE.format(end=end),), losers)
    if standing and min(value for _, value in standing) < -max(value for _, value in standing):
        standing.sort(key=lambda each: each[1])
    if standing and standing[0][1] < 0:
        note = f"revenue: the amount filed for the year ended {end} is negative and was not believed."
        losers[standing[0][0]] = "Negative, and nothing else in the filing bears it out."
        losers |= _left(rows, losers, "A better concept contradicts it.")
        return Trial(None, "", (note,), losers, is_final=True)
    if standing and left_and_spent(statement, *standing[0], before) is not None:
        parts = sum_of_parts(statement, losers, before)
        if parts is not None and parts.chosen is not None and concepts.OTHER_BANKING not in parts.chosen[0]:
            return parts  # something proves them together, and not the one alone
    if standing:
        return _best_of(statement, standing, losers, before, has_excise=has_excise)
    is_none_sold = _NOTHING_SOLD in losers.values()
    reason = (OFF_SCALE if is_odd else _NO_SALES if is_none_sold else _PART_OF_TOTAL).format(end=end)
    return sum_of_parts(statement, losers, before) or Trial(None, "", (reason,), losers)


def _borne_out(statement: Statement, readable: Readable, losers: dict[str, str]) -> Trial | None:
    """The total that other lines of the statement come to as well, if there is one."""
    proved = [
        (concept, value, proof)
        for concept, value in readable
        if (proof := prove(statement, value) or made_of_parts(statement, concept, value))
    ]
    proved = [each for each in proved if each[2] != SALES_PROOF or not is_outdone(statement, each[1])]
    # A bank's segments may be told by rules of their own, with what was spent and left by those.
    proved = [each for each in proved if not is_less_than_banking(statement, each[1])]
    if proved and not is_before_interest(*proved[0][:2], readable):
        concept, value, proof = proved[0]
        for other, amount in readable:
            losers.setdefault(other, _beside(other, amount, concept, value))
        trial = _win(statement, concept, value, f"The total: {proof} give the same amount.", losers)
        trial.is_proved = True
        if proof == SALES_PROOF and (whole := total_above(statement, concept, value, readable)) is not None:
            trial.notes += (TOTAL_ABOVE.format(whole=whole),)
        return trial
    return None


def _less_taxes(statement: Statement, readable: Readable, *, has_excise: bool) -> tuple[str, Number] | None:
    """The first of the sales that is told with taxes collected for others, and what is left without them."""
    # The whole of revenue is what the filer says it is; sales are without what is collected for others.
    # Under the most general name more may be sold than has a cost of sales: there the excise itself must be told.
    nets = (
        (concept, net_of_excise(statement, value, has_excise=has_excise and concept != concepts.SALES))
        for concept, value in readable
        if concept in _SALES
    )
    return next(((concept, rest) for concept, rest in nets if rest), None)


def _sift(
    statement: Statement, readable: Readable, sliced: frozenset[str], before: Statement | None, losers: dict[str, str]
) -> tuple[Readable, bool]:
    """What nothing contradicts, and whether something stands in a wrong scale."""
    standing: Readable = []
    is_odd = False
    for concept, value in readable:
        slipped = find_slip(statement, concept, value, before)
        is_odd |= slipped is not None
        trouble = slipped or _trouble(statement, concept, value, sliced)
        is_refuted = is_disproved(statement, value) and not _is_year_of_gains(
            statement, concept, value, before, readable
        )
        if trouble is None and income_abroad(statement, concept, value) is not None:
            trouble = _BEFORE_INCOME
        if trouble is None and is_refuted:
            trouble = _DISPROVED
        if trouble is None and is_nothing_sold(statement, value):
            trouble = _NOTHING_SOLD
        if trouble is None and concept not in concepts.TOTALS and _is_beside(statement, concept, value, before):
            trouble = _BESIDE_THE_SUM
        if trouble is None:
            standing.append((concept, value))
        else:
            losers[concept] = trouble
    return standing, is_odd


def _is_year_of_gains(
    statement: Statement, concept: str, value: Number, before: Statement | None, readable: Readable
) -> bool:
    """Whether more was left than this total because of something that is no revenue, such as a sale of buildings: the
    same name told about as much in the year before, when less than half of it was left, and nothing larger stands
    beside it."""
    last = before.get(concept) if before is not None else None
    if concept not in concepts.TOTALS or before is None or last is None or max(other for _, other in readable) > value:
        return False
    spent = statement.get(concepts.ALL_COSTS)
    if spent is not None and spent > 2 * value:
        return False  # a slice of what costs so much
    profit = before.first(concepts.NET_INCOME)
    is_alike = 0 < value <= _SAME_BUSINESS * last and last <= _SAME_BUSINESS * value
    return is_alike and profit is not None and 2 * profit <= last and not is_disproved(before, last)


def _is_beside(statement: Statement, concept: str, value: Number, before: Statement | None) -> bool:
    beside = (is_beside_the_sum, is_less_than_before_taxes, is_less_than_left_abroad, is_less_than_goods_cost)
    return any(each(statement, concept, value, before) for each in beside)


def _best_of(
    statement: Statement, standing: Readable, losers: dict[str, str], before: Statement | None, *, has_excise: bool
) -> Trial:
    """One of those that stand."""
    more = max((each for name, each in standing if name in _CONTRACTS), default=0)
    names = {name for name, _ in standing}
    is_with_taxes = concepts.CONTRACTS_GROSS in names and names.isdisjoint(_CONTRACTS)
    likely = [each for each in standing if not is_below_costs(statement, each[1], is_with_taxes=is_with_taxes)]
    if likely:
        losers |= _left(((each, statement.rows[each]) for each, _ in standing if (each, _) not in likely), {}, _COSTS)
        standing = likely
    concept, value = standing[0]
    for other, larger in standing[1:]:
        if dwarfs(other, larger, concept, value) and not _was_told(before, concept, value, other):
            losers[concept] = f"A slice: {concepts.short(other)} of the same filing is far larger."
            concept, value = other, larger
    for other, amount in standing:
        losers.setdefault(other, _beside(other, amount, concept, value))
    if concept in concepts.TOTALS:
        # Interest need not be in that total: only that it is larger is known.
        parts = {other: statement.get(other) for other, reason in losers.items() if reason == _INTEREST}
        losers |= {other: _beside(other, part, concept, value) for other, part in parts.items() if part is not None}
    trial = _win(statement, concept, value, "The best concept of the filing that no part contradicts.", losers)
    trial.notes = remarks_on(statement, concept, value, before, contracts=more, has_excise=has_excise)
    return trial


def _was_told(before: Statement | None, concept: str, value: Number, larger: str) -> bool:
    """Whether the year before bears a total abroad out and knows nothing of the larger number: by those standards
    contracts are in the total, so what is more is a table of another kind."""
    last = before.get(concept) if before is not None and larger not in before.values else None
    return concept == concepts.IFRS_REVENUE and last is not None and are_close(value, last)


def _win(statement: Statement, concept: str, value: Number, why: str, losers: dict[str, str]) -> Trial:
    losers.pop(concept, None)
    return Trial((concept, statement.rows[concept], value), why, (), losers)


def _trouble(statement: Statement, concept: str, value: Number, sliced: frozenset[str]) -> str | None:
    """Why this cannot be the total; None when nothing speaks against it."""
    if value < 0:
        return None
    for part in concepts.PARTS:
        amount = statement.get(part)
        if (
            part != concept
            and amount is not None
            and amount * 1000 > value * 1001
            and not _is_outside(statement, part, value)
            and not (part == concepts.PREMIUMS and is_less_by_losses(statement, value, amount))
        ):
            return f"Smaller than {concepts.short(part)}, a part of revenue, so it is no total."
    interest = statement.first(concepts.NET_INTEREST)
    if is_less_than_banking(statement, value):
        return "Smaller than net interest and non-interest income together, so it is no total."
    sold = next((total for words, total in sums_of(statement) if words == SALES_PROOF), None)
    # What is taken in beside the sales, such as royalties, is in a gross profit too: it is less than a tenth of them.
    if sold is not None and (value * 2 < sold or (concept not in concepts.TOTALS and value * 11 < sold * 10)):
        return "Smaller than gross profit and cost of sales together, so it is no total."
    if concept in concepts.TOTALS:
        return None
    if concept in concepts.ONE_BUSINESS:
        return _ONE_BUSINESS
    # Before what it costs a lender, where that is all it tags: as far outside contracts as net interest.
    interest = interest if interest is not None else statement.first(concepts.GROSS_INTEREST)
    is_outside = not has_sales(statement) and concept != concepts.INVESTMENTS
    if is_outside and interest is not None and interest * 4 >= value:
        return _INTEREST
    if concept in sliced:
        return "It was not the total where this filer tagged both."
    for part, beside in concepts.COUNTERPARTS:
        amount = statement.get(beside)
        # Hedges and the like may be tagged apart although the filer calls its total contracts, and a landlord's fees
        # although rent is its revenue: those are little.
        least = 10 if beside in concepts.OUTSIDE_CONTRACTS else 20 if part in concepts.LEASES else 100
        if concept == part and amount is not None and amount * least > value:
            return f"A part: {concepts.short(beside)} stands beside it, and no total."
    return None


def _is_outside(statement: Statement, part: str, value: Number) -> bool:
    """Whether interest stands beside this revenue and not in it: where goods are sold, or nothing at all and the
    filer is no bank."""
    is_idle = (
        value == 0
        and statement.get(concepts.OTHER_BANKING) is None
        and (statement.first(concepts.NET_INCOME) or 0) <= 0
    )
    return part in concepts.NET_INTEREST and (is_idle or has_sales(statement))


def _beside(other: str, amount: Number, concept: str, value: Number) -> str:
    if amount == value:
        return f"The same amount; {concepts.short(concept)} is the better name for it."
    if other == concepts.CONTRACTS_GROSS and amount > value:
        return "It includes taxes collected for others."
    if amount < value:
        return f"A part of the total that stands under {concepts.short(concept)}."
    return f"Not the total of the statement, which stands under {concepts.short(concept)}."


def _left(rows: Iterable[tuple[str, Entry]], losers: dict[str, str], reason: str) -> dict[str, str]:
    return {concept: reason for concept, _ in rows if concept not in losers}
