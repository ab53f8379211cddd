"""Profit per share and the average number of shares, beside every profit that a filer tells."""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from tickyard.sandbox.filings.companies import InventedCompany
from tickyard.sandbox.filings.ordinary import newest_end
from tickyard.sandbox.filings.rows import SHORT, FactRow

_CENT = Decimal("0.01")
# Without the owners' part nobody can say what falls to a share.
_DIVIDED = "us-gaap:NetIncomeLoss"
_PROFITS = (_DIVIDED, "us-gaap:ProfitLoss")
_TAGS_NONE_PER_SHARE = frozenset({"BLK", "GD", "ROKU"})


def per_share_rows(filer: InventedCompany, rows: Iterable[FactRow]) -> Iterator[FactRow]:
    """A loss is divided among the shares that there are: nothing dilutes it, and one number says both."""
    for row in rows:
        if row.concept not in _PROFITS or row.start is None:
            continue
        years_ago = (newest_end(filer) - row.end).days // 365
        basic = filer.shares * (99 - years_ago) // 100
        diluted = basic if row.value < 0 else filer.shares * (100 - years_ago) // 100
        found: dict[str, tuple[str, int | Decimal]] = {
            "average": ("shares", basic),
            "averageDiluted": ("shares", diluted),
        }
        if row.concept == _DIVIDED and filer.symbol not in _TAGS_NONE_PER_SHARE:
            name = "perShareBoth" if row.value < 0 else "perShare"
            found[name] = ("USD/shares", (Decimal(row.value) / diluted).quantize(_CENT))
        for name, (unit, value) in found.items():
            yield FactRow(SHORT[name], unit, value, row.start, row.end, row.form, row.filed)
