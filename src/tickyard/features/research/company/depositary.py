"""Depositary shares: how many ordinary shares one security traded in New York stands for.

Few filers tag the ratio, so this table is ours: a foreign filer that is neither in it nor has tagged one has no market
cap. The ratio belongs to the security, not to the form its issuer files on: some issuers of depositary shares file on
10-K. 1 is stated, not assumed: the ordinary share itself is listed, or one receipt is one share. Where a ratio changed,
a count of before cannot be held against a quote of after.
"""

from datetime import date
from typing import Final

_ITSELF: Final = (
    "ACGL ACN AGO ALKS ALLE AMBA AMCR AON APTV AXS AXTA BG CB CCL CLVT CNH CPRI CRDO CRH EG ENB ESNT ESTC ETN "
    "FLEX FLUT FN FTI G GRMN IMO IREN IVZ JAZZ JCI JHG KNSA LBTYA LIN LIVN LYB MDT NBR NCLH NE NVCR NVT NXPI OTEX "
    "PNR PRGO QSR RBA RCL RIG RNR ROIV RPRX SIG SLB SN STE STX SW TEL TROX TT VAL WCN WFRD WTW"
)
"""Incorporated abroad, on 10-K, with the share itself listed: nobody else of their kind is told from a receipt."""
_BY_RATIO: Final = {
    1: (
        "ABEV ALC ARGX ARM ASML AUTL BBD BBVA BCYC BILI BNTX BTI BUD CCEP CHKP CMPS CNTA CYBR DB EQNR ERIC GFI GRAB "
        "IHG IMCR INFY ING ITUB KB MUFG NICE NIO NMR NOK NU NVO NVS ONON ORAN PHG RACE RDY RELX RIO SAN SAP SE SHG "
        "SONY SPOT STM SUZ TCOM TEF TEVA TTE UBS UL VALE WIT XP ZTO "
    )
    + _ITSELF,
    2: "ASX BHP E GSK HLN IBN JD LEGN LI NWG PBR PUK SHEL SNN TME XPEV",
    3: "BEKE HDB HMC SLN",
    4: "BCS DEO LYG PDD",
    5: "HSBC MREO NGG NTES TSM UMC WPP",
    6: "ADAP BP",
    8: "BABA BIDU FUTU VRNA",
    10: "CHT EDU TM VOD ZLAB",
    13: "BGNE ONC",
    20: "AMX YMM",
    100: "TLK",
}
SHARES_PER_SECURITY: Final = {ticker: ratio for ratio, tickers in _BY_RATIO.items() for ticker in tickers.split()}

BEFORE: Final[dict[str, tuple[date, int]]] = {
    "BABA": (date(2019, 7, 30), 1),
    "BIDU": (date(2021, 3, 1), 0),
    "EDU": (date(2022, 4, 8), 1),
    "HMC": (date(2023, 10, 1), 1),
    "NTES": (date(2020, 10, 1), 25),
    "TCOM": (date(2021, 3, 18), 0),
    "TM": (date(2021, 10, 1), 2),
    "ZLAB": (date(2022, 3, 30), 1),
}
"""The first day of today's ratio, and what it was until then, when shares or receipts were split without the other. 0:
several receipts were one share, of which no market cap is made."""


def ratio_on(ticker: str, day: date) -> int | None:
    """How many shares one security stood for on that day; None when it is not in the table."""
    since, before = BEFORE.get(ticker, (date.min, 0))
    return before if day < since else SHARES_PER_SECURITY.get(ticker)
