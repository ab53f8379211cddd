"""A filer's reports laid out to count its shares: which is the newest, who was new when, whose cover fell silent."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import slip
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.periods import COUNT_AGE, FIGURE_AGE, SAME_YEAR
from tickyard.features.research.filed.reports import (
    Report,
    count_forms,
    covers_of,
    implied_count,
    is_foreign,
    known,
    newcomers_report,
    newest_average,
    newest_report,
)
from tickyard.features.research.filed.settling import latest
from tickyard.features.research.shares.doubts import LEAST, MOST, Witnesses, balance_in, is_tens_off, witnesses
from tickyard.sources.filings.border import CompanyFacts, Entry

UNIT = "shares"
SILENT = "the covers of the reports no longer gave a single count, as when classes are added"

SHORT = (
    "sharesOutstanding may leave out a class: the cover counts far fewer than shared the profit of the time before the "
    "first report, unless those were exchanged."
)


@dataclass(frozen=True, slots=True)
class Desk:
    facts: CompanyFacts
    today: date
    forms: frozenset[str]
    report: Report | None
    first: Report | None
    """The first report of a filer that was new then."""
    silent_since: Report | None
    """The first report without a count on its cover, after reports that had one."""
    covers: tuple[Entry, ...]
    reports: tuple[Report, ...]
    """The periodic reports, the newest first, without amendments."""

    @property
    def before(self) -> date | None:
        """When the report before the newest was filed."""
        return self.reports[1].filed if len(self.reports) > 1 else None


def lay_out(facts: CompanyFacts, filings: Sequence[Report], today: date) -> Desk:
    forms = count_forms(filings)
    covers = covers_of(facts, forms, today)
    last = max((row.filed for row in covers if row.value is None or row.value >= LEAST), default=None)
    # An amendment need not repeat what it does not amend.
    later = [each for each in filings if each.form in forms and not each.form.endswith("/A")]
    speaking = {row.accession for row in covers}
    # Abroad the cover counts several classes as often as not, and whether it is tagged says little.
    is_judged = last is not None and not is_foreign(filings)
    silent = [each for each in later if is_judged and last and each.filed > last and each.accession not in speaking]
    return Desk(
        facts,
        today,
        forms,
        newest_report(filings, forms),
        newcomers_report(facts, filings, forms),
        min(silent, key=lambda each: each.filed, default=None),
        tuple(covers),
        tuple(later),
    )


def witnesses_of(desk: Desk, row: Entry) -> Witnesses:
    """What the filing says besides, or the report that it amends. A newcomer's first tables are of another time."""
    before = cover_before(desk, row)
    seen = witnesses(desk.facts, desk.today, row.accession, before)
    if seen.average is None and seen.balance is None and seen.implied is None and desk.report is not None:
        seen = witnesses(desk.facts, desk.today, desk.report.accession, before)
    if before is not None and before.end == row.end:
        seen = replace(seen, of_owners=None)  # an amendment says nothing of another year
    if desk.first is not None and row.accession == desk.first.accession:
        return Witnesses(None, None, None, None, seen.float_value)
    older = cover_before(desk, row, FIGURE_AGE)
    return replace(seen, older=older.value if older is not None else None)


def short_of_the_first(desk: Desk, row: Entry) -> str | None:
    """What must be said of a newcomer's cover that counts far fewer than shared the profit before it was listed."""
    if desk.first is None or row.accession != desk.first.accession or row.value is None:
        return None
    newest, implied = newest_average(desk.facts, row.accession), implied_count(desk.facts, row.accession)
    average = newest[1].value if newest is not None else None
    if average and implied and slip(average, implied):
        average = implied
    told = (average, implied)
    return SHORT if all(each is not None and row.value * 10 < each * 7 for each in told) else None


def slip_of_the_first(desk: Desk, row: Entry) -> Entry | None:
    """A newcomer's cover in the scale of its own table, where it is a thousand or a million times that, digit for
    digit, and only the table shows every share. Shares are issued and split at a listing, but not to such a number."""
    if desk.first is None or row.accession != desk.first.accession or row.value is None:
        return None
    average = newest_average(desk.facts, row.accession)
    told = (balance_in(desk.facts, row.accession), average[1].value if average is not None else None)
    exact = next((each for each in told if each and each % 1000 and row.value in (each * 10**3, each * 10**6)), None)
    is_count = exact is not None and exact >= LEAST
    return Entry(row.start, row.end, exact, row.accession, row.form, row.filed) if is_count else None


def cover_before(desk: Desk, row: Entry, age: timedelta = COUNT_AGE) -> Entry | None:
    """The newest cover of another filing within the time in which a count is no older than too old. A placeholder is
    none."""
    rows = [each for each in desk.covers if each.accession != row.accession and each.end <= row.end]
    told = [each for each in rows if each.value is None or each.value >= LEAST]
    return latest(of_newest_day([each for each in told if row.end - each.end <= age]))


def counts_elsewhere(desk: Desk, row: Entry) -> list[Number | None]:
    """What tells the scale of an average: the balance sheet beside it, the last cover, and the last average of others,
    unless profit per share contradicts that one too: a table that slips does so every year."""
    rows = [
        each
        for concept in concepts.AVERAGE_COUNTS
        for each in known(desk.facts.units(concept).get(UNIT, ()), desk.forms, desk.today)
        if each.accession != row.accession and each.value is not None
    ]
    average = max(rows, key=lambda each: (each.end, each.filed, each.accession, each.value or 0), default=None)
    covers = [each for each in desk.covers if each.value is not None and each.value >= LEAST]
    cover = max(covers, key=lambda each: (each.end, each.filed, each.accession, each.value or 0), default=None)
    implied = implied_count(desk.facts, average.accession) if average is not None else None
    if average is not None and average.value and implied and slip(average.value, implied):
        average = None
    others = [each.value for each in (average, cover) if each is not None]
    return [balance_in(desk.facts, row.accession), *others]


def late(desk: Desk, row: Entry) -> str | None:
    """What a later report says against a count by not repeating it for its own period."""
    report = desk.report
    if report is None:
        return None
    is_of_period = report.end is None or row.end >= report.end - SAME_YEAR
    if row.filed >= report.filed and is_of_period:
        return None
    return f"is not repeated in the later {report.form} of {report.filed}"


def too_early(desk: Desk, row: Entry) -> str | None:
    first, since = desk.first, row.start or row.end
    if first is None or since >= first.filed or _is_mostly_after(desk.facts, first, row):
        return None
    return f"is of the time before the filer's first report of {first.filed}"


def _is_mostly_after(facts: CompanyFacts, first: Report, row: Entry) -> bool:
    """Whether two thirds of an average, or more, are of the time after the first report, and the average in that one
    is three quarters of it, or more: then no listing that it may still know of changed much."""
    if row.start is None or (row.end - first.filed) * 3 < (row.end - row.start) * 2:
        return False
    then = newest_average(facts, first.accession)
    before = then[1].value if then is not None else None
    return before is not None and row.value is not None and before * 4 >= row.value * 3


def is_silent(desk: Desk, since: date) -> bool:
    return desk.silent_since is not None and since < desk.silent_since.filed


def is_as_before(desk: Desk, row: Entry) -> bool:
    """Whether the cover of the report before, if it has one, says about the same."""
    rows = [each for each in desk.covers if each.accession != row.accession and each.end <= row.filed]
    before = latest(of_newest_day([each for each in rows if desk.before is not None and each.filed >= desk.before]))
    if before is None or before.value is None or row.value is None:
        return True
    return concepts.size(before.value - row.value) * 10 <= before.value


def is_tens_off_others(desk: Desk, concept: str, row: Entry) -> bool:
    """Whether profit per share, or else another report's balance sheet, makes a power of ten more or fewer. An average
    of the filing, which knows of splits, was asked before."""
    seen = witnesses_of(desk, row)
    if row.value and seen.average is None and seen.implied is not None:
        return is_tens_off(row.value, seen.implied)
    told = known(desk.facts.units(concept).get(UNIT, ()), desk.forms, desk.today)
    others = [each for each in told if each.accession != row.accession and row.end - each.end <= COUNT_AGE]
    before = latest(of_newest_day(others))
    if before is None or not before.value or not row.value or seen.average is not None:
        return False
    return is_tens_off(row.value, before.value) or slip(row.value, before.value) is not None


def of_newest_day(rows: list[Entry]) -> list[Entry]:
    end = max((row.end for row in rows), default=None)
    return [row for row in rows if row.end == end]


def by_itself(row: Entry, today: date, classes: list[int] | None = None) -> str | None:
    """What is wrong with a count by itself."""
    if today - row.end > COUNT_AGE:
        return "is older than 15 months"
    if row.value is None:
        return None if classes is not None else "could not be read or is given more than once"
    if row.value < LEAST or row.value > MOST:
        return f"is a placeholder or a slip ({row.value})"
    return None
