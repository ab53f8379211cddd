"""Depositary shares: how many ordinary shares one security traded in New York stands for.

Filings do not carry the ratio in a form a program can read, so this table is ours: a foreign filer that is not in it
has no market cap. 1 is stated, not assumed: the ordinary share itself is listed, or one receipt is one share.
"""

SHARES_PER_SECURITY: dict[str, int] = {
    "ARM": 1,
    "ASML": 1,
    "BABA": 8,
    "BNTX": 1,
    "BP": 6,
    "LI": 2,
    "NIO": 1,
    "NVO": 1,
    "RACE": 1,
    "SAP": 1,
    "SHEL": 2,
    "SPOT": 1,
    "TM": 10,
    "TSM": 5,
    "XPEV": 2,
}
