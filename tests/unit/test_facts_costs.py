"""Revenue beside what was left and all that was spent, by names that prove nothing: it is said where they are far off."""

import pytest

from tickyard.features.research.filed import concepts
from yards.filings import study_small

YEAR = "2020-01-01 2020-12-31 10-K 2021-02-26"
PRETAX, SERVICES = concepts.PRETAX[0], concepts.IFRS_SERVICES


@pytest.mark.parametrize(("lines", "made"), [
    # More than twice what operating income and all costs make: of a loss, and of a profit.
    ("contracts 41 CostsAndExpenses 210 OperatingIncomeLoss -200", 10),
    ("Revenues 410 CostsAndExpenses 110 OperatingIncomeLoss 50", 160),
    ("Revenues 310 CostsAndExpenses 110 OperatingIncomeLoss 50", None),
    ("Revenues 410 CostsAndExpenses 110 OperatingIncomeLoss 50 CostOfRevenue 240", None),
    # Gas is sold too; what loans earn is not in contracts.
    ("ElectricUtilityRevenue 1900 UtilitiesOperatingExpense 2100 OperatingIncomeLoss 500", 2600),
    (f"contracts 41300 NoninterestExpense 47800 {PRETAX} 13000 ProvisionForLoanLeaseAndOtherLosses 5000", 65800),
    (f"contracts 600 NoninterestExpense 900 {PRETAX} 200", 1100),
    (f"contracts 1010 NoninterestExpense 900 {PRETAX} 200", None),
    (f"{SERVICES} 210 ifrs-full:ExpenseByNature 900 {concepts.IFRS_LEFT[1]} 100 {concepts.IFRS_LEFT[0]} 120", 1000),
    (f"{SERVICES} 950 ifrs-full:ExpenseByNature 900 {concepts.IFRS_LEFT[1]} 100", None),
])  # fmt: skip
def test_revenue_far_off_what_was_left_and_spent_is_said(lines, made):
    words = lines.split()
    told = zip(words[::2], words[1::2], strict=True)
    found = study_small("\n".join(f"{name} USD {amount}m {YEAR}" for name, amount in told))
    assert found.revenue.value == int(words[1]) * 10**6
    assert (f"{made}000000" in (found.note or "")) is (made is not None)
    assert made is not None or "revenue" not in (found.note or "")
