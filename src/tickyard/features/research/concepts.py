"""Which reported concepts stand for which figure, and how they relate to one another."""

from decimal import Decimal

Number = int | Decimal

REVENUES = "us-gaap:Revenues"
CONTRACTS_NET = "us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax"
CONTRACTS_GROSS = "us-gaap:RevenueFromContractWithCustomerIncludingAssessedTax"
SALES = "us-gaap:SalesRevenueNet"
NET_OF_INTEREST = "us-gaap:RevenuesNetOfInterestExpense"
IFRS_REVENUE = "ifrs-full:Revenue"
IFRS_CONTRACTS = "ifrs-full:RevenueFromContractsWithCustomers"

REVENUE = (REVENUES, CONTRACTS_NET, CONTRACTS_GROSS, SALES, NET_OF_INTEREST, IFRS_REVENUE, IFRS_CONTRACTS)
"""Best first, within one period."""

TOTALS = frozenset({REVENUES, NET_OF_INTEREST, IFRS_REVENUE})
"""Concepts defined as the whole of revenue. The others may be a part of it: contracts leave out interest, premiums
and rent."""

PARTS = ("us-gaap:PremiumsEarnedNet", "us-gaap:InterestIncomeExpenseNet", "us-gaap:OperatingLeaseLeaseIncome")
"""Parts of revenue that lie outside contracts. A "total" smaller than one of its parts is no total."""

NET_INCOME_LOSS = "us-gaap:NetIncomeLoss"
PROFIT_LOSS = "us-gaap:ProfitLoss"
AVAILABLE_TO_COMMON = "us-gaap:NetIncomeLossAvailableToCommonStockholdersBasic"
IFRS_OWNERS_PROFIT = "ifrs-full:ProfitLossAttributableToOwnersOfParent"
IFRS_PROFIT = "ifrs-full:ProfitLoss"

NET_INCOME = (NET_INCOME_LOSS, PROFIT_LOSS, AVAILABLE_TO_COMMON, IFRS_OWNERS_PROFIT, IFRS_PROFIT)

NET_INCOME_CAVEATS = {
    PROFIT_LOSS: "netIncome includes the share of minority owners.",
    IFRS_PROFIT: "netIncome includes the share of minority owners.",
    AVAILABLE_TO_COMMON: "netIncome is what remained for common shareholders after preferred dividends.",
}

COVER_COUNT = "dei:EntityCommonStockSharesOutstanding"
BALANCE_COUNTS = ("us-gaap:CommonStockSharesOutstanding", "ifrs-full:NumberOfSharesOutstanding")
AVERAGE_COUNTS = ("us-gaap:WeightedAverageNumberOfSharesOutstandingBasic", "ifrs-full:WeightedAverageShares")


def dwarfs(larger_concept: str, larger: Number, concept: str, value: Number) -> bool:
    """Whether one concept is so much larger than another of the same period that the other is only a slice of it.

    Half as much again is more than rounding, hedges or other income explain. Two pairs are special: contract
    revenue with and without assessed tax differ by excise alone, which can be several times the net (tobacco); and
    revenue net of interest expense is a bank's total, of which contracts are a part by definition.
    """
    if larger_concept == NET_OF_INTEREST and concept in (CONTRACTS_NET, CONTRACTS_GROSS, SALES):
        return larger > value
    if larger_concept == CONTRACTS_GROSS and concept == CONTRACTS_NET:
        return larger > 5 * value
    return 2 * larger > 3 * value
