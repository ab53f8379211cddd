"""How many shares there are: the count on a report's cover, else that of the balance sheet, else the average."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from tickyard.features.research import concepts
from tickyard.features.research.facts import latest
from tickyard.features.research.periods import COUNT_AGE, COUNT_FORMS, is_known
from tickyard.sources.filings.border import CompanyFacts, Entry

_UNIT = "shares"
# Subsidiaries and shells file 1, 100 or 1000; the smallest listed company has close to a million shares.
_LEAST = 100_000
_MOST = 10**13


@dataclass(frozen=True, slots=True)
class Shares:
    value: int
    as_of: date
    basis: str
    """Which count it is, as a phrase: "the cover of the 10-Q"."""
    form: str
    accession: str
    concept: str
    filed: date


@dataclass(frozen=True, slots=True)
class Count:
    """The chosen number of shares with what must be said about it, or none and the reason."""

    shares: Shares | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Try:
    shares: Shares | None
    complaint: str | None
    """Why this count was not taken; None when there simply is none."""


def choose_shares(facts: CompanyFacts, today: date) -> Count:
    cover = _cover(facts, today)
    if cover.shares is not None:
        return Count(cover.shares)
    balance = _balance(facts, today)
    if balance.shares is not None:
        return Count(balance.shares, _explain(cover, "the count of the balance sheet"))
    average = _average(facts, today)
    if average.shares is not None:
        fallback = "the weighted average of basic shares over the latest period reported"
        return Count(average.shares, _explain(cover, fallback))
    complaints = [each.complaint for each in (cover, balance, average) if each.complaint is not None]
    reason = "; ".join(complaints) or "no single count is filed, as is usual for issuers with several classes of shares"
    return Count(None, (f"sharesOutstanding: {reason}.",))


def _explain(cover: _Try, fallback: str) -> tuple[str, ...]:
    why = cover.complaint or "no single count stands on the cover of the reports"
    return (f"sharesOutstanding: {why}, so this is {fallback}.",)


def _cover(facts: CompanyFacts, today: date) -> _Try:
    row = _newest(facts.units(concepts.COVER_COUNT).get(_UNIT, ()), today)
    if row is None:
        return _Try(None, None)
    trouble = _trouble(row, today)
    average = None if trouble else _average_in(facts, row.accession)
    if average is not None and row.value is not None:
        # A filing states both after the same splits. Fresh listings count far more than their average was.
        if row.value * 10 < average * 6:
            trouble = "is far below the average number of shares and may leave out a class"
        elif row.value > average * 50:
            trouble = "is far above the average number of shares"
    if trouble is not None:
        return _Try(None, f"the count on the cover ({row.form}, {row.end}) {trouble}")
    return _Try(_shares(concepts.COVER_COUNT, row, f"the cover of the {row.form}"), None)


def _balance(facts: CompanyFacts, today: date) -> _Try:
    rows = {concept: _newest(facts.units(concept).get(_UNIT, ()), today) for concept in concepts.BALANCE_COUNTS}
    dated = [(row.end, concept, row) for concept, row in rows.items() if row is not None]
    if not dated:
        return _Try(None, None)
    _, concept, row = max(dated, key=lambda each: (each[0], each[1]))
    trouble = _trouble(row, today)
    average = None if trouble else _average_in(facts, row.accession)
    if average is not None and row.value is not None and not average * 6 <= row.value * 10 <= average * 200:
        trouble = "does not fit the average number of shares"
    if trouble is not None:
        return _Try(None, f"the count on the balance sheet ({row.form}, {row.end}) {trouble}")
    return _Try(_shares(concept, row, f"the balance sheet of the {row.form}"), None)


def _average(facts: CompanyFacts, today: date) -> _Try:
    for concept in concepts.AVERAGE_COUNTS:
        rows = [row for row in facts.units(concept).get(_UNIT, ()) if _is_count(row, today)]
        if not rows:
            continue
        end = max(row.end for row in rows)
        rows = [row for row in rows if row.end == end]
        # The shortest period that ends there is the closest to today's number.
        start = max(row.start or row.end for row in rows)
        row = latest(row for row in rows if (row.start or row.end) == start)
        if row is None:
            continue
        trouble = _trouble(row, today)
        if trouble is not None:
            return _Try(None, f"the average number of shares ({row.form}, {row.end}) {trouble}")
        return _Try(_shares(concept, row, f"the weighted average of basic shares in the {row.form}"), None)
    return _Try(None, None)


def _is_count(row: Entry, today: date) -> bool:
    return row.form in COUNT_FORMS and is_known(row, today)


def _newest(entries: Iterable[Entry], today: date) -> Entry | None:
    """The count of the newest day, from the latest filing that states it."""
    rows = [row for row in entries if _is_count(row, today)]
    end = max((row.end for row in rows), default=None)
    return latest(row for row in rows if row.end == end)


def _trouble(row: Entry, today: date) -> str | None:
    """What is wrong with a count by itself."""
    if today - row.end > COUNT_AGE:
        return "is older than 15 months"
    if row.value is None:
        return "could not be read or is given more than once"
    if row.value < _LEAST or row.value > _MOST:
        return f"is a placeholder or a slip ({row.value})"
    return None


def _average_in(facts: CompanyFacts, accession: str) -> int | None:
    """The largest average stated in the same filing, to hold a count against."""
    values = [
        int(row.value)
        for concept in concepts.AVERAGE_COUNTS
        for row in facts.units(concept).get(_UNIT, ())
        if row.accession == accession and row.value is not None and _LEAST <= row.value <= _MOST
    ]
    return max(values, default=None)


def _shares(concept: str, row: Entry, basis: str) -> Shares:
    assert row.value is not None
    return Shares(
        value=int(row.value),
        as_of=row.end,
        basis=basis,
        form=row.form,
        accession=row.accession,
        concept=concept,
        filed=row.filed,
    )
