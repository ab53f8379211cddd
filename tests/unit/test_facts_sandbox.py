"""The sandbox's filers: every listed asset has its documents, and every trap its right answer."""

from datetime import date

import pytest

from tickyard.features.research.company.profile import filer_ticker, is_operating_company
from tickyard.features.research.company.worth import market_cap
from tickyard.features.research.study import Absence, study
from tickyard.kernel.units import Price
from tickyard.sandbox.filings.abroad import ABROAD, FUNDS
from tickyard.sandbox.filings.data import TICKERS_PATH, _made, document_at, expected, paths, years_after
from tickyard.sandbox.filings.expected import ExpectedFact, ExpectedShares
from tickyard.sandbox.filings.ordinary import AS_OF
from tickyard.sandbox.filings.rows import later
from tickyard.sandbox.filings.traps import TRAPS
from tickyard.sandbox.world.listing import load
from tickyard.sources.filings.border import read_company, read_facts, read_tickers

SYMBOLS = [listed.symbol for listed in load()]
TRAPPED = TRAPS | ABROAD | FUNDS
OF_THE_DAY = {years: read_tickers(document_at(TICKERS_PATH, years)) for years in (0, 3)}
APPLE = "api/xbrl/companyfacts/CIK0000320193.json"


def fact(chosen):
    if chosen is None:
        return None
    period = (chosen.period_start, chosen.period_end)
    return ExpectedFact(chosen.value, chosen.unit, *period, chosen.fiscal_year, chosen.form)


def filed(cik, years=0):
    body = document_at(f"api/xbrl/companyfacts/CIK{cik:010d}.json", years)
    facts = read_facts(body, cik) if body is not None else None
    return read_company(document_at(f"submissions/CIK{cik:010d}.json", years), cik), facts


@pytest.mark.slow
@pytest.mark.parametrize("years", [0, 3])
@pytest.mark.parametrize("symbol", SYMBOLS)
def test_research_finds_the_answer_written_beside_the_filer(symbol, years):
    answer = expected(years)[symbol]
    registrant = OF_THE_DAY[years].get(filer_ticker(symbol))
    if registrant is None:
        assert not answer.is_company
        return
    company, facts = filed(registrant.cik, years)
    assert is_operating_company(company, facts) is answer.is_company
    if not answer.is_company:
        return
    found = study(company, facts or Absence.NOT_FILED, later(AS_OF, years))
    worth = market_cap(found.shares, Price(100, 1), symbol, is_foreign=found.is_foreign)
    assert fact(found.revenue) == answer.revenue
    assert fact(found.net_income) == answer.net_income
    assert (ExpectedShares(found.shares.value, found.shares.as_of) if found.shares else None) == answer.shares
    assert (worth.market_cap is not None) is answer.has_market_cap
    note = " ".join((*found.notes, *worth.notes))
    assert all(phrase in note for phrase in answer.says)
    assert bool(note) is bool(answer.says)


def test_every_listed_asset_is_there_and_ordinary_filers_are_the_majority():
    assert list(expected()) == SYMBOLS
    assert set(TRAPPED) < set(SYMBOLS)
    assert len(TRAPPED) * 2 < len(SYMBOLS)


def test_funds_are_in_the_list_of_filers_and_still_no_companies():
    listed = OF_THE_DAY[0]
    assert set(FUNDS) <= set(listed)
    assert not any(expected()[symbol].is_company for symbol in FUNDS)
    assert listed["SPY"].cik == 884394


@pytest.mark.slow
def test_the_documents_are_small_and_always_the_same():
    bodies = {path: document_at(path) for path in paths()}
    assert sum(len(body) for body in bodies.values() if body is not None) < 5_000_000
    _made.cache_clear()
    assert {path: document_at(path) for path in paths()} == bodies
    assert bodies[APPLE] is not None
    assert document_at("api/xbrl/companyfacts/CIK0000000000.json") is None


def test_the_documents_move_on_with_the_years():
    assert years_after(date(2026, 9, 16)) == 0
    assert years_after(date(2020, 1, 1)) == 0
    assert years_after(date(2027, 9, 15)) == 0
    assert years_after(date(2027, 9, 16)) == 1
    assert document_at(APPLE, 1) != document_at(APPLE)
