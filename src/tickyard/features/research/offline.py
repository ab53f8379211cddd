"""The same choice from documents at hand, without any network: what `tickyard explain` prints."""

from datetime import date

import msgspec

from tickyard.features.research.answer import Facts, Underlying, show_company, show_facts
from tickyard.features.research.company.profile import is_fund
from tickyard.features.research.explanation import ExplainedFacts, show_candidates
from tickyard.features.research.portrait import Filer, Portrait, appraise, describe, no_company
from tickyard.kernel.units import Price
from tickyard.kernel.wire import Answer
from tickyard.sources.filings.border import Broken, read_company, read_facts
from tickyard.sources.filings.facts import attempt, read_cik

_decode_outline = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class Explained(Answer):
    underlying: Underlying | None
    facts: Facts
    note: str | None
    candidates: ExplainedFacts


def explain_documents(ticker: str, facts: bytes, submissions: bytes, today: date, mid: Price | None) -> Explained:
    """`Broken` when the documents are not those of one filer. The ISIN is in neither, so it is empty."""
    symbol = ticker.upper()
    portrait = no_company(symbol) if is_fund(symbol) else _portrait(symbol, facts, submissions, today)
    worth = appraise(portrait.study, mid, symbol)
    return Explained(
        underlying=show_company(portrait.company, symbol, ""),
        facts=show_facts(portrait.study, worth),
        note=" ".join((*portrait.notes, *worth.notes)) or None,
        candidates=show_candidates(portrait, worth),
    )


def _portrait(symbol: str, facts: bytes, submissions: bytes, today: date) -> Portrait:
    about = _outline(submissions, "submissions")
    told = _outline(facts, "company facts").get("cik", msgspec.Raw(b""))
    cik = read_cik(bytes(told).decode("ascii", "replace").strip('" '))
    if cik is None:
        raise Broken("the company facts do not say whose they are")
    # A description that was cut down may not say whose it is; the facts do.
    company = read_company(msgspec.json.encode({"cik": cik, **about}), cik)
    return describe(symbol, Filer(company, read_facts(facts, cik), is_readable=True), today)


def _outline(body: bytes, name: str) -> dict[str, msgspec.Raw]:
    outline = attempt(_decode_outline, body)
    if outline is None:
        raise Broken(f"the {name} are no JSON object")
    return outline
