"""The traps of American filers, each under a ticker known for it, with the answer written beside it.

A trap starts from the ordinary documents of the filer, takes something away and adds some rows.
"""

from dataclasses import dataclass
from enum import Enum


class Usual(Enum):
    """The answer is that of the ordinary documents."""

    USUAL = "usual"


USUAL = Usual.USUAL
Answer = str | None | Usual


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    why: str
    without: tuple[str, ...] = ()
    """What is taken away: revenue, income, cover, balance, average; `all` leaves nothing."""
    rows: str = ""
    has_facts: bool = True
    """False: companyfacts answers 404."""
    is_company: bool = True
    entity_type: str = "operating"
    revenue: Answer = USUAL
    income: Answer = USUAL
    shares: Answer = USUAL
    has_market_cap: bool = True
    says: tuple[str, ...] = ()


TRAPS: dict[str, Trap] = {
    "NVDA": Trap(
        why="The old revenue concept was dropped in fiscal 2022; the year ends in January.",
        without=("revenue",),
        rows="""
            contracts USD 16675m 2020-01-27 2021-01-31 10-K 2022-03-18
            contracts USD 26914m 2021-02-01 2022-01-30 10-K 2022-03-18
            Revenues USD 60922m 2023-01-30 2024-01-28 10-K 2025-02-26
            Revenues USD 130497m 2024-01-29 2025-01-26 10-K 2025-02-26
            Revenues USD 130497m 2024-01-29 2025-01-26 10-K 2026-03-11
            Revenues USD 215938m 2025-01-27 2026-01-25 10-K 2026-03-11
        """,
        revenue="215938m USD 2025-01-27 2026-01-25 FY2026 10-K",
    ),
    "AAPL": Trap(
        why="Years of 52 and 53 weeks; the annual report also has rows of one quarter, marked FY like the rest.",
        without=("revenue", "income"),
        rows="""
            contracts USD 383285m 2022-09-25 2023-09-30 10-K 2025-10-31
            contracts USD 391035m 2023-10-01 2024-09-28 10-K 2025-10-31
            contracts USD 416161m 2024-09-29 2025-09-27 10-K 2025-10-31
            contracts USD 102377m 2025-06-29 2025-09-27 10-K 2025-10-31
            NetIncomeLoss USD 93736m 2023-10-01 2024-09-28 10-K 2025-10-31
            NetIncomeLoss USD 27556m 2025-06-29 2025-09-27 10-K 2025-10-31
            NetIncomeLoss USD 112010m 2024-09-29 2025-09-27 10-K 2025-10-31
        """,
        revenue="416161m USD 2024-09-29 2025-09-27 FY2025 10-K",
        income="112010m USD 2024-09-29 2025-09-27 FY2025 10-K",
    ),
    "HD": Trap(
        why="A 52/53-week year that ends on the Sunday nearest the end of January, sometimes in February.",
        without=("revenue", "income"),
        rows="""
            contracts USD 159514m 2024-01-29 2025-02-02 10-K 2026-03-18
            contracts USD 164683m 2025-02-03 2026-02-01 10-K 2026-03-18
            NetIncomeLoss USD 14806m 2024-01-29 2025-02-02 10-K 2026-03-18
            NetIncomeLoss USD 14156m 2025-02-03 2026-02-01 10-K 2026-03-18
        """,
        revenue="164683m USD 2025-02-03 2026-02-01 FY2026 10-K",
        income="14156m USD 2025-02-03 2026-02-01 FY2026 10-K",
    ),
    "AMZN": Trap(
        why="Quarterly reports carry the twelve months up to the quarter: a year long, but no fiscal year.",
        rows="""
            NetIncomeLoss USD 84100m 2025-07-01 2026-06-30 10-Q 2026-07-31
            contracts USD 742000m 2025-07-01 2026-06-30 10-Q 2026-07-31
        """,
    ),
    "GOOGL": Trap(
        why="Three classes of shares: the cover has one count per class, and the database drops those.",
        without=("cover",),
        shares="12088m 2026-06-30",
        says=("no single count stands on the cover", "the count of the balance sheet"),
    ),
    "META": Trap(
        why="Two classes, and neither the cover nor the balance sheet has an undivided count.",
        without=("cover", "balance"),
        shares="2522m 2026-06-30",
        says=("the weighted average of basic shares",),
    ),
    "CMCSA": Trap(
        why="Two classes; the balance sheet's undivided count is that of a subsidiary: 1000 shares.",
        without=("cover", "balance"),
        rows="balance shares 1000 - 2026-06-30 10-Q 2026-08-14",
        shares="3640m 2026-06-30",
        says=("the weighted average of basic shares",),
    ),
    "GEV": Trap(
        why="The cover repeats the count of the time before the spin-off: 100 shares, held by the parent.",
        without=("cover",),
        rows="cover shares 100 - 2026-08-06 10-Q 2026-08-14",
        shares="271.5m 2026-06-30",
        says=("is a placeholder or a slip (100)", "the count of the balance sheet"),
    ),
    "PINS": Trap(
        why="The cover's two counts, one per class, arrive as two undivided facts of one filing.",
        without=("cover",),
        rows="""
            cover shares 590m - 2026-08-06 10-Q 2026-08-14
            cover shares 82m - 2026-08-06 10-Q 2026-08-14
        """,
        shares="672m 2026-08-06",
        says=("the sum of 2 classes on the cover",),
    ),
    "V": Trap(
        why="Classes with different rights in every count: nothing undivided is left.",
        without=("cover", "balance", "average"),
        shares=None,
        has_market_cap=False,
        says=("sharesOutstanding: no single count is filed",),
    ),
    "SNAP": Trap(
        why="An undivided count exists, from the year of the listing.",
        without=("cover", "balance", "average"),
        rows="cover shares 1178m - 2017-04-30 10-Q 2017-05-11",
        shares=None,
        has_market_cap=False,
        says=("is older than 15 months",),
    ),
    "JPM": Trap(
        why="A bank: the total stands beside the fees from contracts, which are a slice of it.",
        without=("revenue",),
        rows="""
            contracts USD 31400m 2025-01-01 2025-12-31 10-K 2026-02-14
            Revenues USD 182447m 2025-01-01 2025-12-31 10-K 2026-02-14
            InterestIncomeExpenseNet USD 95400m 2025-01-01 2025-12-31 10-K 2026-02-14
        """,
        revenue="182447m USD 2025-01-01 2025-12-31 FY2025 10-K",
    ),
    "BAC": Trap(
        why="A bank whose total is net of interest expense; contracts rank higher and are a slice.",
        without=("revenue",),
        rows="""
            contracts USD 38200m 2025-01-01 2025-12-31 10-K 2026-02-14
            netOfInterest USD 113100m 2025-01-01 2025-12-31 10-K 2026-02-14
        """,
        revenue="113100m USD 2025-01-01 2025-12-31 FY2025 10-K",
    ),
    "AXP": Trap(
        why="Contracts are two thirds of the total: a slice that does not look like one.",
        without=("revenue",),
        rows="""
            contracts USD 49800m 2025-01-01 2025-12-31 10-K 2026-02-14
            netOfInterest USD 72229m 2025-01-01 2025-12-31 10-K 2026-02-14
        """,
        revenue="72229m USD 2025-01-01 2025-12-31 FY2025 10-K",
    ),
    "C": Trap(
        why="The first concept of the list is used for a slice.",
        without=("revenue",),
        rows="""
            Revenues USD 12100m 2025-01-01 2025-12-31 10-K 2026-02-14
            netOfInterest USD 85220m 2025-01-01 2025-12-31 10-K 2026-02-14
        """,
        revenue="85220m USD 2025-01-01 2025-12-31 FY2025 10-K",
    ),
    "SCHW": Trap(
        why="The total lost its standard concept last year; what is left was always a slice.",
        without=("revenue",),
        rows="""
            contracts USD 9900m 2024-01-01 2024-12-31 10-K 2025-02-14
            netOfInterest USD 19606m 2024-01-01 2024-12-31 10-K 2025-02-14
            contracts USD 11300m 2025-01-01 2025-12-31 10-K 2026-02-14
        """,
        revenue=None,
        says=("revenue: only a part of it is reported for the year ended 2025-12-31",),
    ),
    "SOFI": Trap(
        why="A lender that tags no total at all: its net interest income alone is larger than its contracts.",
        without=("revenue",),
        rows="""
            contracts USD 620m 2025-01-01 2025-12-31 10-K 2026-02-14
            InterestIncomeExpenseNet USD 2230m 2025-01-01 2025-12-31 10-K 2026-02-14
        """,
        revenue=None,
        says=("revenue: only a part of it is reported",),
    ),
    "UNH": Trap(
        why="An insurer: premiums are outside contracts, so contracts are a slice.",
        without=("revenue",),
        rows="""
            Revenues USD 447567m 2025-01-01 2025-12-31 10-K 2026-02-14
            contracts USD 88700m 2025-01-01 2025-12-31 10-K 2026-02-14
            PremiumsEarnedNet USD 352200m 2025-01-01 2025-12-31 10-K 2026-02-14
        """,
        revenue="447567m USD 2025-01-01 2025-12-31 FY2025 10-K",
    ),
    "GM": Trap(
        why="Sells and leases: rent is outside contracts.",
        without=("revenue",),
        rows="""
            contracts USD 168000m 2025-01-01 2025-12-31 10-K 2026-02-14
            OperatingLeaseLeaseIncome USD 7300m 2025-01-01 2025-12-31 10-K 2026-02-14
            Revenues USD 185019m 2025-01-01 2025-12-31 10-K 2026-02-14
        """,
        revenue="185019m USD 2025-01-01 2025-12-31 FY2025 10-K",
    ),
    "PM": Trap(
        why="Excise: the gross is far more than half as much again, and still not the revenue.",
        without=("revenue",),
        rows="""
            contractsGross USD 98100m 2025-01-01 2025-12-31 10-K 2026-02-14
            contracts USD 40648m 2025-01-01 2025-12-31 10-K 2026-02-14
        """,
        revenue="40648m USD 2025-01-01 2025-12-31 FY2025 10-K",
    ),
    "RGTI": Trap(
        why="The year end moved from January to December: eleven months are no year.",
        without=("revenue", "income"),
        rows="""
            contracts USD 10.8m 2024-02-01 2025-01-31 10-K 2025-03-14
            contracts USD 11m 2024-02-01 2025-01-31 10-KT 2026-03-05
            contracts USD 7.1m 2025-02-01 2025-12-31 10-KT 2026-03-05
            NetIncomeLoss USD -201m 2024-02-01 2025-01-31 10-KT 2026-03-05
            NetIncomeLoss USD -216m 2025-02-01 2025-12-31 10-KT 2026-03-05
        """,
        revenue="11m USD 2024-02-01 2025-01-31 FY2025 10-KT",
        income="-201m USD 2024-02-01 2025-01-31 FY2025 10-KT",
        says=("2025-02-01 to 2025-12-31 is a transition period",),
    ),
    "SMCI": Trap(
        why="Restated in an amendment; a later amendment leaves the concept out and changes nothing.",
        rows="""
            contracts USD 21310m 2025-07-01 2026-06-30 10-K/A 2026-09-01
            Revenues USD 21310m 2025-07-01 2026-06-30 10-K/A 2026-09-01
            NetIncomeLoss USD 988m 2025-07-01 2026-06-30 10-K/A 2026-09-01
            Assets USD 40000m - 2026-06-30 10-K/A 2026-09-10
        """,
        revenue="21310m USD 2025-07-01 2026-06-30 FY2026 10-K/A",
        income="988m USD 2025-07-01 2026-06-30 FY2026 10-K/A",
    ),
    "OKLO": Trap(
        why="A company without sales: no revenue concept in any year.",
        without=("revenue",),
        revenue=None,
        says=("revenue: not reported as a standard concept",),
    ),
    "ACHR": Trap(
        why="A company without sales, as above.",
        without=("revenue",),
        revenue=None,
        says=("revenue: not reported as a standard concept",),
    ),
    "ASTS": Trap(
        why="Revenue was reported until two years ago: an old figure must not stand in for the new one.",
        without=("revenue",),
        rows="Revenues USD 13.8m 2023-01-01 2023-12-31 10-K 2024-04-01",
        revenue=None,
        says=("revenue: not reported as a standard concept for the year ended 2025-12-31",),
    ),
    "RIOT": Trap(
        why="Only the profit before minority owners is reported.",
        without=("income",),
        rows="ProfitLoss USD -663m 2025-01-01 2025-12-31 10-K 2026-02-14",
        income="-663m USD 2025-01-01 2025-12-31 FY2025 10-K",
        says=("includes the share of minority owners",),
    ),
    "P": Trap(
        why="A new registrant: the database has no facts yet, and says so with a 404.",
        has_facts=False,
        revenue=None,
        income=None,
        shares=None,
        has_market_cap=False,
        says=("no machine-readable facts",),
    ),
}
