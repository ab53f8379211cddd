"""Real filers whose total, or the owners' part, stands under a name of their own: a slice is never answered for it."""

from datetime import date

import pytest
from msgspec import structs

from tickyard.features.research.filed.concepts import PRETAX
from tickyard.features.research.study import study
from tickyard.sources.filings.border import CompanyFacts
from yards.filings import cases, study_small

CASES = {case["id"]: case for case in cases()}
YEAR = "2023-01-01 2023-12-31 10-K 2024-02-20"
YEAR_BEFORE = "2022-01-01 2022-12-31 10-K 2024-02-20"


def ask_without(name, *names):
    case = CASES[name]
    left = {concept: units for concept, units in case.filer.facts.concepts.items() if concept not in names}
    return study(case.filer.company, CompanyFacts(case.cik, left, case.filer.facts.unread), case.today)


def made(text):
    return study_small(text, date(2024, 9, 1))


@pytest.mark.parametrize(("name", "concepts"), [
    ("QSR@2021", ["us-gaap:Revenues"]),
    ("GIS@2021", ["us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax"]),
    ("NJR@2021", ["us-gaap:RegulatedAndUnregulatedOperatingRevenue", "us-gaap:RevenueNotFromContractWithCustomer"]),
    ("UBSI@2021", ["us-gaap:InterestIncomeExpenseNet", "us-gaap:NoninterestIncome"]),
    ("SPG@2021", ["us-gaap:Revenues"]),
    # A bank abroad may tag the interest it takes in and not what is left of it.
    ("BCS@2021", ["ifrs-full:InterestRevenueExpense"]),
])  # fmt: skip
def test_a_slice_that_its_filing_disproves_is_no_revenue(name, concepts):
    found = ask_without(name, *concepts)
    assert found.revenue is None
    assert "revenue: only a part of it is reported" in found.note


@pytest.mark.parametrize(("name", "concept", "says"), [
    # Left over and spent was less, and nothing was spent on goods: this is before what is given back to customers.
    ("MA@2021", "us-gaap:Revenues", "revenue may be told before something was taken off it"),
    ("NEE@2021", "us-gaap:RegulatedAndUnregulatedOperatingRevenue", "revenue may be only a part"),
])  # fmt: skip
def test_contracts_that_are_not_quite_what_was_left_and_spent_say_so(name, concept, says):
    """Of most filers without a total they are all of it. Nothing in the document tells for sure, so it is said."""
    found = ask_without(name, concept)
    assert found.revenue.concept.startswith("us-gaap:RevenueFromContractWithCustomer")
    assert says in found.note


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


OUTSIDE = [
    ("contracts", "RevenueNotFromContractWithCustomer"),
    ("contracts", "RevenueFromCollaborativeArrangementExcludingRevenueFromContractWithCustomer"),
    ("RegulatedOperatingRevenue", "UnregulatedOperatingRevenue"),
]


@pytest.mark.parametrize(("part", "other"), OUTSIDE)
def test_parts_that_exclude_each_other_are_no_total_unless_their_sum_is_proved(part, other):
    parts = f"""
        {part} USD 200m {YEAR}
        {other} USD 500m {YEAR}
        NetIncomeLoss USD 50m {YEAR}
    """
    found = made(parts)
    assert found.revenue is None
    assert "only a part" in found.note
    proved = made(f"""{parts}
        OperatingExpenses USD 620m {YEAR}
        OperatingIncomeLoss USD 80m {YEAR}
    """)
    assert proved.revenue.value == 700_000_000
    assert "which tags no total" in proved.note


def test_contracts_and_what_is_outside_of_them_make_the_total_of_a_real_utility():
    found = ask_without("NJR@2021", "us-gaap:RegulatedAndUnregulatedOperatingRevenue")
    assert found.revenue.value == CASES["NJR@2021"]["revenue"]["value"]
    assert "which tags no total" in found.note


def test_contracts_are_a_total_beside_the_little_that_hedges_bring():
    found = made(f"""
        contracts USD 900m {YEAR}
        RevenueNotFromContractWithCustomer USD 20m {YEAR}
        NetIncomeLoss USD 50m {YEAR}
    """)
    assert found.revenue.value == 900_000_000


@pytest.mark.parametrize(("name", "spent", "value"), [
    ("BenefitsLossesAndExpenses", 1400, None),
    ("CostsAndExpenses", 1400, None),
    # What was gained beside the sales, such as from a part of the business that was sold.
    ("CostsAndExpenses", 300, 400_000_000),
])  # fmt: skip
def test_what_was_left_before_taxes_and_spent_is_asked_where_no_operating_income_is(name, spent, value):
    """An insurer's fees may be more than its premiums, and less than a third of what it takes in."""
    found = made(f"""
        contracts USD 400m {YEAR}
        PremiumsEarnedNet USD 300m {YEAR}
        {name} USD {spent}m {YEAR}
        {PRETAX[0].partition(":")[2]} USD 200m {YEAR}
        NetIncomeLoss USD 150m {YEAR}
    """)
    assert (found.revenue.value if found.revenue else None) == value


def without_newest(name, day, *concepts):
    """As of a day, without what the newest annual report says under these concepts."""
    case = CASES[name]
    newest = study(case.filer.company, case.filer.facts, day).revenue.accession
    left = {
        concept: {unit: tuple(row for row in rows if row.accession != newest) for unit, rows in units.items()}
        if concept in concepts
        else units
        for concept, units in case.filer.facts.concepts.items()
    }
    return study(case.filer.company, CompanyFacts(case.cik, left, case.filer.facts.unread), day)


@pytest.mark.parametrize(("name", "day", "total"), [
    # Rent is three quarters of it, and a trust of landlords pays no taxes that a profit could stand before.
    ("ARE@2021", date(2016, 2, 10), "us-gaap:RealEstateRevenueNet"),
    ("ARE@2021", date(2017, 2, 10), "us-gaap:RealEstateRevenueNet"),
    # A landlord abroad: its contracts are a ninth of it, and three times as much was left before taxes.
    ("LPA@2025-05-01", date(2024, 5, 1), "ifrs-full:Revenue"),
])  # fmt: skip
def test_a_part_of_what_a_landlord_takes_in_is_no_revenue(name, day, total):
    found = without_newest(name, day, total)
    assert found.revenue is None
    assert "revenue: only a part of it is reported" in found.note


def test_what_a_part_of_the_business_was_sold_for_says_nothing_against_the_sales():
    """A whole profit has it in it, and no tax or operating income stands between."""
    found = made(f"""
        contracts USD 100m {YEAR}
        CostsAndExpenses USD 90m {YEAR}
        ProfitLoss USD 200m {YEAR}
    """)
    assert found.revenue.value == 100_000_000


def test_what_is_left_for_common_shares_is_told_with_the_preferred_dividends():
    found = made(f"""
        Revenues USD 6000m {YEAR}
        NetIncomeLossAvailableToCommonStockholdersBasic USD 1000m {YEAR}
        PreferredStockDividendsAndOtherAdjustments USD 200m {YEAR}
        EarningsPerShareBasic USD/shares 5 {YEAR}
        average shares 200m {YEAR}
    """)
    assert found.net_income.value == 1_200_000_000
    assert "plus its preferred dividends" in found.note


def test_beside_a_total_a_part_is_called_a_part_and_not_blamed_on_interest():
    """A landlord's contracts are little beside its rent, and the interest on its cash stands outside of both."""
    case = CASES["LPA@2025-05-01"]
    found = study(case.filer.company, case.filer.facts, case.today).candidates.revenue
    reasons = {each.reason for each in found if each.concept == "ifrs-full:RevenueFromContractsWithCustomers"}
    assert "A part of the total that stands under Revenue." in reasons
    assert not any("Interest" in reason for reason in reasons)


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


@pytest.mark.parametrize("interest", ["RevenueFromInterest", "InterestRevenueCalculatedUsingEffectiveInterestMethod"])
def test_contracts_of_a_bank_abroad_are_not_its_revenue(interest):
    year = YEAR.replace("10-K", "20-F")
    found = made(f"""
        ifrs-full:RevenueFromContractsWithCustomers EUR 5000m {year}
        ifrs-full:{interest} EUR 25000m {year}
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


@pytest.mark.parametrize(("total", "beside", "revenue"), [
    # A maker that lends to its customers tags what that part of it earns after interest.
    ("Revenues", "", 1000), ("contracts", "", 1000),
    # Interest takes more than half of what a large broker takes in, and may be among the expenses that prove the whole.
    ("Revenues", "netOfInterest USD 420m {YEAR}", 420),
    ("Revenues", "netOfInterest USD 900m {YEAR}\nOperatingIncomeLoss USD 300m {YEAR}\nCostsAndExpenses USD 700m {YEAR}", 900),
])  # fmt: skip
def test_revenue_after_interest_goes_first_unless_it_is_that_of_a_lender_in_the_house(total, beside, revenue):
    lender = beside.replace("{YEAR}", YEAR) or f"netOfInterest USD 50m {YEAR}"
    found = made(f"{total} USD 1000m {YEAR}\nNetIncomeLoss USD 80m {YEAR}\n{lender}")
    assert found.revenue.value == revenue * 10**6


@pytest.mark.parametrize("cost", [
    "CostOfServices", "DirectOperatingCosts", "CostOfGoodsAndServiceExcludingDepreciationDepletionAndAmortization",
])  # fmt: skip
def test_contracts_are_believed_where_the_costs_stand_apart_from_the_expenses(cost):
    """Without them the expenses would be all that was spent, and the contracts more than was left over and spent."""
    text = f"contracts USD 100m {YEAR}\nOperatingExpenses USD 45m {YEAR}\nOperatingIncomeLoss USD 15m {YEAR}"
    told, alone = made(f"{text}\n{cost} USD 40m {YEAR}"), made(text)
    assert told.revenue.value == alone.revenue.value == 100 * 10**6
    assert "revenue" not in told.note
    assert "revenue may be told before something was taken off it" in alone.note


@pytest.mark.parametrize(("cost", "is_said"), [(4654, True), (10_598, False)])
def test_a_total_abroad_that_may_include_excise_says_so(cost, is_said):
    """Diageo sold for 17,697 and kept 11,752 of it: the rest is excise, under a name of its own."""
    year = YEAR.replace("10-K", "20-F")
    found = made(f"""
        ifrs-full:Revenue GBP 17697m {year}
        ifrs-full:CostOfSales GBP {cost}m {year}
        ifrs-full:GrossProfit GBP 7098m {year}
        ifrs-full:ProfitLoss GBP 1454m {year}
    """)
    assert found.revenue.value == 17_697 * 10**6
    assert ("revenue may include excise: gross profit and cost of sales make 11752000000" in found.note) is is_said


def test_revenue_of_insurance_alone_says_what_is_not_in_it():
    year = YEAR.replace("10-K", "20-F")
    found = made(f"ifrs-full:InsuranceRevenue USD 9371m {year}\nifrs-full:ProfitLoss USD 1712m {year}")
    assert found.revenue.value == 9371 * 10**6
    assert "what investments earned is not in it" in found.note


GAIN = """
    contracts USD 35667m {year}
    OperatingExpenses USD 31996m {year}
    OperatingIncomeLoss USD {operating}m {year}
    NetIncomeLoss USD 7005m {year}
    contracts USD 36799m {before}
    OperatingExpenses USD 32734m {before}
    OperatingIncomeLoss USD {last}m {before}
    NetIncomeLoss USD 3189m {before}
"""


@pytest.mark.parametrize("operating", [5651, 1500], ids=["a business was sold", "goodwill was written down"])
def test_sales_that_were_all_of_revenue_a_year_ago_are_so_beside_a_gain_or_a_write_down(operating):
    found = made(GAIN.format(year=YEAR, before=YEAR_BEFORE, operating=operating, last=4065))
    assert found.revenue.value == 35_667_000_000


def test_sales_that_were_not_all_of_it_a_year_ago_may_be_a_part():
    found = made(GAIN.format(year=YEAR, before=YEAR_BEFORE, operating=5651, last=6065))
    assert found.revenue.value == 35_667_000_000
    assert "revenue may be only a part: what was left over and spent makes 37647000000" in found.note


PRETAX_NAME = PRETAX[0].partition(":")[2]
ABROAD = "2023-01-01 2023-12-31 20-F 2024-03-20"


@pytest.mark.parametrize(("part", "lines"), [
    ("contracts", (f"CostOfGoodsAndServicesSold USD 560m {YEAR}", f"{PRETAX_NAME} USD 20m {YEAR}")),
    ("ifrs-full:RevenueFromRenderingOfServices",
     (f"ifrs-full:CostOfSales USD 560m {YEAR}", f"ifrs-full:ProfitLossFromOperatingActivities USD 20m {YEAR}")),
])  # fmt: skip
@pytest.mark.parametrize(("profit", "is_part"), [("16m", True), ("-16m", False)])
def test_what_does_not_pay_for_the_goods_and_leaves_a_profit_is_a_part(part, lines, profit, is_part):
    """A trader's contracts leave out what it sells as derivatives, a miner's services what it digs."""
    found = made("\n".join((f"{part} USD 410m {YEAR}", *lines, f"NetIncomeLoss USD {profit} {YEAR}")))
    assert (found.revenue is None) is is_part
    assert ("revenue: only a part of it is reported" in (found.note or "")) is is_part


@pytest.mark.parametrize(("one", "other"), [
    ("RevenueFromRenderingOfTelecommunicationServices", "RevenueFromSaleOfGoods"),
    ("RevenueFromSaleOfOilAndGasProducts", "RevenueFromRenderingOfServices"),
])  # fmt: skip
def test_of_parts_abroad_that_exclude_each_other_none_is_the_total(one, other):
    for largest, least in ((one, other), (other, one)):
        found = made(f"""
            ifrs-full:{largest} EUR 800m {ABROAD}
            ifrs-full:{least} EUR 200m {ABROAD}
            ifrs-full:ProfitLoss EUR 90m {ABROAD}
        """)
        assert found.revenue is None


@pytest.mark.parametrize(("spent", "is_said"), [(580, True), (395, False)])
def test_contracts_beside_which_more_was_left_and_spent_say_so(spent, is_said):
    found = made(f"""
        contracts USD 410m {YEAR}
        CostsAndExpenses USD {spent}m {YEAR}
        {PRETAX_NAME} USD 20m {YEAR}
        NetIncomeLoss USD 16m {YEAR}
    """)
    assert found.revenue.value == 410_000_000
    assert ("revenue may be only a part: what was left over and spent makes 600000000" in (found.note or "")) is is_said


@pytest.mark.parametrize(("profit", "is_said"), [("900m", True), ("90m", False)])
def test_a_total_abroad_of_which_more_was_left_says_so(profit, is_said):
    found = made(f"""
        ifrs-full:Revenue EUR 100m {ABROAD}
        ifrs-full:ProfitLossBeforeTax EUR {profit} {ABROAD}
        ifrs-full:ProfitLoss EUR {profit} {ABROAD}
    """)
    assert found.revenue.value == 100_000_000
    assert ("revenue may be only a part: more was left" in found.note) is is_said
