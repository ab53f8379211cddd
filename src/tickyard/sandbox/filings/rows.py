"""Reported numbers as short lines of text, and the documents of the filings database made from them.

A line is `concept unit value start end form filed`, `-` for no start; amounts may end in k, m or b. Concepts
without a prefix are us-gaap; the long names that recur have short ones here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import msgspec

SHORT = {
    "contracts": "us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax",
    "contractsGross": "us-gaap:RevenueFromContractWithCustomerIncludingAssessedTax",
    "netOfInterest": "us-gaap:RevenuesNetOfInterestExpense",
    "commonIncome": "us-gaap:NetIncomeLossAvailableToCommonStockholdersBasic",
    "cover": "dei:EntityCommonStockSharesOutstanding",
    "balance": "us-gaap:CommonStockSharesOutstanding",
    "average": "us-gaap:WeightedAverageNumberOfSharesOutstandingBasic",
    "averageDiluted": "us-gaap:WeightedAverageNumberOfDilutedSharesOutstanding",
    "perShare": "us-gaap:EarningsPerShareDiluted",
    "perShareBoth": "us-gaap:EarningsPerShareBasicAndDiluted",
}
_encode = msgspec.json.Encoder(decimal_format="number").encode
_SCALE = {"k": 10**3, "m": 10**6, "b": 10**9}


@dataclass(frozen=True, slots=True)
class FactRow:
    concept: str
    unit: str
    value: int | Decimal
    start: date | None
    end: date
    form: str
    filed: date


def amount(text: str) -> int:
    """`130.497b` as 130497000000."""
    return int(_number(text))


def _number(text: str) -> int | Decimal:
    """What is left behind the point, as of profit per share, stays."""
    value = Decimal(text.rstrip("kmb")) * _SCALE.get(text[-1], 1)
    return int(value) if value == value.to_integral_value() else value


def rows_of(text: str) -> list[FactRow]:
    return [_row(line.split()) for line in text.strip().splitlines() if line.strip()]


def _row(words: list[str]) -> FactRow:
    name, unit, value, start, end, form, filed = words
    concept = SHORT.get(name, name if ":" in name else f"us-gaap:{name}")
    return FactRow(
        concept=concept,
        unit=unit,
        value=_number(value),
        start=None if start == "-" else date.fromisoformat(start),
        end=date.fromisoformat(end),
        form=form,
        filed=date.fromisoformat(filed),
    )


def later(day: date, years: int) -> date:
    """The same day so many years on; a leap day becomes the one before."""
    if not years:
        return day
    try:
        return day.replace(year=day.year + years)
    except ValueError:
        return day.replace(year=day.year + years, day=28)


def accession(cik: int, row: FactRow, years: int = 0) -> str:
    """One filing is one form on one day."""
    filed = later(row.filed, years)
    number = filed.timetuple().tm_yday * 100 + sum(row.form.encode()) % 100
    return f"{cik:010d}-{filed.year % 100:02d}-{number:06d}"


def company_facts(cik: int, title: str, rows: Iterable[FactRow], years: int = 0) -> bytes:
    """The companyfacts document of one filer."""
    rows = list(rows)
    # As in the original, `fy` and `fp` are those of the filing: comparatives carry the new year.
    fiscal: dict[tuple[str, date], int] = {}
    for row in rows:
        if row.start is not None:
            key = (row.form, row.filed)
            fiscal[key] = max(fiscal.get(key, 0), row.end.year + years)
    facts: dict[str, dict[str, Any]] = {}
    for row in rows:
        taxonomy, _, tag = row.concept.partition(":")
        concept = facts.setdefault(taxonomy, {}).setdefault(tag, {"label": tag, "description": None, "units": {}})
        year = fiscal.get((row.form, row.filed), row.filed.year + years)
        concept["units"].setdefault(row.unit, []).append(_fact(cik, row, years, year))
    return _encode({"cik": cik, "entityName": title, "facts": facts})


def _fact(cik: int, row: FactRow, years: int, fiscal_year: int) -> dict[str, Any]:
    fact: dict[str, Any] = {} if row.start is None else {"start": later(row.start, years)}
    fact |= {
        "end": later(row.end, years),
        "val": row.value,
        "accn": accession(cik, row, years),
        "fy": fiscal_year,
        "fp": f"Q{row.filed.month // 4 + 1}" if row.form.startswith("10-Q") else "FY",
        "form": row.form,
        "filed": later(row.filed, years),
    }
    if row.start is not None and row.end - row.start > timedelta(days=350) and row.end.year + years == fiscal_year:
        fact["frame"] = f"CY{(later(row.end, years) - timedelta(days=180)).year}"
    return fact
