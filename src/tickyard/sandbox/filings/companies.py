"""The filers of the sandbox, one for each listed asset. Names, codes and figures follow real ones; none is a source."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class InventedCompany:
    symbol: str
    cik: int | None
    """None: the ticker is not in the list of filers, as with funds that are series of a trust."""
    title: str
    sic: str
    industry: str
    state: str
    year_end: str
    exchange: str
    revenue_m: int
    net_income_m: int
    """Millions of whatever currency the filer reports in."""
    shares: int


@cache
def filers() -> tuple[InventedCompany, ...]:
    with (Path(__file__).parent / "companies.csv").open(newline="") as file:
        return tuple(_read(row) for row in csv.DictReader(file))


def _read(row: dict[str, str]) -> InventedCompany:
    return InventedCompany(
        symbol=row["symbol"],
        cik=int(row["cik"]) if row["cik"] else None,
        title=row["title"],
        sic=row["sic"],
        industry=row["industry"],
        state=row["state"],
        year_end=row["year_end"],
        exchange=row["exchange"],
        revenue_m=int(row["revenue_m"]),
        net_income_m=int(row["net_income_m"]),
        shares=int(row["shares_k"]) * 1000,
    )
