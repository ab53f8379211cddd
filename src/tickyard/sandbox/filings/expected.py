"""What research must answer for a filer of the sandbox, as text short enough to stand beside its trap."""

import re
from dataclasses import dataclass, replace
from datetime import date

from tickyard.sandbox.filings.rows import amount, later

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class ExpectedFact:
    value: int
    unit: str
    start: date
    end: date
    fiscal_year: int
    form: str

    @classmethod
    def parse(cls, text: str) -> "ExpectedFact":
        """`130497m USD 2024-01-29 2025-01-26 FY2025 10-K`."""
        value, unit, start, end, year, form = text.split()
        return cls(
            amount(value), unit, date.fromisoformat(start), date.fromisoformat(end), int(year.removeprefix("FY")), form
        )

    def later(self, years: int) -> "ExpectedFact":
        return replace(
            self, start=later(self.start, years), end=later(self.end, years), fiscal_year=self.fiscal_year + years
        )


@dataclass(frozen=True, slots=True)
class ExpectedShares:
    value: int
    as_of: date

    @classmethod
    def parse(cls, text: str) -> "ExpectedShares":
        """`24300m 2026-08-21`."""
        value, day = text.split()
        return cls(amount(value), date.fromisoformat(day))


@dataclass(frozen=True, slots=True)
class Expected:
    is_company: bool
    """False: `underlying` is null."""
    revenue: ExpectedFact | None = None
    net_income: ExpectedFact | None = None
    shares: ExpectedShares | None = None
    has_market_cap: bool = False
    """Given a usable quote."""
    says: tuple[str, ...] = ()
    """Phrases that `note` contains; `note` is null when there are none."""

    def later(self, years: int) -> "Expected":
        """The same, in documents moved on by so many years."""
        return replace(
            self,
            revenue=self.revenue.later(years) if self.revenue else None,
            net_income=self.net_income.later(years) if self.net_income else None,
            shares=replace(self.shares, as_of=later(self.shares.as_of, years)) if self.shares else None,
            says=tuple(
                _DAY.sub(lambda day: later(date.fromisoformat(day[0]), years).isoformat(), phrase)
                for phrase in self.says
            ),
        )
