"""What speaks against a count of shares: the average of its filing, profit per share, the balance sheet, the float."""

from datetime import date
from typing import Final

from tickyard.features.research import concepts
from tickyard.features.research.concepts import Number
from tickyard.features.research.reports import are_close, implied_count, newest_average, public_float, slip
from tickyard.sources.filings.border import CompanyFacts

# Subsidiaries and shells file 1, 100 or 1000; the smallest listed company has close to a million shares.
LEAST: Final = 100_000
MOST: Final = 10**13
_UNIT: Final = "shares"
# Dollars. No listed share but one has ever been worth more, and none that is worth less stays listed.
_DEAREST, _CHEAPEST_PER_DOLLAR = 50_000, 1_000


def doubt(facts: CompanyFacts, today: date, count: Number, accession: str, *, least: int, most: int) -> str | None:
    """What the rest of its filing says against a count: `least` and `most` in tenths of the average."""
    average = newest_average(facts, accession)
    reference = average[1].value if average is not None else None
    implied = implied_count(facts, accession)
    if reference is not None and implied is not None and slip(reference, implied):
        reference = implied
    elif reference is not None and implied is None and slip(count, reference):
        witness = balance_in(facts, accession)
        if witness is not None and are_close(witness, count):
            reference = None  # two against one
    if reference is None and implied is not None and slip(count, implied):
        return "is a thousand times off what profit and profit per share make"
    if reference is None or reference < LEAST:
        return _against_float(facts, today, count)
    # A filing states both after the same splits. Fresh listings count far more than their average was.
    if count * 10 < reference * least:
        return "is far below the average number of shares and may leave out a class"
    if count * 10 > reference * most:
        return "is far above the average number of shares"
    return None


def _against_float(facts: CompanyFacts, today: date, count: Number) -> str | None:
    """Where nothing else is there to hold a count against, the price that the public float makes must be possible."""
    value = public_float(facts, today)
    if value is None or value.value is None:
        return None
    if value.value > count * _DEAREST:
        return f"is too small for a public float of {value.value} USD"
    if value.value * _CHEAPEST_PER_DOLLAR < count:
        return f"is too large for a public float of {value.value} USD"
    return None


def balance_in(facts: CompanyFacts, accession: str) -> Number | None:
    rows = [
        row
        for concept in concepts.BALANCE_COUNTS
        for row in facts.units(concept).get(_UNIT, ())
        if row.accession == accession and row.value is not None
    ]
    newest = max(rows, key=lambda row: (row.end, row.value or 0), default=None)
    return newest.value if newest is not None else None
