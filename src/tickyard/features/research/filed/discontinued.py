"""What minority owners have of operations that were given up: with their part of what goes on, it is all they have."""

from typing import Final

MINORITY_DISCONTINUED: Final = (
    "us-gaap:IncomeLossFromDiscontinuedOperationsNetOfTaxAttributableToNoncontrollingInterest",
    "ifrs-full:ProfitLossFromDiscontinuedOperationsAttributableToNoncontrollingInterests",
)
