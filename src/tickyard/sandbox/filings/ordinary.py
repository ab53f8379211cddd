"""The ordinary filer: three annual reports with comparatives, the quarters since, one class of shares, dollars."""

from datetime import date, timedelta

from tickyard.sandbox.filings.companies import InventedCompany
from tickyard.sandbox.filings.expected import Expected, ExpectedFact, ExpectedShares
from tickyard.sandbox.filings.rows import SHORT, FactRow

AS_OF = date(2026, 9, 16)
"""Everything in the documents was filed by this day: the earliest on which a sandbox world can begin."""

_MILLION = 10**6
_FILED_AFTER = timedelta(days=45)
_COUNTED_BEFORE = timedelta(days=8)
_QUARTER = timedelta(days=91)
_REVENUE_TAGS = (("us-gaap:Revenues",), (SHORT["contracts"],), ("us-gaap:Revenues", SHORT["contracts"]))


def newest_end(filer: InventedCompany, filed_after: timedelta = _FILED_AFTER) -> date:
    """The end of the newest year whose report was filed by AS_OF."""
    end = year_end(filer, AS_OF.year)
    return end if end + filed_after <= AS_OF else year_end(filer, AS_OF.year - 1)


def year_end(filer: InventedCompany, year: int) -> date:
    return date(year, int(filer.year_end[:2]), int(filer.year_end[2:]))


def year_start(filer: InventedCompany, end: date) -> date:
    return year_end(filer, end.year - 1) + timedelta(days=1)


def shrunk(value: int, years_ago: int) -> int:
    """What the figure was that many years before: every filer grew by a steady amount."""
    return value * (100 - 6 * years_ago) // 100


def ordinary_rows(filer: InventedCompany) -> list[FactRow]:
    newest = newest_end(filer)
    rows: list[FactRow] = []
    for age in (2, 1, 0):
        rows += _annual_report(filer, newest, age)
    for quarter in (1, 2, 3):
        end = newest + quarter * _QUARTER
        if end + _FILED_AFTER <= AS_OF:
            rows += _quarterly_report(filer, end)
    return rows


def _annual_report(filer: InventedCompany, newest: date, age: int) -> list[FactRow]:
    report_end = year_end(filer, newest.year - age)
    filed = report_end + _FILED_AFTER
    rows = []
    for back in (2, 1, 0):
        end = year_end(filer, report_end.year - back)
        years_ago = age + back
        figures = dict.fromkeys(_revenue_tags(filer), filer.revenue_m) | {
            "us-gaap:NetIncomeLoss": filer.net_income_m,
            "us-gaap:OperatingIncomeLoss": filer.net_income_m * 5 // 4,
        }
        for concept, figure in figures.items():
            value = shrunk(figure * _MILLION, years_ago)
            rows.append(FactRow(concept, "USD", value, year_start(filer, end), end, "10-K", filed))
        average = filer.shares * (99 - years_ago) // 100
        rows.append(FactRow(SHORT["average"], "shares", average, year_start(filer, end), end, "10-K", filed))
    return rows + _counts(filer, report_end, filed, "10-K", filer.shares * (100 - age) // 100)


def _quarterly_report(filer: InventedCompany, end: date) -> list[FactRow]:
    filed = end + _FILED_AFTER
    start = end - _QUARTER + timedelta(days=1)
    rows = [
        FactRow(concept, "USD", figure * _MILLION // 4, start, end, "10-Q", filed)
        for concept, figure in (
            *((tag, filer.revenue_m) for tag in _revenue_tags(filer)),
            ("us-gaap:NetIncomeLoss", filer.net_income_m),
        )
    ]
    rows.append(FactRow(SHORT["average"], "shares", filer.shares, start, end, "10-Q", filed))
    return rows + _counts(filer, end, filed, "10-Q", filer.shares)


def _counts(filer: InventedCompany, end: date, filed: date, form: str, shares: int) -> list[FactRow]:
    return [
        FactRow(SHORT["cover"], "shares", shares, None, filed - _COUNTED_BEFORE, form, filed),
        FactRow(SHORT["balance"], "shares", shares, None, end, form, filed),
        FactRow("us-gaap:Assets", "USD", filer.revenue_m * 2 * _MILLION, None, end, form, filed),
    ]


def _revenue_tags(filer: InventedCompany) -> tuple[str, ...]:
    return _REVENUE_TAGS[sum(filer.symbol.encode()) % len(_REVENUE_TAGS)]


def ordinary_answer(filer: InventedCompany) -> Expected:
    end = newest_end(filer)
    last = max(row.filed for row in ordinary_rows(filer))

    def fact(figure_m: int) -> ExpectedFact:
        return ExpectedFact(figure_m * _MILLION, "USD", year_start(filer, end), end, end.year, "10-K")

    return Expected(
        is_company=True,
        revenue=fact(filer.revenue_m),
        net_income=fact(filer.net_income_m),
        shares=ExpectedShares(filer.shares, last - _COUNTED_BEFORE),
        has_market_cap=True,
    )
