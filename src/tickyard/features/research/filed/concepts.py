"""Which reported concepts stand for which figure, and how they relate to one another."""

from decimal import Decimal

Number = int | Decimal

REVENUES = "us-gaap:Revenues"
NET_OF_INTEREST = "us-gaap:RevenuesNetOfInterestExpense"
REGULATED = "us-gaap:RegulatedAndUnregulatedOperatingRevenue"
CONTRACTS_NET = "us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax"
CONTRACTS_GROSS = "us-gaap:RevenueFromContractWithCustomerIncludingAssessedTax"
SALES = "us-gaap:SalesRevenueNet"
IFRS_REVENUE = "ifrs-full:Revenue"
IFRS_CONTRACTS = "ifrs-full:RevenueFromContractsWithCustomers"
IFRS_INSURANCE = "ifrs-full:InsuranceRevenue"
IFRS_WITH_OTHER = "ifrs-full:RevenueAndOperatingIncome"

INVESTMENTS = "us-gaap:GrossInvestmentIncomeOperating"
"""All that a lender of the kind of a fund takes in: interest is in it, not beside it."""

LEASES = (
    "us-gaap:OperatingLeasesIncomeStatementLeaseRevenue",
    "us-gaap:LeaseIncome",
    "us-gaap:OperatingLeaseLeaseIncome",
)
"""Rent. It lies outside contracts with customers; alone it is all of a landlord's revenue."""

REGULATED_PART, UNREGULATED_PART = "us-gaap:RegulatedOperatingRevenue", "us-gaap:UnregulatedOperatingRevenue"
OUTSIDE_CONTRACTS = (
    "us-gaap:RevenueNotFromContractWithCustomer",
    "us-gaap:RevenueFromCollaborativeArrangementExcludingRevenueFromContractWithCustomer",
)
"""Revenue that is by definition no part of contracts with customers."""

GOODS, SERVICES = "us-gaap:SalesRevenueGoodsNet", "us-gaap:SalesRevenueServicesNet"
IFRS_GOODS, IFRS_SERVICES = "ifrs-full:RevenueFromSaleOfGoods", "ifrs-full:RevenueFromRenderingOfServices"
IFRS_OIL = "ifrs-full:RevenueFromSaleOfOilAndGasProducts"
IFRS_TELECOM = "ifrs-full:RevenueFromRenderingOfTelecommunicationServices"

COUNTERPARTS = (
    *((rent, contracts) for rent in LEASES for contracts in (CONTRACTS_NET, CONTRACTS_GROSS)),
    *((contracts, outside) for contracts in (CONTRACTS_NET, CONTRACTS_GROSS) for outside in OUTSIDE_CONTRACTS),
    (REGULATED_PART, UNREGULATED_PART),
    (GOODS, SERVICES),
    (SERVICES, GOODS),
    (IFRS_GOODS, IFRS_SERVICES),
    (IFRS_SERVICES, IFRS_GOODS),
    (IFRS_OIL, IFRS_SERVICES),
    (IFRS_SERVICES, IFRS_OIL),
    (IFRS_TELECOM, IFRS_GOODS),
    (IFRS_GOODS, IFRS_TELECOM),
)
"""Parts that exclude each other: where the second stands beside the first, and no total, the first is not the total.
Rent is outside contracts, but some landlords tag their total as contracts, so it says nothing against them."""

REVENUE = (
    NET_OF_INTEREST,
    REVENUES,
    REGULATED,
    CONTRACTS_NET,
    CONTRACTS_GROSS,
    SALES,
    "us-gaap:RealEstateRevenueNet",
    "us-gaap:HealthCareOrganizationRevenue",
    INVESTMENTS,
    "us-gaap:OilAndGasRevenue",
    REGULATED_PART,
    "us-gaap:ElectricUtilityRevenue",
    GOODS,
    SERVICES,
    *LEASES,
    IFRS_REVENUE,
    IFRS_CONTRACTS,
    IFRS_GOODS,
    IFRS_SERVICES,
    IFRS_OIL,
    IFRS_TELECOM,
    IFRS_INSURANCE,
    IFRS_WITH_OTHER,
)
"""Best first, within one filing and one year. Revenue after interest expense is what a bank calls its revenue: where
it stands beside a total before interest, it is the one."""

TOTALS = frozenset({REVENUES, NET_OF_INTEREST, REGULATED, IFRS_REVENUE, IFRS_WITH_OTHER})
"""Concepts defined as the whole of revenue. The others may be a part of it: contracts leave out interest, premiums
and rent."""

NET_INTEREST = ("us-gaap:InterestIncomeExpenseNet", "ifrs-full:InterestRevenueExpense")
OTHER_BANKING = "us-gaap:NoninterestIncome"
GROSS_INTEREST = (
    "us-gaap:InterestAndDividendIncomeOperating",
    "us-gaap:InterestIncomeOperating",
    "ifrs-full:RevenueFromInterest",
    "ifrs-full:InterestRevenueCalculatedUsingEffectiveInterestMethod",
)
PREMIUMS = "us-gaap:PremiumsEarnedNet"
GROSS_PROFITS = ("us-gaap:GrossProfit", "ifrs-full:GrossProfit")
COSTS_OF_SALES = (
    "us-gaap:CostOfRevenue",
    "us-gaap:CostOfGoodsAndServicesSold",
    "us-gaap:CostOfGoodsSold",
    "ifrs-full:CostOfSales",
)
COSTS_APART = (
    "us-gaap:CostOfGoodsAndServiceExcludingDepreciationDepletionAndAmortization",
    "us-gaap:CostOfServices",
    "us-gaap:DirectOperatingCosts",
)
"""Costs that are not all of the cost of sales, but stand where it would: what is spent besides is not everything."""
OPERATING_INCOME = "us-gaap:OperatingIncomeLoss"
PRETAX = (
    "us-gaap:IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItemsNoncontrollingInterest",
    "us-gaap:IncomeLossFromContinuingOperationsBeforeIncomeTaxesMinorityInterestAndIncomeLossFromEquityMethodInvestments",
)
IFRS_LEFT = ("ifrs-full:ProfitLossFromOperatingActivities", "ifrs-full:ProfitLossBeforeTax")
"""What was left abroad, with what investment property gained in value: more than all of revenue may be."""
ALL_COSTS, BENEFITS = "us-gaap:CostsAndExpenses", "us-gaap:BenefitsLossesAndExpenses"
EXPENSES = (ALL_COSTS, BENEFITS, "us-gaap:OperatingExpenses")
EXCISE = "us-gaap:ExciseAndSalesTaxes"
EXCISE_OWED = "us-gaap:SalesAndExciseTaxPayableCurrent"
INVESTMENT_GAINS = (
    "us-gaap:GainLossOnInvestments",
    "us-gaap:RealizedInvestmentGainsLosses",
    "us-gaap:DebtAndEquitySecuritiesGainLoss",
    "us-gaap:EquitySecuritiesFvNiGainLoss",
)
"""What an insurer gained or lost on what it holds. A loss is taken off its revenue."""
PROPERTY_GAINS = "us-gaap:GainsLossesOnSalesOfInvestmentRealEstate"
OTHERS_PROFITS = "us-gaap:IncomeLossFromEquityMethodInvestments"
"""A part in the profits of companies that are held, but not as a whole. Some count it into operating income."""

PARTS = (*NET_INTEREST, OTHER_BANKING, PREMIUMS, *LEASES, *GROSS_PROFITS)
"""Parts of revenue. A "total" smaller than one of its parts is no total."""

CHECKS = (
    *PARTS,
    *COSTS_OF_SALES,
    *COSTS_APART,
    OPERATING_INCOME,
    *PRETAX,
    *EXPENSES,
    PROPERTY_GAINS,
    OTHERS_PROFITS,
    *INVESTMENT_GAINS,
    *GROSS_INTEREST,
    EXCISE,
    UNREGULATED_PART,
    *OUTSIDE_CONTRACTS,
    *IFRS_LEFT,
)
"""What revenue is held against."""

NET_INCOME_LOSS = "us-gaap:NetIncomeLoss"
PROFIT_LOSS = "us-gaap:ProfitLoss"
AVAILABLE_TO_COMMON = "us-gaap:NetIncomeLossAvailableToCommonStockholdersBasic"
IFRS_OWNERS_PROFIT = "ifrs-full:ProfitLossAttributableToOwnersOfParent"
IFRS_PROFIT = "ifrs-full:ProfitLoss"
IFRS_ORDINARY_PROFIT = "ifrs-full:ProfitLossAttributableToOrdinaryEquityHoldersOfParentEntity"

NET_INCOME = (
    NET_INCOME_LOSS,
    IFRS_OWNERS_PROFIT,
    PROFIT_LOSS,
    IFRS_PROFIT,
    AVAILABLE_TO_COMMON,
    IFRS_ORDINARY_PROFIT,
)
OWNERS_PROFITS = (NET_INCOME_LOSS, IFRS_OWNERS_PROFIT)
WHOLE_PROFITS = (PROFIT_LOSS, IFRS_PROFIT)
COMMON_PROFITS = (AVAILABLE_TO_COMMON, IFRS_ORDINARY_PROFIT)

MINORITY_CONTINUING = "us-gaap:IncomeLossFromContinuingOperationsAttributableToNoncontrollingEntity"
MINORITY = (
    "us-gaap:NetIncomeLossAttributableToNoncontrollingInterest",
    "us-gaap:MinorityInterestInNetIncomeLossOfConsolidatedEntities",
    "us-gaap:IncomeLossAttributableToNoncontrollingInterest",
    MINORITY_CONTINUING,
    "ifrs-full:ProfitLossAttributableToNoncontrollingInterests",
)
"""The minority owners' part of the profit, the most general concept first."""
MINORITY_DIVIDED = (
    "us-gaap:NetIncomeLossAttributableToRedeemableNoncontrollingInterest",
    "us-gaap:NetIncomeLossAttributableToNonredeemableNoncontrollingInterest",
)
MINORITY_SIGNS = (
    "us-gaap:ComprehensiveIncomeNetOfTaxAttributableToNoncontrollingInterest",
    "us-gaap:NetIncomeLossIncludingPortionAttributableToNonredeemableNoncontrollingInterest",
    "us-gaap:MinorityInterestDecreaseFromDistributionsToNoncontrollingInterestHolders",
    "us-gaap:PaymentsToMinorityShareholders",
    "us-gaap:PaymentsOfDividendsMinorityInterest",
)
"""What only those tag who have minority owners, whatever they call their part of the profit."""
PREFERRED_DIVIDENDS = (
    "us-gaap:PreferredStockDividendsAndOtherAdjustments",
    "us-gaap:PreferredStockDividendsIncomeStatementImpact",
)
SET_ASIDE = (
    "us-gaap:DividendsPreferredStock",
    "us-gaap:DividendsPreferredStockCash",
    "us-gaap:DividendsPreferredStockStock",
    "us-gaap:RedeemablePreferredStockDividends",
    "us-gaap:UndistributedEarningsLossAllocatedToParticipatingSecuritiesBasic",
    "us-gaap:UndistributedEarningsLossAllocatedToParticipatingSecuritiesDiluted",
    "us-gaap:ParticipatingSecuritiesDistributedAndUndistributedEarningsLossBasic",
    "us-gaap:ParticipatingSecuritiesDistributedAndUndistributedEarningsLossDiluted",
)
"""What preferred shares, and others that take part, have of the owners' profit before common shares."""
PER_SHARE = (
    "us-gaap:EarningsPerShareBasic",
    "us-gaap:EarningsPerShareBasicAndDiluted",
    "ifrs-full:BasicEarningsLossPerShare",
    "ifrs-full:BasicAndDilutedEarningsLossPerShare",
)
DILUTED_PER_SHARE = (
    "us-gaap:EarningsPerShareDiluted",
    "us-gaap:EarningsPerShareBasicAndDiluted",
    "ifrs-full:DilutedEarningsLossPerShare",
    "ifrs-full:BasicAndDilutedEarningsLossPerShare",
)

COVER_COUNT = "dei:EntityCommonStockSharesOutstanding"
PUBLIC_FLOAT = "dei:EntityPublicFloat"
DEPOSITARY_RATIO = "dei:EntityListingDepositoryReceiptRatio"
BALANCE_COUNTS = (
    "us-gaap:CommonStockSharesOutstanding",
    "ifrs-full:NumberOfSharesOutstanding",
    "us-gaap:SharesOutstanding",
)
AVERAGE_COUNTS = (
    "us-gaap:WeightedAverageNumberOfSharesOutstandingBasic",
    "us-gaap:WeightedAverageNumberOfShareOutstandingBasicAndDiluted",
    "ifrs-full:WeightedAverageShares",
)
DILUTED_COUNTS = (
    "us-gaap:WeightedAverageNumberOfDilutedSharesOutstanding",
    "us-gaap:WeightedAverageNumberOfShareOutstandingBasicAndDiluted",
    "ifrs-full:AdjustedWeightedAverageShares",
)
COUNTS = (COVER_COUNT, *BALANCE_COUNTS, *AVERAGE_COUNTS)


def size(value: Number) -> Number:
    """The amount without its sign."""
    return -value if value < 0 else value


def short(concept: str) -> str:
    """Its name without the taxonomy."""
    return concept.partition(":")[2]


def dwarfs(larger_concept: str, larger: Number, concept: str, value: Number) -> bool:
    """Whether one concept is so much larger than another of the same filing that the other is only a slice of it.

    Twice as much is more than rounding, hedges, other income or rebates explain. Contract revenue with and without
    assessed tax is a pair apart: excise alone can be several times the net (tobacco). Interest may take more than half
    of a broker's revenue, but hardly three quarters: what is left of more is that of a lender in the house. Contracts
    are a part of revenue after interest by definition.
    """
    if concept == NET_OF_INTEREST:
        return larger > (4 if larger_concept in TOTALS else 2) * value
    if larger_concept == NET_OF_INTEREST and concept not in TOTALS:
        return larger > value
    if larger_concept == REGULATED and concept == REVENUES:
        return larger > value
    if larger_concept == CONTRACTS_GROSS and concept == CONTRACTS_NET:
        return larger > 5 * value
    return larger > 2 * value
