"""Real documents through the whole of research: the stand-in's wire, the border, the store, the rules, the answers."""

import asyncio
import json
import subprocess
import sys

import pytest

from tickyard.features.research.operations import ResearchAsk, explain_research, get_financials
from tickyard.kernel.wire import encode
from tickyard.sources.filings.database import company_path, facts_path
from yards import research as yards
from yards.filings import cases

CASES = {case.ticker: case for case in cases() if case["submissions"]}


def shown(answer):
    return json.loads(encode(answer))


@pytest.mark.slow
@pytest.mark.parametrize("ticker", ["NVDA", "AMD"])
def test_a_real_filer_is_answered_explained_and_put_in_a_row(tmp_path, ticker):
    case = CASES[ticker]

    async def go():
        async with yards.open_yard(tmp_path / "tickyard.db") as yard:
            yard.desk.replaced |= {company_path(case.cik): case.submissions, facts_path(case.cik): case.body}
            research = shown(await yard.research(ticker))
            asked = len(yard.desk.asked)
            explained = shown((await explain_research(yard, ResearchAsk(symbol=ticker))).answer)
            money = shown((await get_financials(yard, ResearchAsk(symbol=ticker))).answer)
            return research, explained, money, len(yard.desk.asked) - asked

    research, explained, money, more = asyncio.run(go())
    facts = research["facts"]
    assert facts["revenue"]["value"] == case["revenue"]["value"]
    assert facts["netIncome"]["value"] == case["netIncome"]["value"]
    assert facts["sharesOutstanding"]["value"] == case["shares"]["value"]
    assert explained["facts"]["revenue"]["chosen"]["value"] == case["revenue"]["value"]
    assert explained["incorporatedIn"] == "Delaware"
    assert money["annual"][0]["revenue"]["value"] == case["revenue"]["value"]
    assert money["trailing"]["revenue"]["value"] >= case["revenue"]["value"]
    # One day's look at the filings serves all three.
    assert more == 0


def test_documents_on_disk_are_explained_without_anything_that_could_reach_a_network():
    code = (
        "import sys, tickyard.terminal.explain;"
        "print([name for name in ('socket', 'ssl', 'asyncio', 'aiohttp', 'sqlalchemy') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
