"""Research, corporate actions and votes as rows of a catalog, through the HTTP door."""

import asyncio
import json

import pytest

from tickyard.doors.describe.examples import example_of
from tickyard.doors.http.cache import FrontCache
from tickyard.doors.http.edge import Edge
from tickyard.doors.routes import Endpoint, build_router
from tickyard.features.actions import operations as actions
from tickyard.features.actions.sync import sync_actions
from tickyard.features.research import operations as research
from tickyard.features.research.answer import Research
from tickyard.features.research.explanation import Explanation
from tickyard.features.research.financials import Financials
from tickyard.features.votes import operations as votes
from tickyard.features.votes.feed import VoteFeed
from tickyard.kernel.errors import BadRequest, NotFound, UpstreamDown
from tickyard.kernel.operation import NoAsk, Operation
from yards import asgi
from yards import research as yards


def row(name, path, run, answer, ask=NoAsk):
    return Operation(
        name=name,
        method="GET",
        path=path,
        run=run,
        ask=ask,
        answer=answer,
        failures=(BadRequest, NotFound, UpstreamDown),
        tag="research",
    )


ROWS = (
    row("get_research", "/v1/research/{symbol}", research.get_research, Research, research.ResearchAsk),
    row(
        "explain_research",
        "/v1/research/{symbol}/explain",
        research.explain_research,
        Explanation,
        research.ResearchAsk,
    ),
    row(
        "get_financials",
        "/v1/research/{symbol}/financials",
        research.get_financials,
        Financials,
        research.ResearchAsk,
    ),
    row(
        "list_corporate_actions",
        "/v1/corporate-actions",
        actions.list_corporate_actions,
        actions.CorporateActions,
        actions.ActionsAsk,
    ),
    row("list_votes", "/v1/votes", votes.list_votes, votes.VoteList),
    row("get_vote_power", "/v1/votes/power/{address}", votes.get_vote_power, votes.VotePower, votes.VotePowerAsk),
)


def ask(tmp_path, *targets, prepare=None):
    async def go():
        async with yards.open_yard(tmp_path / "tickyard.db") as yard:
            yard.votes = VoteFeed(None, yard.clock)
            if prepare is not None:
                await prepare(yard)
            cache = FrontCache(yard.clock)
            router = build_router((each.method, each.path, Endpoint(each, yard, cache, yard.clock)) for each in ROWS)
            app = Edge(router, cache, yard.clock, rate_limit=None, access_log=None, profile_header=None)
            return [await asgi.ask_app(app, "GET", target) for target in targets]

    return asyncio.run(go())


def test_research_is_kept_no_longer_than_its_price(tmp_path):
    first, again, unknown = ask(tmp_path, "/v1/research/aapl", "/v1/research/AAPL", "/v1/research/zzzz")
    assert (first.status, again.body) == (200, first.body)
    assert first.headers["etag"]
    assert 0 < int(first.headers["cache-control"].removeprefix("public, max-age=")) <= 5
    assert (unknown.status, unknown.error["code"]) == (404, "not_found")


def test_what_is_explained_is_what_research_answers(tmp_path):
    told, why, unknown = ask(tmp_path, "/v1/research/AAPL", "/v1/research/aapl/explain", "/v1/research/zzzz/explain")
    facts, explained = told.json()["facts"], why.json()
    assert list(explained) == ["symbol", "asOf", "companyName", "incorporatedIn", "facts", "note"]
    assert (explained["symbol"], explained["companyName"], explained["incorporatedIn"]) == (
        "AAPL",
        told.json()["underlying"]["companyName"],
        "California",
    )
    assert list(explained["facts"]) == list(facts)
    for name, fact in facts.items():
        chosen, candidates = explained["facts"][name]["chosen"], explained["facts"][name]["candidates"]
        assert (chosen["value"], chosen["unit"]) == (fact["value"], fact["unit"])
        assert [each for each in candidates if each["verdict"] == "chosen"] == [chosen]
        assert all(each["reason"].endswith(".") for each in candidates)
        assert all(each["accession"] in each["filingUrl"] for each in candidates)
    assert why.headers["cache-control"].startswith("public, max-age=")
    assert (unknown.status, unknown.error["code"]) == (404, "not_found")


def test_a_fund_has_nothing_to_explain_and_says_so(tmp_path):
    (answer,) = ask(tmp_path, "/v1/research/SPY/explain")
    assert all(fact == {"chosen": None, "candidates": []} for fact in answer.json()["facts"].values())
    assert "SPY is a fund or trust" in answer.json()["note"]


def test_financials_begin_with_the_year_that_research_answers(tmp_path):
    told, answer, fund = ask(
        tmp_path, "/v1/research/AAPL", "/v1/research/AAPL/financials", "/v1/research/SPY/financials"
    )
    facts, money = told.json()["facts"], answer.json()
    assert list(money) == ["symbol", "asOf", "annual", "quarterly", "trailing", "ratios", "note"]
    newest = money["annual"][0]
    assert newest["revenue"]["value"] == facts["revenue"]["value"]
    assert newest["netIncome"]["value"] == facts["netIncome"]["value"]
    assert (newest["periodEnd"], newest["fiscalYear"]) == (
        facts["revenue"]["periodEnd"],
        facts["revenue"]["fiscalYear"],
    )
    assert newest["revenue"]["accession"]
    for ratio in money["ratios"].values():
        assert (ratio["value"] is None) == (ratio["reason"] is not None)
    empty = fund.json()
    assert (empty["annual"], empty["quarterly"], empty["trailing"]["revenue"]["value"]) == ([], [], None)
    assert "SPY is a fund or trust" in empty["note"]


@pytest.mark.parametrize("target", ["filings", "issuer"])
def test_a_source_that_is_down_is_502(tmp_path, target):
    async def prepare(yard):
        yard.board.set(target, "down")

    (answer,) = ask(tmp_path, "/v1/research/AAPL", prepare=prepare)
    assert (answer.status, answer.error["code"]) == (502, "upstream_error")


def test_corporate_actions_are_filtered_by_symbol_and_status(tmp_path):
    everything, done, same, none, bad, unknown = ask(
        tmp_path,
        "/v1/corporate-actions",
        "/v1/corporate-actions?status=completed",
        "/v1/corporate-actions?status=CORPORATE_ACTION_STATUS_COMPLETED",
        "/v1/corporate-actions?status=PENDING",
        "/v1/corporate-actions?status=%21",
        "/v1/corporate-actions?symbol=zzzz",
        prepare=sync_actions,
    )
    records = everything.json()["corpActions"]
    assert everything.json()["count"] == len(records) > 10
    assert everything.json()["asOf"]
    dates = [record["processDate"] for record in records]
    undated = [day for day in dates if day is None]
    assert undated
    assert dates == undated + sorted((day for day in dates if day is not None), reverse=True)
    completed = [record for record in records if record["status"].endswith("_COMPLETED")]
    assert done.json()["corpActions"] == same.json()["corpActions"] == completed
    assert none.json()["corpActions"] == []
    assert (bad.status, bad.error["message"]) == (400, "status must be a status such as COMPLETED")
    assert unknown.status == 404
    assert everything.headers["cache-control"] == "public, max-age=60"


def test_votes_are_truthful_and_power_checks_its_address(tmp_path):
    listed, bad, unknown = ask(
        tmp_path,
        "/v1/votes",
        "/v1/votes/power/0x12",
        f"/v1/votes/power/0x{'ab' * 20}?symbol=ZZZZ",
    )
    answer = listed.json()
    assert list(answer) == ["events", "upstreamVotes", "voting"]
    assert (answer["events"], answer["upstreamVotes"], answer["voting"]["live"]) == ([], None, False)
    assert (bad.status, unknown.status) == (400, 404)


@pytest.mark.parametrize("each", ROWS, ids=lambda each: each.name)
def test_every_row_can_be_described(each):
    assert len(each.text) > 60
    assert json.dumps(example_of(each.answer))
