"""Revenue: the newest whole year, the newest filing of it, and in that filing the total.

A filing carries many numbers that are called revenue; `total` finds the one that is. Here filings are held against
each other, and against the years around them.
"""

from datetime import date
from itertools import chain

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.facts import (
    OF_ANOTHER,
    Candidate,
    Figure,
    candidate,
    fact_of,
    same_year_elsewhere,
    unheard,
    year_to_answer,
)
from tickyard.features.research.filed.statement import Statement, Years
from tickyard.features.research.filed.tens import TENS, grown_tenfold, repeated_tenfold
from tickyard.features.research.income.profits import WRONG_SCALE, is_off_scale
from tickyard.features.research.revenue.parts import OFF_SCALE, Trial
from tickyard.features.research.revenue.proofs import (
    is_other_than,
)
from tickyard.features.research.revenue.total import try_total

# A bank may tag nothing but the two parts that make its revenue.
_NAMED = (*concepts.REVENUE, concepts.OTHER_BANKING)
# Others may tag nothing but what was left of it and what was spent.
REVENUE_WANTED = (*_NAMED, *concepts.GROSS_PROFITS, concepts.OPERATING_INCOME)
_ALL = frozenset(concepts.REVENUE)
_NOT_REPORTED = "revenue: not reported as a standard concept for the year ended {end}."


def choose_revenue(years: Years, today: date) -> Figure:
    end, refusal = year_to_answer(years, _NAMED, "revenue", today)
    if end is not None:
        return revenue_of(years, end)
    newest, _ = year_to_answer(years, concepts.NET_INCOME, "revenue", today)
    unnamed = revenue_of(years, newest) if newest is not None else refusal
    return unnamed if unnamed.fact is not None else refusal


def revenue_of(years: Years, end: date) -> Figure:
    """The revenue of the year that ends on this day."""
    statements = years.statements(REVENUE_WANTED, end)
    sliced = _sliced_elsewhere(years, statements, end)
    judged: list[Candidate] = []
    refusal: tuple[str, ...] = ()
    for place, statement in enumerate(statements):
        trial = _judge(years, statement, sliced)
        whole = next((each for each in statements[place:] if statement.is_slight_beside(each)), None)
        reason = _oddity(statement, trial, whole, _judge(years, whole, sliced)) if whole is not None else None
        if any(statement.is_of_another(each) for each in statements[place:]):
            reason = OF_ANOTHER
        if reason is not None:
            trial = _refused(statement, reason, ())
        judged += _candidates(statement, trial)
        if trial.chosen is not None:
            concept, row, value = trial.chosen
            earlier = "An earlier filing of the same year: the newest one is taken."
            judged += same_year_elsewhere(concepts.REVENUE, statements[place + 1 :], earlier)
            return Figure(fact_of(years, concept, row, value), trial.notes, tuple(judged))
        refusal = refusal or trial.notes
        if trial.is_final:
            break
    return Figure(None, refusal or (_NOT_REPORTED.format(end=end),), tuple(judged))


def _judge(years: Years, statement: Statement, sliced: frozenset[str]) -> Trial:
    if is_off_scale(years, statement):
        return _refused(statement, WRONG_SCALE, (OFF_SCALE.format(end=statement.end),))
    trial = try_total(statement, sliced, years.before(statement, REVENUE_WANTED), has_excise=years.has_excise)
    if trial.chosen is None or trial.is_proved:
        return trial
    parts = [(name, amount) for name in trial.chosen[0].split(" + ") if (amount := statement.get(name)) is not None]
    for name, amount in parts:
        power = repeated_tenfold(years, statement, name, amount) or grown_tenfold(years, statement, name, amount)
        if power:
            return _refused(statement, TENS.format(power=power), (OFF_SCALE.format(end=statement.end),))
    return trial


def _refused(statement: Statement, reason: str, notes: tuple[str, ...]) -> Trial:
    return Trial(None, "", notes, {concept: reason for concept in concepts.REVENUE if concept in statement.rows})


def _oddity(statement: Statement, trial: Trial, whole: Statement, other: Trial) -> str | None:
    """Why what a filing tells in passing is not heard beside a whole statement of the year."""
    if trial.chosen is None or other.chosen is None:
        return None
    lines = (amount for name, amount in whole.values.items() if name in _ALL)
    return unheard(statement, trial.chosen[2], other.chosen[2], lines)


def _sliced_elsewhere(years: Years, statements: list[Statement], end: date) -> frozenset[str]:
    """Concepts that were not the total within one other filing: of the same year, or of the year before.

    Only concepts that may be a part are meant, and only what one filing says of one year is compared.
    """
    before = [other for other in years.ends(concepts.REVENUE) if other < end][:1]
    # The filing that tags no total tags none for the year before either: an earlier one may have done both.
    told = (years.statements(concepts.REVENUE, year) for year in before)
    nearby = [*statements, *(each for each in chain.from_iterable(told) if not concepts.TOTALS.isdisjoint(each.rows))]
    found = set()
    for statement in nearby:
        known = [(concept, value) for concept, value in statement.values.items() if concept in _ALL]
        for total, whole in known if len(known) > 1 else ():
            if total in concepts.TOTALS:
                found |= {
                    concept
                    for concept, value in known
                    if concept not in concepts.TOTALS and value >= 0 and is_other_than(statement, value, whole)
                }
    return frozenset(found)


def _candidates(statement: Statement, trial: Trial) -> list[Candidate]:
    found = []
    if trial.chosen is not None:
        concept, row, _ = trial.chosen
        found.append(candidate(concept, statement.unit, row, trial.why, is_chosen=True))
    return found + [
        candidate(concept, statement.unit, statement.rows[concept], reason) for concept, reason in trial.losers.items()
    ]
