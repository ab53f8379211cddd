"""Real filers whose total, or the owners' part, stands under a name of their own: a slice is never answered for it."""

from datetime import date

import pytest
from msgspec import structs

from tickyard.features.research.filed.concepts import PRETAX
from tickyard.features.research.study import study
from tickyard.sandbox.filings.rows import company_facts, rows_of
from tickyard.sources.filings.border import CompanyFacts, read_facts
from yards.filings import cases

CASES = {case["id"]: case for case in cases()}
YEAR = "2023-01-01 2023-12-31 10-K 2024-02-20"


def ask_without(name, *names):
    case = CASES[name]
    left = {concept: units for concept, units in case.filer.facts.concepts.items() if concept not in names}
    return study(case.filer.company, CompanyFacts(case.cik, left, case.filer.facts.unread), case.today)


def made(text):
    facts = read_facts(company_facts(1, "Example", rows_of(text)), 1)
    return study(CASES["AAPL@2021"].filer.company, facts, date(2024, 9, 1))


@pytest.mark.parametrize(("name", "concepts"), [
    ("QSR@2021", ["us-gaap:Revenues"]),
    ("GIS@2021", ["us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax"]),
    ("NJR@2021", ["us-gaap:RegulatedAndUnregulatedOperatingRevenue"]),
    ("UBSI@2021", ["us-gaap:InterestIncomeExpenseNet", "us-gaap:NoninterestIncome"]),
    # Left over and spent was less, and nothing was spent on goods: this is before what is given back to customers.
    ("MA@2021", ["us-gaap:Revenues"]),
    ("SPG@2021", ["us-gaap:Revenues"]),
    ("NEE@2021", ["us-gaap:RegulatedAndUnregulatedOperatingRevenue"]),
])  # fmt: skip
def test_a_slice_that_its_filing_disproves_is_no_revenue(name, concepts):
    found = ask_without(name, *concepts)
    assert found.revenue is None
    assert "revenue: only a part of it is reported" in found.note


@pytest.mark.parametrize(("name", "total"), [
    ("WMT@2026-07-24", "us-gaap:Revenues"),
    ("COP@2026-07-24", "us-gaap:Revenues"),
    ("NRG@2026-07-24", "us-gaap:Revenues"),
    ("AXP@2026-07-24", "us-gaap:RevenuesNetOfInterestExpense"),
])  # fmt: skip
def test_what_was_not_the_total_a_year_ago_is_none_where_the_newest_report_tags_no_total(name, total):
    case = CASES[name]
    facts = case.filer.facts
    newest = study(case.filer.company, facts, case.today).revenue.accession
    units = {
        unit: tuple(row for row in rows if row.accession != newest) for unit, rows in facts.concepts[total].items()
    }
    left = CompanyFacts(case.cik, {**facts.concepts, total: units}, facts.unread)
    assert study(case.filer.company, left, case.today).revenue is None


def test_of_two_contracts_the_one_that_was_the_total_is_taken():
    """Constellation tags all of it as contracts with taxes, and a part of it as contracts without."""
    case = CASES["CEG@2026-07-24"]
    rows = case.filer.facts.concepts["us-gaap:Revenues"]["USD"]
    told = tuple(row for row in rows if row.filed.year < case.today.year)
    left = {**case.filer.facts.concepts, "us-gaap:Revenues": {"USD": told}}
    found = study(case.filer.company, CompanyFacts(case.cik, left, case.filer.facts.unread), case.today)
    assert found.revenue.value == 25_533_000_000


def test_a_total_abroad_with_other_income_in_it_goes_before_contracts_and_says_so():
    found = ask_without("BP@2021", "ifrs-full:Revenue")
    assert found.revenue.value == 180_366_000_000
    assert "revenue includes other income" in found.note


def test_sales_with_a_cost_of_goods_beside_their_expenses_are_believed():
    found = made(f"""
        contracts USD 900m {YEAR}
        CostOfRevenue USD 300m {YEAR}
        OperatingExpenses USD 400m {YEAR}
        OperatingIncomeLoss USD 210m {YEAR}
        NetIncomeLoss USD 150m {YEAR}
    """)
    assert found.revenue.value == 900_000_000


def test_less_than_was_spent_on_the_goods_is_revenue_where_there_was_a_loss():
    found = made(f"""
        Revenues USD 80m {YEAR}
        CostOfRevenue USD 95m {YEAR}
        OperatingIncomeLoss USD -60m {YEAR}
        NetIncomeLoss USD -70m {YEAR}
    """)
    assert found.revenue.value == 80_000_000


PARTS = [
    (
        "NetIncomeLossAttributableToNoncontrollingInterest",
        "NetIncomeLossAttributableToRedeemableNoncontrollingInterest",
    ),
    ("MinorityInterestInNetIncomeLossOfConsolidatedEntities", "IncomeLossAttributableToNoncontrollingInterest"),
]


@pytest.mark.parametrize(("one", "other"), PARTS)
@pytest.mark.parametrize(("per_share", "owners"), [(5, 1_000_000_000), (6, 1_200_000_000)], ids=["parts", "contained"])
def test_minorities_under_two_names_are_added_up_when_profit_per_share_proves_it(one, other, per_share, owners):
    found = made(f"""
        Revenues USD 6000m {YEAR}
        ProfitLoss USD 1500m {YEAR}
        {one} USD 300m {YEAR}
        {other} USD 200m {YEAR}
        EarningsPerShareBasic USD/shares {per_share} {YEAR}
        average shares 200m {YEAR}
    """)
    assert found.net_income.value == owners


@pytest.mark.parametrize(("others", "divided"), [
    ([], "910546000"),
    (["us-gaap:NetIncomeLossAvailableToCommonStockholdersBasic"], "910887950"),
])  # fmt: skip
def test_a_profit_of_which_less_was_divided_among_the_shares_says_so(others, divided):
    """As tagged, or as profit per share makes it."""
    found = ask_without("EQR@2021", "us-gaap:NetIncomeLoss", *others)
    assert found.net_income.value == 928_491_000
    assert f"Divided among the shares was {divided}" in found.note


def renamed(name, concept, other):
    case = CASES[name]
    concepts = dict(case.filer.facts.concepts)
    concepts[other] = concepts.pop(concept)
    return study(case.filer.company, CompanyFacts(case.cik, concepts, case.filer.facts.unread), case.today)


@pytest.mark.parametrize("name", ["ARE@2021", "PM@2021", "BABA@2021"])
def test_an_owners_part_under_the_name_of_the_whole_is_known_by_what_was_divided_among_the_shares(name):
    """Preferred dividends, or what takes part beside the shares, keep the two a little apart."""
    right = ask_without(name).net_income
    assert renamed(name, right.concept, "us-gaap:ProfitLoss").net_income.value == right.value


@pytest.mark.parametrize("name", ["SPG@2021", "DOW@2021"])
def test_a_whole_profit_under_the_name_of_the_owners_part_is_known_by_what_was_divided_among_the_shares(name):
    right = ask_without(name).net_income.value
    assert renamed(name, "us-gaap:ProfitLoss", "us-gaap:NetIncomeLoss").net_income.value == right


@pytest.mark.parametrize("name", ["IBKR@2021", "QSR@2021", "SPG@2021", "DOW@2021"])
def test_a_profit_available_to_common_that_was_not_divided_among_the_shares_is_not_believed(name):
    found = renamed(name, "us-gaap:ProfitLoss", "us-gaap:NetIncomeLossAvailableToCommonStockholdersBasic")
    assert found.net_income is None
    assert "not what profit per share was made of" in found.note


def test_a_bank_whose_only_profit_is_of_continuing_operations_has_no_net_income():
    found = ask_without("PNC@2021", "us-gaap:ProfitLoss")
    assert found.net_income is None
    assert "not what profit per share was made of" in found.note


def test_a_minority_of_continuing_operations_only_is_said_to_be_one():
    found = ask_without("PNC@2021")
    assert found.net_income.value == 7_517_000_000
    assert "told of continuing operations only" in found.note


INSURER = f"""
    Revenues USD 6557m {YEAR}
    PremiumsEarnedNet USD 7219m {YEAR}
    NetIncomeLoss USD -487m {YEAR}
"""


@pytest.mark.parametrize(("losses", "revenue"), [
    # Told as such; or by what was left and spent, to a hundredth because affiliates earned something beside it.
    (f"GainLossOnInvestments USD -1500m {YEAR}", 6_557_000_000),
    (f"BenefitsLossesAndExpenses USD 7188m {YEAR}\npretax USD -560m {YEAR}", 6_557_000_000),
    (f"GainLossOnInvestments USD -50m {YEAR}", None),
    (f"BenefitsLossesAndExpenses USD 7188m {YEAR}\npretax USD 31m {YEAR}", None),
])  # fmt: skip
def test_an_insurers_revenue_is_below_its_premiums_only_by_losses_on_investments(losses, revenue):
    pretax = "IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItemsNoncontrollingInterest"
    found = made(INSURER + losses.replace("pretax", pretax))
    assert (found.revenue.value if found.revenue else None) == revenue


def test_contracts_of_a_bank_abroad_are_not_its_revenue():
    year = YEAR.replace("10-K", "20-F")
    found = made(f"""
        ifrs-full:RevenueFromContractsWithCustomers EUR 5000m {year}
        ifrs-full:RevenueFromInterest EUR 25000m {year}
        ifrs-full:ProfitLossAttributableToOwnersOfParent EUR 4000m {year}
    """)
    assert found.revenue is None
    assert "only a part" in found.note


def test_a_year_that_its_last_quarter_made_is_believed_where_profit_per_share_bears_it_out():
    case = CASES["FB@2021"]
    right = study(case.filer.company, case.filer.facts, case.today).net_income
    rows = case.filer.facts.concepts[right.concept]["USD"]
    since = right.period_start

    def little(row):
        is_part = row.start == since and row.end < right.period_end
        return structs.replace(row, value=60_000_000) if is_part else row

    concepts = {**case.filer.facts.concepts, right.concept: {"USD": tuple(map(little, rows))}}
    for name in PRETAX:
        if name in concepts:
            concepts[name] = {}
    facts = CompanyFacts(case.cik, concepts, case.filer.facts.unread)
    assert study(case.filer.company, facts, case.today).net_income == right
