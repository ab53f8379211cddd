"""Why each figure is what it is: every candidate, which won, and one sentence for each that did not."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Final, Literal

from msgspec import Meta

from tickyard.features.research.answer import Day, Form, Number, exact_number
from tickyard.features.research.company.places import place_name
from tickyard.features.research.company.profile import company_name
from tickyard.features.research.company.worth import Worth
from tickyard.features.research.filed import concepts
from tickyard.features.research.filed.facts import Candidate
from tickyard.features.research.portrait import Portrait
from tickyard.features.research.study import Study
from tickyard.kernel.wire import Answer, Moment, Ticker, iso

_ARCHIVE: Final = "https://www.sec.gov/Archives/edgar/data"
_PRODUCT: Final = "sharesOutstanding x underlyingMid"
_NO_PART: Final = "It is no market cap: the value of the shares outside the hands of insiders, on an earlier day."


class ExplainedCandidate(Answer):
    concept: Annotated[str, Meta(examples=["us-gaap:Revenues"], description="As tagged; a sum names its parts.")]
    value: Annotated[Number, Meta(description="Null when it could not be read.")] | None
    unit: Annotated[str, Meta(examples=["USD"])]
    period_start: Annotated[Day, Meta(description="Null for a count or value of one day.")] | None
    period_end: Day
    form: Form
    accession: Annotated[str, Meta(examples=["0000320193-25-000079"], description="Number of the filing.")]
    filed: Day
    filing_url: Annotated[
        str,
        Meta(
            examples=["https://cdn.example/filings/0000320193-25-000079-index.htm"],
            description="The filing in the public database.",
        ),
    ]
    verdict: Literal["chosen", "rejected"]
    reason: Annotated[str, Meta(examples=["The total: gross profit and cost of sales give the same amount."])]


class ExplainedFact(Answer):
    chosen: Annotated[ExplainedCandidate, Meta(description="Null when no candidate can be trusted.")] | None
    candidates: list[ExplainedCandidate]


class ExplainedFacts(Answer):
    revenue: ExplainedFact
    net_income: ExplainedFact
    shares_outstanding: ExplainedFact
    market_cap: ExplainedFact


class Explanation(Answer):
    symbol: Ticker
    as_of: Moment
    company_name: Annotated[str, Meta(examples=["Apple Inc."])] | None
    incorporated_in: Annotated[str, Meta(examples=["California"], description="The place, in words.")] | None
    facts: ExplainedFacts
    note: Annotated[str, Meta(description="As in research: why a figure is missing, or what to know about one.")] | None


def show_explanation(symbol: str, now: datetime, portrait: Portrait, worth: Worth, note: str | None) -> Explanation:
    company = portrait.company
    return Explanation(
        symbol=symbol,
        as_of=iso(now),
        company_name=company_name(company) if company is not None else None,
        incorporated_in=place_name(company.state, company.state_described) if company is not None else None,
        facts=show_candidates(portrait, worth),
        note=note,
    )


def show_candidates(portrait: Portrait, worth: Worth) -> ExplainedFacts:
    found = portrait.study
    cik = portrait.company.cik if portrait.company is not None else 0
    revenue = found.candidates.revenue if found is not None else ()
    net_income = found.candidates.net_income if found is not None else ()
    shares = found.candidates.shares if found is not None else ()
    caps = _caps(found, worth) if found is not None else ()
    return ExplainedFacts(
        revenue=_explained(revenue, cik),
        net_income=_explained(net_income, cik),
        shares_outstanding=_explained(shares, cik),
        market_cap=_explained(caps, cik),
    )


def _caps(found: Study, worth: Worth) -> tuple[Candidate, ...]:
    """A market cap has one candidate, the product, and one witness, the public float."""
    caps = []
    if found.shares is not None:
        cap, count = worth.market_cap, found.shares
        reason = f"{cap.basis}." if cap is not None else " ".join(worth.notes)
        caps.append(
            Candidate(
                _PRODUCT, cap.value if cap is not None else None, "USD", None, count.as_of, count.form,
                count.accession, count.filed, cap is not None, reason,
            )
        )  # fmt: skip
    held = found.public_float
    if held is not None:
        caps.append(
            Candidate(
                concepts.PUBLIC_FLOAT, held.value, "USD", None, held.as_of, held.form, held.accession, held.filed,
                False, _NO_PART,
            )
        )  # fmt: skip
    return tuple(caps)


def _explained(candidates: Iterable[Candidate], cik: int) -> ExplainedFact:
    shown = [_candidate(each, cik) for each in candidates]
    return ExplainedFact(chosen=next((each for each in shown if each.verdict == "chosen"), None), candidates=shown)


def _candidate(each: Candidate, cik: int) -> ExplainedCandidate:
    folder = each.accession.replace("-", "")
    return ExplainedCandidate(
        concept=each.concept,
        value=exact_number(each.value) if each.value is not None else None,
        unit=each.unit,
        period_start=each.period_start.isoformat() if each.period_start is not None else None,
        period_end=each.period_end.isoformat(),
        form=each.form,
        accession=each.accession,
        filed=each.filed.isoformat(),
        filing_url=f"{_ARCHIVE}/{cik}/{folder}/{each.accession}-index.htm",
        verdict="chosen" if each.is_chosen else "rejected",
        reason=each.reason,
    )
