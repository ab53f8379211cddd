"""A filer's reports laid out to count its shares: which is the newest, who was new when, whose cover fell silent."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.amounts import slip
from tickyard.features.research.filed.concepts import Number
from tickyard.features.research.filed.periods import COUNT_AGE, SAME_YEAR
from tickyard.features.research.filed.reports import (
    Report,
    count_forms,
    covers_of,
    implied_count,
    is_foreign,
    known,
    newcomers_report,
    newest_report,
)
from tickyard.features.research.filed.settling import latest
from tickyard.features.research.shares.doubts import LEAST, Witnesses, balance_in, is_tens_off, witnesses
from tickyard.sources.filings.border import CompanyFacts, Entry

UNIT = "shares"
SILENT = "the covers of the reports no longer gave a single count, as when classes are added"


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
    before: date | None
    """When the report before the newest was filed."""


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
        later[1].filed if len(later) > 1 else None,
    )


def witnesses_of(desk: Desk, row: Entry) -> Witnesses:
    """What the filing says besides, or the report that it amends. A newcomer's first tables are of another time."""
    before = _cover_before(desk, row)
    seen = witnesses(desk.facts, desk.today, row.accession, before)
    if seen.average is None and seen.balance is None and seen.implied is None and desk.report is not None:
        seen = witnesses(desk.facts, desk.today, desk.report.accession, before)
    if desk.first is not None and row.accession == desk.first.accession:
        return Witnesses(None, None, None, None, seen.float_value)
    return seen


def _cover_before(desk: Desk, row: Entry) -> Entry | None:
    """The newest cover of another filing within the time in which a count is no older than too old."""
    rows = [each for each in desk.covers if each.accession != row.accession and each.end <= row.end]
    return latest(of_newest_day([each for each in rows if row.end - each.end <= COUNT_AGE]))


def copied_from(desk: Desk, row: Entry) -> Entry | None:
    """The cover that this one repeats to the last digit although others between them differ: nobody counted again. A
    rounded count may well come back."""
    if row.value is None or not row.value % 1000:
        return None
    earlier = [each for each in desk.covers if each.filed < row.filed and each.end < row.end]
    same = max((each for each in earlier if each.value == row.value), key=lambda each: each.end, default=None)
    if same is None or all(each.value == row.value for each in earlier if each.end > same.end):
        return None
    return same


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


def too_early(desk: Desk, since: date) -> str | None:
    first = desk.first
    if first is None or since >= first.filed:
        return None
    return f"is of the time before the filer's first report of {first.filed}"


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
