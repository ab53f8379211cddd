"""All that was spent, by the names that a trade has for it, or by the kind of what was bought. They refute nothing."""

from typing import Final

UTILITY_COSTS: Final = "us-gaap:UtilitiesOperatingExpense"
BANK_COSTS: Final = "us-gaap:NoninterestExpense"
PROVISIONS: Final = (
    "us-gaap:ProvisionForLoanLeaseAndOtherLosses",
    "us-gaap:ProvisionForLoanAndLeaseLosses",
    "us-gaap:ProvisionForLoanLossesExpensed",
)
IFRS_COSTS: Final = "ifrs-full:ExpenseByNature"
TRADE_COSTS: Final = (UTILITY_COSTS, BANK_COSTS, *PROVISIONS, IFRS_COSTS)
