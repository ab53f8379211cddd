"""Which figure is chosen out of a filer's facts: one small document per trap, and several combined."""

from dataclasses import dataclass
from datetime import date

import pytest

from tickyard.features.research.study import study
from tickyard.sandbox.filings.expected import ExpectedFact, ExpectedShares
from tickyard.sandbox.filings.rows import company_facts, rows_of
from tickyard.sources.filings.border import Company, read_facts

TODAY = date(2026, 9, 16)
Y25 = "2025-01-01 2025-12-31"
Y24 = "2024-01-01 2024-12-31"
Y23 = "2023-01-01 2023-12-31"
K26 = "10-K 2026-02-14"
K25 = "10-K 2025-02-14"
INCOME = f"NetIncomeLoss USD 10m {Y25} {K26}\n"
USUAL_INCOME = f"10m USD {Y25} FY2025 10-K"
COVER = "cover shares 50m - 2026-08-01 10-Q 2026-08-10\n"
USUAL_SHARES = "50m 2026-08-01"


@dataclass(frozen=True)
class Case:
    name: str
    rows: str
    revenue: str | None = None
    income: str | None = USUAL_INCOME
    shares: str | None = USUAL_SHARES
    says: tuple[str, ...] = ()
    year_end: str | None = "1231"
    with_income: bool = True
    with_cover: bool = True


def revenue(name, rows, answer, *says, **more):
    return Case(name, rows, revenue=answer, says=says, **more)


def income(name, rows, answer, *says, **more):
    return Case(name, rows, income=answer, says=says, with_income=False, **more)


def shares(name, rows, answer, *says):
    rows += f"\nRevenues USD 100m {Y25} {K26}"
    return Case(name, rows, revenue=f"100m USD {Y25} FY2025 10-K", shares=answer, says=says, with_cover=False)


def january(name, period):
    rows = f"contracts USD 100m {period} 10-K 2026-03-18\nNetIncomeLoss USD 10m {period} 10-K 2026-03-18"
    answer, earned = f"100m USD {period} FY2026 10-K", f"10m USD {period} FY2026 10-K"
    return Case(name, rows, revenue=answer, income=earned, year_end="0131", with_income=False)


NOT_REPORTED = "revenue: not reported as a standard concept for the year ended 2025-12-31."
ONLY_A_PART = "revenue: only a part of it is reported for the year ended 2025-12-31, the total is not."
BY_BALANCE = "so this is the count of the balance sheet."
BY_AVERAGE = "so this is the weighted average of basic shares over the latest period in the "
A100 = f"100m USD {Y25} FY2025 10-K"

CASES = [
    # Periods.
    revenue("an ordinary filer", f"Revenues USD 90m {Y24} {K26}\nRevenues USD 100m {Y25} {K26}", A100),
    revenue(
        "a dropped tag does not hold the answer back",
        f"Revenues USD 70m {Y23} {K25}\nRevenues USD 80m {Y24} {K25}\ncontracts USD 100m {Y25} {K26}",
        A100,
    ),
    revenue("rows of a quarter in a 10-K", f"Revenues USD 30m 2025-10-01 2025-12-31 {K26}", None, NOT_REPORTED),
    revenue("half a year is no year", f"Revenues USD 30m 2025-07-01 2025-12-31 {K26}", None, NOT_REPORTED),
    revenue("two years are no year", f"Revenues USD 300m 2024-01-01 2025-12-31 {K26}", None, NOT_REPORTED),
    revenue(
        "twelve months in a quarterly report are no fiscal year",
        f"Revenues USD 100m {Y25} {K26}\nRevenues USD 110m 2025-07-01 2026-06-30 10-Q 2026-08-10",
        A100,
    ),
    revenue(
        "a recast outside annual reports is not used",
        f"Revenues USD 100m {Y25} {K26}\nRevenues USD 99m {Y25} 8-K 2026-06-01",
        A100,
    ),
    revenue(
        "53 weeks",
        "contracts USD 100m 2024-12-29 2026-01-03 10-K 2026-02-20",
        "100m USD 2024-12-29 2026-01-03 FY2025 10-K",
    ),
    revenue(
        "53 weeks, and the database repeats the actual end",
        "contracts USD 100m 2024-12-29 2026-01-03 10-K 2026-02-20",
        "100m USD 2024-12-29 2026-01-03 FY2025 10-K",
        year_end="0103",
    ),
    january("a January year end counts as the year it lies in, whatever fy says", "2025-01-27 2026-01-25"),
    january("a year end on the first of February", "2025-02-03 2026-02-01"),
    revenue("no year end is known", f"Revenues USD 100m {Y25} {K26}", A100, year_end=None),
    Case(
        "a transition period after the last whole year",
        "Revenues USD 100m 2024-07-01 2025-06-30 10-K 2025-08-20\n"
        "NetIncomeLoss USD 10m 2024-07-01 2025-06-30 10-K 2025-08-20\n"
        "Revenues USD 55m 2025-07-01 2025-12-31 10-KT 2026-02-20\n"
        "NetIncomeLoss USD 5m 2025-07-01 2025-12-31 10-KT 2026-02-20",
        revenue="100m USD 2024-07-01 2025-06-30 FY2025 10-K",
        income="10m USD 2024-07-01 2025-06-30 FY2025 10-K",
        says=("2025-07-01 to 2025-12-31 is a transition period and no annual figure.",),
        with_income=False,
    ),
    Case(
        "a transition report restates the last whole year",
        "Revenues USD 100m 2024-07-01 2025-06-30 10-K 2025-08-20\n"
        "Revenues USD 97m 2024-07-01 2025-06-30 10-KT 2026-02-20\n"
        "NetIncomeLoss USD 10m 2024-07-01 2025-06-30 10-KT 2026-02-20",
        revenue="97m USD 2024-07-01 2025-06-30 FY2025 10-KT",
        income="10m USD 2024-07-01 2025-06-30 FY2025 10-KT",
        with_income=False,
    ),
    revenue(
        "a period that ends after its filing is a slip",
        f"Revenues USD 100m {Y25} {K26}\nRevenues USD 500m 2026-01-01 2026-12-31 {K26}",
        A100,
    ),
    revenue(
        "a filing of tomorrow is not known today",
        f"Revenues USD 100m {Y25} {K26}\nRevenues USD 90m {Y25} 10-K/A 2026-09-17",
        A100,
    ),
    Case(
        "a filer that stopped reporting",
        "Revenues USD 100m 2021-01-01 2021-12-31 10-K 2022-02-14\n"
        "NetIncomeLoss USD 1m 2021-01-01 2021-12-31 10-K 2022-02-14",
        income=None,
        says=("revenue: no annual report for more than two years.", "netIncome: no annual report"),
        with_income=False,
    ),
    # Restatements.
    revenue(
        "a restatement by amendment",
        f"Revenues USD 110m {Y25} {K26}\nRevenues USD 100m {Y25} 10-K/A 2026-05-01",
        f"100m USD {Y25} FY2025 10-K/A",
    ),
    revenue(
        "an amendment without the concept",
        f"Revenues USD 100m {Y25} {K26}\nAssets USD 900m - 2025-12-31 10-K/A 2026-05-01",
        A100,
    ),
    revenue(
        "one filing, two numbers for one year",
        f"Revenues USD 100m {Y25} {K26}\nRevenues USD 101m {Y25} {K26}",
        None,
        "revenue: the amount filed for the year ended 2025-12-31 could not be read or is given more than once.",
    ),
    revenue(
        "an amendment settles what the report left open",
        f"Revenues USD 99m {Y25} {K26}\nRevenues USD 101m {Y25} {K26}\nRevenues USD 100m {Y25} 10-K/A 2026-03-01",
        f"100m USD {Y25} FY2025 10-K/A",
    ),
    # Slices.
    revenue("a bank's fees", f"contracts USD 20m {Y25} {K26}\nnetOfInterest USD 100m {Y25} {K26}", A100),
    revenue("a card company", f"contracts USD 69m {Y25} {K26}\nnetOfInterest USD 100m {Y25} {K26}", A100),
    revenue("an insurer", f"Revenues USD 100m {Y25} {K26}\ncontracts USD 8m {Y25} {K26}", A100),
    revenue("the first concept is a slice", f"Revenues USD 9m {Y25} {K26}\ncontracts USD 100m {Y25} {K26}", A100),
    revenue("never the plain maximum", f"Revenues USD 100m {Y25} {K26}\ncontracts USD 104m {Y25} {K26}", A100),
    revenue("excise is not revenue", f"contractsGross USD 240m {Y25} {K26}\ncontracts USD 100m {Y25} {K26}", A100),
    revenue(
        "leases outside contracts", f"contracts USD 5m {Y25} {K26}\nOperatingLeaseLeaseIncome USD 80m {Y25} {K26}",
        None, ONLY_A_PART,
    ),
    revenue(
        "premiums outside contracts", f"contracts USD 5m {Y25} {K26}\nPremiumsEarnedNet USD 80m {Y25} {K26}",
        None, ONLY_A_PART,
    ),
    revenue(
        "what was a slice last year is one still",
        f"contracts USD 9m {Y24} {K25}\nRevenues USD 90m {Y24} {K25}\ncontracts USD 10m {Y25} {K26}",
        None, ONLY_A_PART,
    ),
    revenue(
        "an insurer's restated total beside a newer slice",
        f"contracts USD 8m {Y25} {K26}\nRevenues USD 120m {Y25} {K26}\nRevenues USD 100m {Y25} 10-K/A 2026-04-01\n"
        f"contracts USD 9m {Y25} 10-K/A 2026-06-01",
        f"100m USD {Y25} FY2025 10-K/A",
    ),
    revenue(
        "revenue after interest was once less than before it",
        f"Revenues USD 190m {Y24} {K25}\nnetOfInterest USD 95m {Y24} {K25}\nnetOfInterest USD 100m {Y25} {K26}",
        A100,
    ),
    revenue("no sales yet", "", None, NOT_REPORTED),
    revenue("sales of nothing are a figure", f"Revenues USD 0 {Y25} {K26}", f"0 USD {Y25} FY2025 10-K"),
    revenue("negative revenue", f"Revenues USD -5m {Y25} {K26}\ncontracts USD 3m {Y25} {K26}", None, "is negative"),
    revenue("an old tag for an old year", f"SalesRevenueNet USD 80m {Y24} {K25}", None, NOT_REPORTED),
    # Net income.
    income("minority owners included", f"ProfitLoss USD 12m {Y25} {K26}", f"12m USD {Y25} FY2025 10-K",
           NOT_REPORTED, "netIncome includes the share of minority owners, if there are any"),
    income("after preferred dividends", f"commonIncome USD 9m {Y25} {K26}", f"9m USD {Y25} FY2025 10-K",
           NOT_REPORTED, "which may not be all of the owners' profit."),
    income("a loss", f"NetIncomeLoss USD -12m {Y25} {K26}\nProfitLoss USD -15m {Y25} {K26}",
           f"-12m USD {Y25} FY2025 10-K", NOT_REPORTED),
    Case("net income lags behind revenue", f"Revenues USD 100m {Y25} {K26}\nNetIncomeLoss USD 9m {Y24} {K25}",
         revenue=A100, income=None, says=("netIncome: not reported as a standard concept",), with_income=False),
    # Units and taxonomies.
    Case(
        "a translation into dollars is not the report",
        f"ifrs-full:Revenue TWD 2000m {Y24} 20-F 2026-04-16\nifrs-full:Revenue TWD 3000m {Y25} 20-F 2026-04-16\n"
        f"ifrs-full:Revenue USD 100m {Y25} 20-F 2026-04-16\nifrs-full:ProfitLoss TWD 900m {Y25} 20-F 2026-04-16\n"
        f"ifrs-full:ProfitLossAttributableToOwnersOfParent TWD 800m {Y25} 20-F 2026-04-16\n"
        f"ifrs-full:ProfitLossAttributableToOwnersOfParent USD 27m {Y25} 20-F 2026-04-16",
        revenue=f"3000m TWD {Y25} FY2025 20-F",
        income=f"800m TWD {Y25} FY2025 20-F",
        with_income=False,
    ),
    Case(
        "a filer that moved from euros to dollars",
        f"Revenues EUR 80m 2022-01-01 2022-12-31 20-F 2024-03-01\nRevenues EUR 85m {Y23} 20-F 2024-03-01\n"
        f"Revenues USD 95m {Y24} 20-F 2026-03-01\nRevenues USD 100m {Y25} 20-F 2026-03-01\n"
        f"NetIncomeLoss USD 10m {Y25} 20-F 2026-03-01",
        revenue=f"100m USD {Y25} FY2025 20-F",
        income=f"10m USD {Y25} FY2025 20-F",
        with_income=False,
    ),
    Case(
        "kroner stay kroner, on a 40-F in March",
        "ifrs-full:RevenueFromContractsWithCustomers DKK 300m 2025-04-01 2026-03-31 40-F 2026-06-20\n"
        "ifrs-full:ProfitLossAttributableToOwnersOfParent DKK 90m 2025-04-01 2026-03-31 40-F 2026-06-20",
        revenue="300m DKK 2025-04-01 2026-03-31 FY2026 40-F",
        income="90m DKK 2025-04-01 2026-03-31 FY2026 40-F",
        year_end="0331",
        with_income=False,
    ),
    Case(
        "from international to American accounting",
        f"ifrs-full:Revenue USD 90m {Y24} 20-F 2025-03-01\nifrs-full:ProfitLoss USD 8m {Y24} 20-F 2025-03-01\n"
        f"Revenues USD 100m {Y25} {K26}",
        revenue=A100,
    ),
    revenue("an amount per share is no revenue", f"Revenues USD/shares 3 {Y25} {K26}", None, NOT_REPORTED),
    # Shares.
    shares("the newest cover", COVER + "cover shares 49m - 2026-02-01 10-K 2026-02-14", USUAL_SHARES),
    shares("a restated cover", COVER + "cover shares 51m - 2026-08-01 10-Q/A 2026-08-20", "51m 2026-08-01"),
    shares("no cover", "balance shares 50m - 2026-06-30 10-Q 2026-08-10", "50m 2026-06-30", BY_BALANCE),
    shares("a cover of 1000", "cover shares 1000 - 2026-08-01 10-Q 2026-08-10\n"
           "balance shares 50m - 2026-06-30 10-Q 2026-08-10", "50m 2026-06-30", "(1000)", BY_BALANCE),
    shares("placeholders everywhere", "cover shares 1 - 2026-08-01 10-Q 2026-08-10\n"
           "balance shares 100 - 2026-06-30 10-Q 2026-08-10", None, "slip (1)", "slip (100)"),
    shares("a placeholder beside the average", "balance shares 100 - 2026-06-30 10-Q 2026-08-10\n"
           "average shares 50m 2026-01-01 2026-06-30 10-Q 2026-08-10\n"
           "average shares 51m 2026-04-01 2026-06-30 10-Q 2026-08-10", "51m 2026-06-30", BY_AVERAGE),
    shares("a stale cover", "cover shares 40m - 2025-05-01 10-Q 2025-05-10\n"
           "balance shares 50m - 2026-06-30 10-Q 2026-08-10", "50m 2026-06-30", "older than 15 months", BY_BALANCE),
    shares("all stale", "cover shares 40m - 2017-05-01 10-Q 2017-05-10\n"
           "balance shares 50m - 2017-03-31 10-Q 2017-05-10", None, "cover (10-Q, 2017-05-01) is older",
           "balance sheet (10-Q, 2017-03-31) is older"),
    shares("two covers of one filing", COVER + "cover shares 7m - 2026-08-01 10-Q 2026-08-10\n"
           "balance shares 57m - 2026-06-30 10-Q 2026-08-10", "57m 2026-08-01", "sum of 2 classes on the cover"),
    shares("two covers of one filing that are not all classes", COVER + "cover shares 7m - 2026-08-01 10-Q 2026-08-10\n"
           "balance shares 90m - 2026-06-30 10-Q 2026-08-10", "90m 2026-06-30", "given more than once", BY_BALANCE),
    shares("a cover that leaves out a class", COVER + "average shares 130m 2026-04-01 2026-06-30 10-Q 2026-08-10",
           "130m 2026-06-30", "may leave out a class", BY_AVERAGE),
    shares("a fresh listing", COVER + "average shares 9m 2026-04-01 2026-06-30 10-Q 2026-08-10", USUAL_SHARES),
    shares("a count in millions", "cover shares 5000000b - 2026-08-01 10-Q 2026-08-10", None, "a slip"),
    shares("a count of a day after its filing", "cover shares 60m - 2026-08-30 10-Q 2026-08-10", "60m 2026-08-10"),
    shares("a count of another age", COVER + "cover shares 60m - 2028-08-30 10-Q 2026-08-10", USUAL_SHARES),
    shares("no count at all", "", None, "no single count is filed"),
    Case(
        "combined: a bank abroad with a dropped tag, a restatement, a translation and a stale count",
        f"Revenues JPY 70000m {Y24} 20-F 2025-06-20\ncontracts JPY 20000m {Y25} 20-F 2026-06-20\n"
        f"netOfInterest JPY 80000m {Y25} 20-F 2026-06-20\nnetOfInterest JPY 81000m {Y25} 20-F/A 2026-07-20\n"
        f"netOfInterest USD 540m {Y25} 20-F 2026-06-20\nProfitLoss JPY 9000m {Y25} 20-F 2026-06-20\n"
        "cover shares 50m - 2024-12-31 20-F 2025-06-20",
        revenue=f"81000m JPY {Y25} FY2025 20-F/A",
        income=f"9000m JPY {Y25} FY2025 20-F",
        shares=None,
        says=("minority owners", "older than 15 months"),
        with_income=False,
        with_cover=False,
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_right_figure_is_chosen(case):
    text = case.rows + "\n" + (INCOME if case.with_income else "") + (COVER if case.with_cover else "")
    company = Company(cik=1, name="Example", fiscal_year_end=case.year_end)
    found = study(company, read_facts(company_facts(1, "Example", rows_of(text)), 1), TODAY)
    assert shown(found.revenue) == (ExpectedFact.parse(case.revenue) if case.revenue else None)
    assert shown(found.net_income) == (ExpectedFact.parse(case.income) if case.income else None)
    counted = ExpectedShares(found.shares.value, found.shares.as_of) if found.shares else None
    assert counted == (ExpectedShares.parse(case.shares) if case.shares else None)
    if not case.says:
        assert found.note is None
    for phrase in case.says:
        assert phrase in found.note


def shown(fact):
    if fact is None:
        return None
    return ExpectedFact(fact.value, fact.unit, fact.period_start, fact.period_end, fact.fiscal_year, fact.form)


def test_there_are_at_least_forty_cases():
    assert len({case.name for case in CASES}) == len(CASES) >= 40
