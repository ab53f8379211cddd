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
ONE_BUSINESS = (
    "us-gaap:InvestmentBankingRevenue",
    "us-gaap:RevenuesExcludingInterestAndDividends",
    *(f"ifrs-full:RevenueFromSaleOf{metal}" for metal in ("Gold", "Silver", "Copper")),
)
"""All that an adviser, a manager or a mine earns, and a slice of what others do: it is the total with proof only."""
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
    "us-gaap:HealthCareOrganizationRevenueNetOfPatientServiceRevenueProvisions",
    "us-gaap:HealthCareOrganizationRevenue",
    INVESTMENTS,
    "us-gaap:OilAndGasRevenue",
    REGULATED_PART,
    "us-gaap:ElectricUtilityRevenue",
    "us-gaap:RegulatedOperatingRevenueWater",
    GOODS,
    SERVICES,
    *LEASES,
    IFRS_REVENUE,
    IFRS_CONTRACTS,
    IFRS_GOODS,
    IFRS_SERVICES,
    IFRS_OIL,
    IFRS_TELECOM,
    "ifrs-full:RevenueFromRenderingOfTransportServices",
    IFRS_INSURANCE,
    IFRS_WITH_OTHER,
    *ONE_BUSINESS,
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
INTEREST_SPENT = tuple(f"us-gaap:Interest{each}" for each in ("Expense", "ExpenseBorrowings", "PaidNet"))
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
TAXES = "us-gaap:IncomeTaxExpenseBenefit"
IFRS_LEFT = ("ifrs-full:ProfitLossFromOperatingActivities", "ifrs-full:ProfitLossBeforeTax")
"""What was left abroad, with what investment property gained in value: more than all of revenue may be."""
ALL_COSTS, BENEFITS = "us-gaap:CostsAndExpenses", "us-gaap:BenefitsLossesAndExpenses"
EXPENSES = (ALL_COSTS, BENEFITS, "us-gaap:OperatingExpenses")
OPERATING_COSTS = "us-gaap:OperatingCostsAndExpenses"
"""All that was spent in operation, to some; to others, what was spent besides. It proves, and refutes nothing."""
BESIDE_OPERATION = "us-gaap:NonoperatingIncomeExpense"
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
    OPERATING_COSTS,
    BESIDE_OPERATION,
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

MINORITY_CONTINUING = (
    "us-gaap:IncomeLossFromContinuingOperationsAttributableToNoncontrollingEntity",
    "ifrs-full:ProfitLossFromContinuingOperationsAttributableToNoncontrollingInterests",
)
MINORITY = (
    "us-gaap:NetIncomeLossAttributableToNoncontrollingInterest",
    "us-gaap:MinorityInterestInNetIncomeLossOfConsolidatedEntities",
    "us-gaap:IncomeLossAttributableToNoncontrollingInterest",
    "ifrs-full:ProfitLossAttributableToNoncontrollingInterests",
    *MINORITY_CONTINUING,
)
"""The minority owners' part of the profit, the most general concept first."""
MINORITY_PARTNERS = tuple(
    f"us-gaap:NoncontrollingInterestInNetIncomeLoss{whose}{kind}"
    for whose in (
        "OperatingPartnerships",
        "LimitedPartnerships",
        "JointVenturePartners",
        "PreferredUnitHolders",
        "OtherNoncontrollingInterests",
    )
    for kind in ("Redeemable", "Nonredeemable")
)
"""Each the part of some of them: others may have a name of the filer's own."""
MINORITY_DIVIDED = (
    "us-gaap:NetIncomeLossAttributableToRedeemableNoncontrollingInterest",
    "us-gaap:NetIncomeLossAttributableToNonredeemableNoncontrollingInterest",
    *MINORITY_PARTNERS,
)
MINORITY_SIGNS = (
    "us-gaap:ComprehensiveIncomeNetOfTaxAttributableToNoncontrollingInterest",
    "us-gaap:NetIncomeLossIncludingPortionAttributableToNonredeemableNoncontrollingInterest",
    "us-gaap:MinorityInterestDecreaseFromDistributionsToNoncontrollingInterestHolders",
    "us-gaap:PaymentsToMinorityShareholders",
    "us-gaap:PaymentsOfDividendsMinorityInterest",
    "ifrs-full:ComprehensiveIncomeAttributableToNoncontrollingInterests",
)
"""What only those tag who have minority owners, whatever they call their part of the profit."""
OWNERS_COMPREHENSIVE = (
    "us-gaap:ComprehensiveIncomeNetOfTax",
    "ifrs-full:ComprehensiveIncomeAttributableToOwnersOfParent",
)
OTHER_COMPREHENSIVE = (
    "us-gaap:OtherComprehensiveIncomeLossNetOfTaxPortionAttributableToParent",
    "us-gaap:OtherComprehensiveIncomeLossNetOfTax",
    "ifrs-full:OtherComprehensiveIncome",
)
"""What the owners earned in all, and what of it is no profit: the rest is their profit, whatever that is called."""
PREFERRED_DIVIDENDS = (
    "us-gaap:PreferredStockDividendsAndOtherAdjustments",
    "us-gaap:PreferredStockDividendsIncomeStatementImpact",
    "ifrs-full:AdjustmentToProfitLossForPreferenceShareDividends",
)
PREFERRED_DECLARED = "us-gaap:DividendsPreferredStockCash"
PREFERRED_PER_SHARE = "us-gaap:PreferredStockDividendsPerShareDeclared"
SET_ASIDE = (
    "us-gaap:DividendsPreferredStock",
    PREFERRED_DECLARED,
    "us-gaap:DividendsPreferredStockStock",
    "us-gaap:RedeemablePreferredStockDividends",
    *(f"us-gaap:PreferredStock{each}" for each in ("RedemptionPremium", "AccretionOfRedemptionDiscount")),
    *(f"us-gaap:TemporaryEquityAccretionToRedemptionValue{each}" for each in ("Adjustment", "")),
    *(f"us-gaap:UndistributedEarningsLossAllocatedToParticipatingSecurities{kind}" for kind in ("Basic", "Diluted")),
    *(f"us-gaap:ParticipatingSecuritiesDistributedAndUndistributedEarningsLoss{kind}" for kind in ("Basic", "Diluted")),
)
"""What preferred shares, and others that take part, have of the owners' profit before common shares."""
PER_SHARE = (
    "us-gaap:EarningsPerShareBasic",
    "us-gaap:EarningsPerShareBasicAndDiluted",
    "ifrs-full:BasicEarningsLossPerShare",
    "ifrs-full:BasicAndDilutedEarningsLossPerShare",
)
CONTINUING_PER_SHARE = "ifrs-full:BasicEarningsLossPerShareFromContinuingOperations"
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
ISSUED_COUNT = "ifrs-full:NumberOfSharesIssued"
"""Of all classes, with what the company holds itself: never the answer, but it tells what a count leaves out."""
ISSUED_COUNTS = (ISSUED_COUNT, "us-gaap:CommonStockSharesIssued")
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
