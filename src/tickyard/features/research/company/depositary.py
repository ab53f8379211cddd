"""Depositary shares: how many ordinary shares one security traded in New York stands for.

Few filers tag the ratio, so this table is ours: a foreign filer that is neither in it nor has tagged one has no market
cap. The ratio belongs to the security, not to the form its issuer files on: some issuers of depositary shares file on
10-K. 1 is stated, not assumed: the ordinary share itself is listed, or one receipt is one share. Where a ratio changed,
a count of before cannot be held against a quote of after.
"""

from datetime import date
from typing import Final

SHARES_PER_SECURITY: dict[str, int] = {
    "ARM": 1,
    "ASML": 1,
    "BABA": 8,
    "BGNE": 13,
    "BNTX": 1,
    "BP": 6,
    "LI": 2,
    "NIO": 1,
    "NVO": 1,
    "ONC": 13,
    "RACE": 1,
    "SAP": 1,
    "SHEL": 2,
    "SPOT": 1,
    "TM": 10,
    "TSM": 5,
    "XPEV": 2,
}

BEFORE: Final[dict[str, tuple[date, int]]] = {"BABA": (date(2019, 7, 30), 1), "TM": (date(2021, 10, 1), 2)}
"""The first day of today's ratio, and what it was until then: both split their shares and not their receipts."""


def ratio_on(ticker: str, day: date) -> int | None:
    """How many shares one security stood for on that day; None when it is not in the table."""
    since, before = BEFORE.get(ticker, (date.min, 0))
    return before if day < since else SHARES_PER_SECURITY.get(ticker)
