"""The ordinary filer: three annual reports with comparatives, one class of shares, dollars."""

from datetime import date, timedelta

from tickyard.sandbox.filings.companies import InventedCompany
from tickyard.sandbox.filings.expected import Expected, ExpectedFact, ExpectedShares
from tickyard.sandbox.filings.rows import SHORT, FactRow

AS_OF = date(2026, 9, 16)
"""Everything in the documents was filed by this day: the earliest on which a sandbox world can begin."""

_MILLION = 10**6
FILED_AFTER = timedelta(days=45)
_COUNTED_BEFORE = timedelta(days=8)
_REVENUE_TAGS = (("us-gaap:Revenues",), (SHORT["contracts"],), ("us-gaap:Revenues", SHORT["contracts"]))


def newest_end(filer: InventedCompany, filed_after: timedelta = FILED_AFTER) -> date:
    """The end of the newest year whose report was filed by AS_OF."""
    end = year_end(filer, AS_OF.year)
    return end if end + filed_after <= AS_OF else year_end(filer, AS_OF.year - 1)


def year_end(filer: InventedCompany, year: int) -> date:
    return date(year, int(filer.year_end[:2]), int(filer.year_end[2:]))


def year_start(filer: InventedCompany, end: date) -> date:
    return year_end(filer, end.year - 1) + timedelta(days=1)


def shrunk(value: int, years_ago: int) -> int:
    """What the figure was that many years before, and with -1 will be: every filer grows by a steady amount."""
    return value * (100 - 6 * years_ago) // 100


def annual_rows(filer: InventedCompany) -> list[FactRow]:
    newest = newest_end(filer)
    return [row for age in (2, 1, 0) for row in _annual_report(filer, newest, age)]


def _annual_report(filer: InventedCompany, newest: date, age: int) -> list[FactRow]:
    report_end = year_end(filer, newest.year - age)
    filed = report_end + FILED_AFTER
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
    return rows + counts(filer, report_end, filed, "10-K", filer.shares * (100 - age) // 100)


def counts(filer: InventedCompany, end: date, filed: date, form: str, shares: int) -> list[FactRow]:
    return [
        FactRow(SHORT["cover"], "shares", shares, None, filed - _COUNTED_BEFORE, form, filed),
        FactRow(SHORT["balance"], "shares", shares, None, end, form, filed),
        FactRow("us-gaap:Assets", "USD", filer.revenue_m * 2 * _MILLION, None, end, form, filed),
    ]


def _revenue_tags(filer: InventedCompany) -> tuple[str, ...]:
    return _REVENUE_TAGS[sum(filer.symbol.encode()) % len(_REVENUE_TAGS)]


def ordinary_answer(filer: InventedCompany, newest_filed: date) -> Expected:
    end = newest_end(filer)

    def fact(figure_m: int) -> ExpectedFact:
        return ExpectedFact(figure_m * _MILLION, "USD", year_start(filer, end), end, end.year, "10-K")

    return Expected(
        is_company=True,
        revenue=fact(filer.revenue_m),
        net_income=fact(filer.net_income_m),
        shares=ExpectedShares(filer.shares, max(newest_filed, end + FILED_AFTER) - _COUNTED_BEFORE),
        has_market_cap=True,
    )
