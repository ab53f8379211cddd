"""Kinds of filers that break simple rules: banks, insurers, landlords, holding structures, foreign issuers, slips.

Each is a small document as such a filer would tag it. The answers were worked out by hand, from the statement that the
tags would stand on.
"""

import json
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

import pytest

from tickyard.features.research.study import study
from tickyard.sources.filings.border import Company, read_facts

TODAY = date(2026, 9, 16)
YEAR = ("2025-01-01", "2025-12-31")
YEAR_BEFORE = ("2024-01-01", "2024-12-31")
SHORT = {
    "contracts": "us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax",
    "contractsGross": "us-gaap:RevenueFromContractWithCustomerIncludingAssessedTax",
    "netOfInterest": "us-gaap:RevenuesNetOfInterestExpense",
    "netInterest": "us-gaap:InterestIncomeExpenseNet",
    "noninterest": "us-gaap:NoninterestIncome",
    "rent": "us-gaap:OperatingLeaseLeaseIncome",
    "operating": "us-gaap:OperatingIncomeLoss",
    "spent": "us-gaap:CostsAndExpenses",
    "pretax": "us-gaap:IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItemsNoncontrollingInterest",
    "cost": "us-gaap:CostOfRevenue",
    "minority": "us-gaap:NetIncomeLossAttributableToNoncontrollingInterest",
    "common": "us-gaap:NetIncomeLossAvailableToCommonStockholdersBasic",
    "perShare": "us-gaap:EarningsPerShareBasic",
    "average": "us-gaap:WeightedAverageNumberOfSharesOutstandingBasic",
    "cover": "dei:EntityCommonStockSharesOutstanding",
    "balance": "us-gaap:CommonStockSharesOutstanding",
    "float": "dei:EntityPublicFloat",
    "owners": "ifrs-full:ProfitLossAttributableToOwnersOfParent",
}
MOMENTS = ("cover", "balance", "float", "ifrs-full:NumberOfSharesOutstanding")
COUNTS = (*MOMENTS, "average", "ifrs-full:WeightedAverageShares")


@dataclass(frozen=True)
class Filing:
    form: str
    filed: str
    amounts: dict
    period: tuple[str, str] = YEAR
    unit: str = "USD"
    day: str | None = None

    def rows(self):
        for name, value in self.amounts.items():
            concept = SHORT.get(name, name if ":" in name else f"us-gaap:{name}")
            unit = self.unit
            if name in COUNTS and name != "float":
                unit = "shares"
            elif "PerShare" in concept:
                unit = f"{self.unit}/shares"
            end = self.day or self.period[1] if name in ("cover",) else self.period[1]
            start = {} if name in MOMENTS else {"start": self.period[0]}
            number = int(self.filed[5:7]) * 100 + int(self.filed[8:]) + 10_000 * len(self.form)
            accession = f"0000000001-{self.filed[2:4]}-{number:06d}"
            row = {**start, "end": end, "val": value, "accn": accession, "form": self.form, "filed": self.filed}
            yield concept, unit, row


def k10(**amounts):
    return Filing("10-K", "2026-02-14", amounts)


def f20(unit="USD", **amounts):
    return Filing("20-F", "2026-03-14", {name.replace("__", ":"): value for name, value in amounts.items()}, unit=unit)


def q10(filed="2026-08-10", period=("2026-04-01", "2026-06-30"), day="2026-08-01", form="10-Q", **amounts):
    return Filing(form, filed, amounts, period=period, day=day)


def ifrs(**amounts):
    return {f"ifrs-full:{name}": value for name, value in amounts.items()}


@dataclass(frozen=True)
class Kind:
    name: str
    filings: list
    revenue: int | None = None
    income: int | None = None
    shares: int | None = None
    unit: str = "USD"
    says: tuple[str, ...] = ()
    is_silent_on: tuple[str, ...] = field(default=())


BANK_NOTE = "revenue is net interest plus non-interest income"
KINDS = [
    Kind(
        "a profit per share that is next to nothing",
        [k10(Revenues=19_256_000_000, NetIncomeLoss=57_411_000_000, perShare=1e-20, average=17_352_119_000,
             cover=17_001_802_000)],
        revenue=19_256_000_000, income=57_411_000_000, shares=17_001_802_000,
    ),
    Kind(
        "profits that are next to nothing beside a profit per share",
        [k10(Revenues=500, ProfitLoss=4e-60, minority=1e-60, NetIncomeLoss=2e-60, perShare=4.9, average=100_000_000)],
        revenue=500, income=Decimal("2e-60"),
    ),
    Kind(
        "partners' units apart under a name of the filer's own: what was divided is about the owners' part",
        [k10(Revenues=8_000_000_000, ProfitLoss=1_000_000_000, minority=100_000_000, NetIncomeLoss=500_000_000,
             perShare=4.9, average=100_000_000)],
        revenue=8_000_000_000, income=500_000_000,
    ),
    Kind(
        "minority owners had more than the whole profit: a loss remained for the others",
        [k10(Revenues=500_000_000, ProfitLoss=50_000_000, minority=80_000_000, perShare=-0.3, average=100_000_000)],
        revenue=500_000_000, income=-30_000_000, says=("less the minority owners' part",),
    ),
    Kind(
        "preferred dividends took more than the profit and left a loss of its size",
        [k10(Revenues=500_000_000, NetIncomeLoss=20_000_000, common=-10_000_000, perShare=-0.1, average=100_000_000,
             PreferredStockDividendsIncomeStatementImpact=30_000_000)],
        revenue=500_000_000, income=20_000_000,
    ),
    Kind(
        "a profit told with a turned sign, beside preferred dividends that do not explain it",
        [k10(Revenues=500_000_000, NetIncomeLoss=20_000_000, common=-21_000_000, perShare=-0.21, average=100_000_000,
             PreferredStockDividendsIncomeStatementImpact=1_000_000)],
        revenue=500_000_000, income=None, says=("opposite sign",),
    ),
    Kind(
        "a fund that lends: interest is a part of its income from investments",
        [k10(GrossInvestmentIncomeOperating=1511, InterestAndDividendIncomeOperating=1400, NetIncomeLoss=484)],
        revenue=1511, income=484,
    ),
    Kind(
        "contracts beside rent under a name of the filer's own: gross profit and cost of sales know of both",
        [f20(**ifrs(RevenueFromContractsWithCustomers=800, CostOfSales=500, GrossProfit=500, ProfitLoss=90))],
        revenue=None, income=90, says=("only a part of it is reported",),
    ),
    Kind(
        "sales beside royalties of a fortieth of them",
        [f20(**ifrs(RevenueFromSaleOfGoods=800, CostOfSales=500, GrossProfit=320, ProfitLoss=90))],
        revenue=800, income=90,
    ),
    Kind(
        "a profit of less than half a cent a share, a thousandth of the year before",
        [Filing("10-K", "2026-02-14", {"Revenues": 5_000_000_000, "NetIncomeLoss": 300_000_000}, period=YEAR_BEFORE),
         k10(Revenues=5_000_000_000, NetIncomeLoss=300_000, perShare=0, average=100_000_000, cover=100_000_000)],
        revenue=5_000_000_000, income=300_000, shares=100_000_000,
    ),
    Kind(
        "the whole profit under both names, a minority's part, and no profit per share",
        [k10(Revenues=80_000, ProfitLoss=6500, NetIncomeLoss=6500, minority=1500)],
        revenue=80_000, income=6500, says=("netIncome may include the share of minority owners: the filing tells one",),
    ),
    Kind(
        "the owners' part under both names, and a minority's part: profit per share tells",
        [k10(Revenues=80_000_000_000, ProfitLoss=6_500_000_000, NetIncomeLoss=6_500_000_000, minority=1_500_000_000,
             perShare=6.5, average=1_000_000_000)],
        revenue=80_000_000_000, income=6_500_000_000, is_silent_on=("netIncome",),
    ),
    Kind(
        "a cover that leaves out a class of a third, every time",
        [k10(Revenues=10, NetIncomeLoss=1, average=100_000_000, cover=66_000_000),
         q10(average=100_000_000, cover=66_000_000)],
        revenue=10, income=1, shares=None, says=("may leave out a class",),
    ),
    Kind(
        "a cover after buy-backs of a quarter",
        [k10(Revenues=10, NetIncomeLoss=1, average=100_000_000, cover=98_000_000),
         q10(average=100_000_000, cover=75_000_000)],
        revenue=10, income=1, shares=75_000_000,
    ),
    Kind(
        "a bank that tags its total before interest expense",
        [k10(Revenues=2200, InterestAndDividendIncomeOperating=2000, netInterest=800, noninterest=200,
             NetIncomeLoss=200)],
        revenue=2200, income=200, says=("before interest expense: net interest and non-interest income make 1000.",),
    ),
    Kind(
        "a regional bank that tags two parts and no total",
        [k10(netInterest=690, noninterest=354, contracts=81, NetIncomeLoss=289, ProfitLoss=289)],
        revenue=1044, income=289, says=(BANK_NOTE,),
    ),
    Kind(
        "a bank whose only revenue tags are the two parts",
        [k10(netInterest=690, noninterest=354, NetIncomeLoss=289)],
        revenue=1044, income=289, says=(BANK_NOTE,),
    ),
    Kind(
        "a bank with fees and net interest, but no total of other income",
        [k10(netInterest=690, contracts=300, NetIncomeLoss=289)],
        revenue=None, income=289, says=("revenue: only a part",),
    ),
    Kind(
        "a broker with a total before and one after interest expense",
        [k10(Revenues=8168, netOfInterest=7990, contracts=6500, NetIncomeLoss=818)],
        revenue=7990, income=818,
    ),
    Kind(
        "a young drug maker whose interest is comparable to its sales",
        [k10(contracts=60, netInterest=38, operating=-500, NetIncomeLoss=-460)],
        revenue=60, income=-460,
    ),
    Kind(
        "a younger one whose interest is larger than its sales",
        [k10(Revenues=5, netInterest=38, operating=-500, NetIncomeLoss=-460)],
        revenue=5, income=-460,
    ),
    Kind(
        "a health insurer: premiums are the most, contracts a slice",
        [k10(Revenues=447567, PremiumsEarnedNet=350000, contracts=80000, pretax=15000, NetIncomeLoss=12056)],
        revenue=447567, income=12056,
    ),
    Kind(
        "an insurer whose tagged total is less than its premiums",
        [k10(Revenues=900, PremiumsEarnedNet=1200, NetIncomeLoss=70)],
        revenue=None, income=70, says=("revenue: only a part",),
    ),
    Kind(
        "a landlord of flats: rent is all there is",
        [k10(OperatingLeasesIncomeStatementLeaseRevenue=2571, operating=1317, spent=1785,
             GainsLossesOnSalesOfInvestmentRealEstate=531, NetIncomeLoss=913, ProfitLoss=962, minority=34)],
        revenue=2571, income=913,
    ),
    Kind(
        "a landlord with hotels: rent and contracts add up, and no total is tagged",
        [k10(rent=800, contracts=200, operating=300, spent=700, NetIncomeLoss=150)],
        revenue=1000, income=150, says=("OperatingLeaseLeaseIncome plus RevenueFromContract",),
    ),
    Kind(
        "the same without anything that proves the sum",
        [k10(rent=800, contracts=200, NetIncomeLoss=150)],
        revenue=None, income=150, says=("revenue: only a part",),
    ),
    Kind(
        "a utility: contracts rounded in a note, the statement under a concept of its own",
        [k10(RegulatedAndUnregulatedOperatingRevenue=17997, contractsGross=17000, NetIncomeLoss=2919,
             ProfitLoss=2369, minority=-550)],
        revenue=17997, income=2919,
    ),
    Kind(
        "a card network: contracts before rebates",
        [k10(Revenues=15301, contracts=23616, operating=8081, OperatingExpenses=7220, ProfitLoss=6411,
             minority=-73, perShare=6.40, average=1002)],
        revenue=15301, income=6411,
    ),
    Kind(
        "tobacco: excise is most of the gross",
        [k10(contracts=28694, contractsGross=76047, GrossProfit=19125, cost=9569, NetIncomeLoss=8056)],
        revenue=28694, income=8056,
    ),
    Kind(
        "a maker whose segments sell to each other: gross profit proves the sales, the total of the segments is more",
        [k10(Revenues=5373, contracts=5237, GrossProfit=1046, cost=4191, operating=358, NetIncomeLoss=207)],
        revenue=5237, income=207, says=("revenue may be without other revenue: the filing tags a total of 5373",),
    ),
    Kind(
        "a brewer whose total is before excise",
        [k10(Revenues=11700, contracts=9650, ExciseAndSalesTaxes=2050, GrossProfit=3800, cost=5850, NetIncomeLoss=950)],
        revenue=9650, income=950,
    ),
    Kind(
        "revenue that truly was negative",
        [k10(Revenues=-93, GrossProfit=-469, cost=376, netInterest=20, NetIncomeLoss=-596)],
        revenue=-93, income=-596,
    ),
    Kind(
        "a holding structure: most of the profit is the partners'",
        [k10(Revenues=15735, ProfitLoss=9399, minority=9201, common=198, NetIncomeLoss=198)],
        revenue=15735, income=198,
    ),
    Kind(
        "the same, with the whole profit under the name of the owners' part",
        [k10(Revenues=2218, NetIncomeLoss=1179, minority=984, perShare=2.44, average=80)],
        revenue=2218, income=195, says=("less the minority owners' part",),
    ),
    Kind(
        "a whole profit, minority owners in two parts, preferred dividends on top",
        [k10(Revenues=4607, ProfitLoss=1277, common=1109,
             NetIncomeLossAttributableToRedeemableNoncontrollingInterest=5,
             NetIncomeLossAttributableToNonredeemableNoncontrollingInterest=160)],
        revenue=4607, income=1112, says=("less the minority owners' part",),
    ),
    Kind(
        "preferred dividends explain what is missing: there are no minority owners",
        [k10(Revenues=100, ProfitLoss=50, common=40, PreferredStockDividendsIncomeStatementImpact=10)],
        revenue=100, income=50, is_silent_on=("minority",),
    ),
    Kind(
        "net income only after preferred dividends",
        [k10(Revenues=6796, common=59)],
        revenue=6796, income=59, says=("available to common",),
    ),
    Kind(
        "a foreign bank: fees comparable to net interest are no total",
        [f20("GBP", **ifrs(RevenueFromContractsWithCustomers=8522, InterestRevenueExpense=8122, ProfitLoss=2461,
                           ProfitLossAttributableToOwnersOfParent=2383))],
        revenue=None, income=2383, unit="GBP", says=("revenue: only a part",),
    ),
    Kind(
        "a foreign bank that tags its total income",
        [f20("EUR", **ifrs(RevenueAndOperatingIncome=44279, InterestRevenueExpense=31994,
                           RevenueFromContractsWithCustomers=10000, ProfitLossAttributableToOwnersOfParent=2000))],
        revenue=44279, income=2000, unit="EUR",
    ),
    Kind(
        "goods and services abroad, each a part, their sum proved",
        [f20("EUR", **ifrs(RevenueFromSaleOfGoods=600, RevenueFromRenderingOfServices=400, GrossProfit=300,
                           CostOfSales=700, ProfitLoss=90, ProfitLossAttributableToNoncontrollingInterests=10))],
        revenue=1000, income=80, unit="EUR", says=("revenue is RevenueFromSaleOfGoods plus",),
    ),
    Kind(
        "a maker of medicine abroad: goods sold, and a little other revenue",
        [f20("USD", **ifrs(RevenueFromSaleOfGoods=48659, OtherRevenue=1239, GrossProfit=34777, CostOfSales=15121,
                           ProfitLossAttributableToOwnersOfParent=8072))],
        revenue=48659, income=8072,
    ),
    Kind(
        "a year that so far stands on a 6-K only",
        [Filing("20-F", "2025-03-14", ifrs(Revenue=900, ProfitLoss=80), period=("2024-01-01", "2024-12-31")),
         Filing("6-K", "2026-02-20", ifrs(Revenue=1000, ProfitLoss=90)),
         Filing("6-K", "2026-08-20", ifrs(Revenue=1100, ProfitLoss=95), period=("2025-07-01", "2026-06-30"))],
        revenue=1000, income=90,
    ),
    Kind(
        "an average in thousands beside a cover and profits that fit each other",
        [k10(Revenues=19256, NetIncomeLoss=1),
         q10(NetIncomeLoss=982_000_000, perShare=0.75, average=1_300_375, cover=1_349_418_454)],
        revenue=19256, income=1, shares=1_349_418_454,
    ),
    Kind(
        "a cover in thousands beside an average and profits that fit each other",
        [k10(Revenues=19256, NetIncomeLoss=1),
         q10(NetIncomeLoss=982_000_000, perShare=0.75, average=1_300_375_000, cover=1_349_418)],
        revenue=19256, income=1, shares=1_300_375_000, says=("a thousand times off",),
    ),
    Kind(
        "only an average, in thousands, that profit per share sets right",
        [k10(Revenues=19256, NetIncomeLoss=1), q10(NetIncomeLoss=982_000_000, perShare=0.75, average=1_300_375)],
        revenue=19256, income=1, shares=1_300_375_000, says=("a factor of 1000 off",),
    ),
    Kind(
        "a count of the time before a merger, which later reports do not repeat",
        [k10(Revenues=11691, NetIncomeLoss=3299), q10(average=1_882_000_000),
         q10("2025-11-08", ("2025-07-01", "2025-09-30"), "2025-10-31", cover=1_288_641_882)],
        revenue=11691, income=3299, shares=1_882_000_000, says=("is not repeated in the later 10-Q",),
    ),
    Kind(
        "a count of the time before the listing, in the balance sheet of an earlier quarter",
        [k10(Revenues=500, NetIncomeLoss=-400), q10(average=233_000_000),
         q10("2026-05-10", ("2026-01-01", "2026-03-31"), balance=59_239_370)],
        revenue=500, income=-400, shares=233_000_000, says=("no single count stands on the cover",),
    ),
    Kind(
        "an amendment repeats an older cover and is not the newest word",
        [k10(Revenues=26153, NetIncomeLoss=4467), q10(cover=1_850_637_974, average=1_855_000_000),
         q10("2026-09-01", YEAR, "2026-02-15", "10-K/A", cover=1_858_689_654)],
        revenue=26153, income=4467, shares=1_850_637_974,
    ),
    Kind(
        "a merger with a shell: far more shares than the average of the shell",
        [k10(Revenues=10, NetIncomeLoss=-90), q10(cover=1_618_621_534, average=27_600_000, balance=37_900_000)],
        revenue=10, income=-90, shares=1_618_621_534,
    ),
    Kind(
        "a count that its public float makes impossible",
        [k10(Revenues=10, NetIncomeLoss=1, float=90_000_000_000, cover=450_000)],
        revenue=10, income=1, shares=None, says=("too small for a public float",),
    ),
    Kind(
        "a year restated in part: the newest filing of it wins, minority owners stay set apart",
        [k10(Revenues=110, ProfitLoss=20, minority=5, NetIncomeLoss=15),
         Filing("10-K/A", "2026-05-01", {"Revenues": 100, "ProfitLoss": 18, "minority": 5, "NetIncomeLoss": 13})],
        revenue=100, income=13,
    ),
    Kind(
        "a company after a spin-off: the totals of the old one say nothing",
        [Filing("10-K", "2025-02-14", {"contracts": 21_000, "Revenues": 86_000, "NetIncomeLoss": 4000},
                period=("2024-01-01", "2024-12-31")),
         k10(Revenues=20397, NetIncomeLoss=-2951, ProfitLoss=-2923, minority=28)],
        revenue=20397, income=-2951,
    ),
    Kind(
        "a maker of food: the tag of a total stands on a joint venture, the cost of sales shows it",
        [k10(Revenues=11000, contracts=18127, cost=11678, operating=3144, NetIncomeLoss=2339)],
        revenue=18127, income=2339,
    ),
    Kind(
        "gross billings beside the total, and nothing that proves either",
        [k10(Revenues=1000, contracts=1600, NetIncomeLoss=90)],
        revenue=1000, income=90,
    ),
    Kind(
        "revenue under a concept of the filer's own, which two sums give away",
        [k10(GrossProfit=400, cost=600, operating=150, spent=850, NetIncomeLoss=90)],
        revenue=1000, income=90, says=("under a concept of the filer's own",),
    ),
    Kind(
        "the same with one sum only: not enough",
        [k10(GrossProfit=400, cost=600, NetIncomeLoss=90)],
        revenue=None, income=90, says=("revenue: not reported",),
    ),
    Kind(
        "a listed class beside partners: the cover counts the class, profit per share is the class's",
        [k10(Revenues=2218, ProfitLoss=1_179_000_000, minority=984_000_000, common=195_000_000, perShare=2.44),
         q10(ProfitLoss=310_000_000, perShare=0.60, cover=90_800_000)],
        revenue=2218, income=195_000_000, shares=90_800_000, says=("less the minority",),
    ),
    Kind(
        "a cover a thousand times off, and only profit per share to tell",
        [k10(Revenues=2218, NetIncomeLoss=195_000_000, perShare=2.44),
         q10(NetIncomeLoss=54_000_000, perShare=0.60, cover=90_800_000_000)],
        revenue=2218, income=195_000_000, shares=None, says=("a thousand times off",),
    ),
    Kind(
        "an exact amount in the table and a rounded one in the text",
        [k10(Revenues=17_997_400_000, NetIncomeLoss=1), Filing("10-K", "2026-02-14", {"Revenues": 18_000_000_000})],
        revenue=17_997_400_000, income=1,
    ),
    Kind(
        "a limited partnership: units on the cover, the partners' part of the profit",
        [k10(contracts=27199, operating=5035, spent=22164, ProfitLoss=3885, minority=110, NetIncomeLoss=3775),
         q10(cover=2_183_000_000)],
        revenue=27199, income=3775, shares=2_183_000_000,
    ),
    Kind(
        "a bank whose tagged total is more than each part and less than both",
        [k10(Revenues=800, netInterest=690, noninterest=354, NetIncomeLoss=289)],
        revenue=1044, income=289, says=(BANK_NOTE,),
    ),
    Kind(
        "a landlord's fees beside rent that operating income, without gains on property, proves to be the total",
        [k10(rent=2571, contracts=100, operating=1317, spent=1785, GainsLossesOnSalesOfInvestmentRealEstate=531,
             NetIncomeLoss=913)],
        revenue=2571, income=913,
    ),
    Kind(
        "a half-year report tells last year otherwise than the annual report: the latter stands",
        [f20(**ifrs(Revenue=1000, ProfitLoss=90)), Filing("6-K", "2026-08-20", ifrs(Revenue=950, ProfitLoss=80))],
        revenue=1000, income=90,
    ),
    Kind(
        "an average in thousands, no profit per share, but cover and balance sheet agree",
        [k10(Revenues=10, NetIncomeLoss=1),
         q10(average=1_300_375, cover=1_349_418_454, balance=1_350_000_000)],
        revenue=10, income=1, shares=1_349_418_454,
    ),
    Kind(
        "a filer that catches up: two quarters filed on one day, the later one counts",
        [k10(Revenues=10, NetIncomeLoss=1),
         q10(average=50_000_000), q10(form="10-QT", average=40_000_000, period=("2026-01-01", "2026-03-31"))],
        revenue=10, income=1, shares=50_000_000, says=("weighted average",),
    ),
    Kind(
        "a fund that lends: all of its income is from investments",
        [k10(GrossInvestmentIncomeOperating=1511, NetIncomeLoss=484)],
        revenue=1511, income=484,
    ),
    Kind(
        "an owners' part of which preferred dividends took about what a minority did",
        [k10(Revenues=9_000_000_000, NetIncomeLoss=1_000_000_000, minority=60_000_000, common=945_000_000,
             PreferredStockDividendsIncomeStatementImpact=55_000_000, perShare=4.73, average=199_800_000)],
        revenue=9_000_000_000, income=1_000_000_000, is_silent_on=("less the minority",),
    ),
    Kind(
        "the same to the last digit",
        [k10(Revenues=9_000_000_000, NetIncomeLoss=1_000_000_000, minority=55_000_000, common=945_000_000,
             PreferredStockDividendsIncomeStatementImpact=55_000_000, perShare=4.73, average=199_800_000)],
        revenue=9_000_000_000, income=1_000_000_000, is_silent_on=("less the minority",),
    ),
    Kind(
        "an insurer that lost on investments: all that was left and spent is less than its premiums",
        [k10(Revenues=10968, PremiumsEarnedNet=11614, contracts=1500, pretax=-5940, spent=17500, NetIncomeLoss=-3213)],
        revenue=10968, income=-3213,
    ),
    Kind(
        "the same beside a total that is far from what was left and spent",
        [k10(Revenues=8968, PremiumsEarnedNet=11614, contracts=1500, pretax=-5940, spent=17500, NetIncomeLoss=-3213)],
        revenue=None, income=-3213, says=("revenue: only a part",),
    ),
    Kind(
        "a table of segments under the name of the total: cost of sales and operating income are more",
        [k10(Revenues=7000, contracts=10000, cost=6500, operating=2000, NetIncomeLoss=1500)],
        revenue=10000, income=1500,
    ),
    Kind(
        "a total that is less than contracts, and nothing tells which is right",
        [k10(Revenues=7000, contracts=10000, pretax=2000, NetIncomeLoss=1500)],
        revenue=7000, income=1500, says=("contracts with customers are 10000",),
    ),
    Kind(
        "a bank that tags neither the interest it takes in nor what its total is made of",
        [k10(Revenues=10000, netInterest=5000, noninterest=3000, pretax=2500, NetIncomeLoss=2000)],
        revenue=10000, income=2000, says=("may be before interest expense", "make 8000"),
    ),
    Kind(
        "a balance sheet that counts the treasury, or partners, and no cover to tell",
        [k10(Revenues=10, NetIncomeLoss=1), q10(average=100_000_000, balance=150_000_000)],
        revenue=10, income=1, shares=150_000_000, says=("average in the same report is 100000000",),
    ),
    Kind(
        "a balance sheet with what was issued over the period",
        [k10(Revenues=10, NetIncomeLoss=1), q10(average=100_000_000, balance=120_000_000)],
        revenue=10, income=1, shares=120_000_000, is_silent_on=("average in the same report",),
    ),
    Kind(
        "a gain beside the sales, and only a number with taxes in it that is more",
        [k10(Revenues=1000, contractsGross=1300, cost=800, operating=350, NetIncomeLoss=250)],
        revenue=1000, income=250,
    ),
]  # fmt: skip


def document(filings):
    facts = {}
    for filing in filings:
        for concept, unit, row in filing.rows():
            taxonomy, _, tag = concept.partition(":")
            units = facts.setdefault(taxonomy, {}).setdefault(tag, {"units": {}})["units"]
            units.setdefault(unit, []).append(row)
    return json.dumps({"cik": 1, "facts": facts}).encode()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind_of_filer_is_read_as_its_statement_says(kind):
    company = Company(cik=1, name="Example", fiscal_year_end="1231")
    found = study(company, read_facts(document(kind.filings), 1), TODAY)
    assert (found.revenue.value if found.revenue else None) == kind.revenue
    assert (found.net_income.value if found.net_income else None) == kind.income
    assert (found.shares.value if found.shares else None) == kind.shares
    for fact in (found.revenue, found.net_income):
        assert fact is None or fact.unit == kind.unit
    assert all(phrase in (found.note or "") for phrase in kind.says)
    assert not any(phrase in (found.note or "") for phrase in kind.is_silent_on)


def test_there_are_more_than_thirty_kinds():
    assert len({kind.name for kind in KINDS}) == len(KINDS) > 30
