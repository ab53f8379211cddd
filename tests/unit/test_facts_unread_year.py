"""Annual reports of whose year none could be read: as filers have told theirs."""

from datetime import date

import pytest

from yards.filings import study_small

COLUMN = """
    Revenues USD 61m 2023-01-01 2023-12-31 10-K 2024-03-20
    NetIncomeLoss USD 4m 2023-01-01 2023-12-31 10-K 2024-03-20
    Revenues USD 61m 2023-01-01 2023-12-31 10-K 2025-03-20
    NetIncomeLoss USD 4m 2023-01-01 2023-12-31 10-K 2025-03-20
"""


@pytest.mark.parametrize(("lines", "is_said"), [
    # The current column of two years, of a day, under other names; or only a balance sheet.
    (["Revenues USD 90m 2023-01-01 2024-12-31 10-K 2025-03-20"], True),
    (["NetIncomeLoss USD 7m 2024-12-31 2024-12-31 10-K 2025-03-20"], True),
    (["OperatingIncomeLoss USD 9m 2024-01-01 2024-12-31 10-K 2025-03-20"], True),
    (["CommonStockSharesOutstanding shares 20100k - 2024-12-31 10-K 2025-03-20"], True),
    # News of the weeks since, an amendment, a quarter, the year itself.
    (["CommonStockSharesOutstanding shares 20100k - 2024-02-29 10-K 2025-03-20"], False),
    (["CommonStockSharesOutstanding shares 20100k - 2024-12-31 10-K/A 2025-03-29"], False),
    (["CommonStockSharesOutstanding shares 20100k - 2025-03-31 10-Q 2025-04-29"], False),
    (["cover shares 20100k - 2025-03-01 10-K 2025-03-20"], False),
    (["CommonStockSharesOutstanding shares 20100k - 2024-12-31 10-K 2025-03-20",
      "NetIncomeLoss USD 7m 2024-01-01 2024-12-31 10-K 2025-03-20"], False),
])  # fmt: skip
def test_an_annual_report_of_which_no_year_could_be_read_is_said_beside_the_year_before(lines, is_said):
    found = study_small("\n".join((COLUMN, *lines)), date(2025, 5, 1))
    said = "The annual report of 2025-03-20 tells of the time to 2024-12-31, but no revenue or profit of its year"
    assert (said in (found.note or "")) is is_said
    assert found.net_income.value == (4_000_000 if len(lines) == 1 else 7_000_000)
