"""Research over its real upstreams' stand-ins: every trap, what is asked how often, and the bad days."""

import asyncio
import json
import threading
from datetime import date, timedelta

import pytest
from sqlalchemy import insert, update

from tickyard.features.research.documents import document
from tickyard.features.research.operations import ResearchAsk, get_research
from tickyard.kernel.errors import NotFound, UpstreamDown
from tickyard.kernel.units import Price
from tickyard.kernel.wire import encode
from tickyard.sandbox.filings.abroad import ABROAD, FUNDS
from tickyard.sandbox.filings.data import document_at, expected
from tickyard.sandbox.filings.traps import TRAPS
from tickyard.sandbox.standins.issuer import QUIET
from tickyard.store.actions import STATUS_PREFIX, TYPE_PREFIX, action_id, corporate_action
from yards import research as yards

APPLE_COMPANY = "submissions/CIK0000320193.json"
APPLE_FACTS = "api/xbrl/companyfacts/CIK0000320193.json"
MAP = "files/company_tickers.json"
IMPATIENT = {"budget_s": 1.0, "try_s": 0.4}


def run(tmp_path, use, **options):
    async def go():
        async with yards.open_yard(tmp_path / "tickyard.db", **options) as yard:
            return await use(yard)

    return asyncio.run(go())


def shown(answer):
    return json.loads(encode(answer))


def shown_fact(fact):
    if fact is None:
        return None
    return {
        "value": fact.value,
        "unit": fact.unit,
        "periodStart": fact.start.isoformat(),
        "periodEnd": fact.end.isoformat(),
        "fiscalYear": fact.fiscal_year,
        "form": fact.form,
    }


@pytest.mark.slow
def test_every_trap_and_its_neighbours_get_the_answer_written_beside_them(tmp_path):
    ordinary = [symbol for symbol in expected() if symbol not in TRAPS | ABROAD | FUNDS][:12]

    async def use(yard):
        return {symbol: shown(await yard.research(symbol)) for symbol in (*TRAPS, *ABROAD, *FUNDS, *ordinary)}

    for symbol, research in run(tmp_path, use).items():
        answer, facts = expected()[symbol], research["facts"]
        assert (research["underlying"] is not None) is answer.is_company, symbol
        assert facts["revenue"] == shown_fact(answer.revenue), symbol
        assert facts["netIncome"] == shown_fact(answer.net_income), symbol
        shares = facts["sharesOutstanding"]
        assert (shares and (shares["value"], shares["asOf"])) == (
            answer.shares and (answer.shares.value, answer.shares.as_of.isoformat())
        ), symbol
        assert (facts["marketCap"] is not None) is (answer.has_market_cap and symbol != QUIET), symbol
        assert all(phrase in (research["note"] or "") for phrase in answer.says), symbol
        assert answer.says or not answer.is_company or symbol == QUIET or research["note"] is None, symbol
        assert answer.is_company or research["note"], symbol


def test_the_answer_is_complete_and_names_its_documents(tmp_path):
    async def use(yard):
        kept = await get_research(yard, ResearchAsk(symbol="AAPL"))
        quote, _ = await yard.market.mids.one("AAPL")
        return shown(kept.answer), kept.seconds, quote

    apple, seconds, quote = run(tmp_path, use)
    assert 0 < seconds <= 5
    assert list(apple) == ["symbol", "underlying", "facts", "token", "sources", "note"]
    assert list(apple["underlying"]) == [
        *("ticker", "companyName", "cik", "exchange", "industry", "sic"),
        *("stateOfIncorporation", "fiscalYearEnd", "isin"),
    ]
    assert list(apple["token"]) == [
        *("symbol", "name", "address", "chainId", "decimals", "multiplier", "status", "logoUrl", "isin"),
        *("pendingMultiplier", "tradingCapabilities", "price"),
    ]
    assert (apple["underlying"]["cik"], apple["underlying"]["isin"]) == ("0000320193", "US0378331005")
    assert list(apple["token"]["price"]) == ["underlyingMid", "tokenMid", "currency", "asOf"]
    assert apple["token"]["price"]["underlyingMid"] == quote.mid.text()
    assert apple["token"]["price"]["tokenMid"] == quote.mid.times(Price(1_000566080061092436, 10**18)).text()
    assert apple["token"]["tradingCapabilities"]["market"]
    shares, cap = apple["facts"]["sharesOutstanding"], apple["facts"]["marketCap"]
    assert (shares["unit"], cap["unit"]) == ("shares", "USD")
    assert cap["value"] == shares["value"] * quote.mid.num // quote.mid.den
    assert str(shares["value"]) in cap["basis"]
    assert quote.mid.text() in cap["basis"]
    assert any("accession number 0000320193-" in source for source in apple["sources"])


def test_a_scheduled_multiplier_is_shown(tmp_path):
    async def use(yard):
        return shown(await yard.research("XOM"))["token"]

    assert run(tmp_path, use)["pendingMultiplier"] is not None


def test_a_symbol_costs_two_requests_once_and_a_restart_none(tmp_path):
    clock = yards.StartedClock()

    async def first(yard):
        await yard.research("AAPL")
        began = list(yard.desk.asked)
        await yard.research("MSFT")
        again = len(yard.desk.asked)
        await yard.research("AAPL")
        return began, yard.desk.asked[len(began) : again], len(yard.desk.asked) - again, await yard.research("AAPL")

    async def second(yard):
        return yard.desk.asked, await yard.research("AAPL")

    began, next_one, repeated, before = run(tmp_path, first, clock=clock)
    assert sorted(began) == sorted([MAP, APPLE_COMPANY, APPLE_FACTS])
    assert (len(next_one), repeated) == (2, 0)
    asked, after = run(tmp_path, second, clock=clock)
    assert asked == []
    assert shown(after)["facts"]["revenue"] == shown(before)["facts"]["revenue"]


@pytest.mark.slow
@pytest.mark.parametrize("restarts", [False, True])
def test_documents_that_were_dated_a_year_ahead_are_asked_for_again(tmp_path, restarts):
    clock = yards.StartedClock()

    async def first(yard):
        clock.misset(days=365)
        await yard.research("AAPL")
        clock.misset(0)
        yard.desk.asked.clear()
        return [] if restarts else await second(yard)

    async def second(yard):
        await yard.research("AAPL")
        return sorted(yard.desk.asked)

    asked = run(tmp_path, first, clock=clock)
    if restarts:
        asked = run(tmp_path, second, clock=clock)
    assert asked == sorted([MAP, APPLE_COMPANY, APPLE_FACTS])


def test_documents_kept_in_another_form_are_fetched_anew(tmp_path):
    clock = yards.StartedClock()

    async def first(yard):
        await yard.research("AAPL")
        async with yard.store.begin() as tx:
            await tx.execute(update(document).values(form=0, body=b"an older idea of it"))

    async def second(yard):
        return (await yard.research("AAPL")).facts.revenue, yard.desk.answers

    run(tmp_path, first, clock=clock)
    revenue, answers = run(tmp_path, second, clock=clock)
    assert revenue is not None
    assert answers == [200, 200, 200]


def test_others_are_answered_while_a_long_document_is_read(tmp_path):
    """A document is as long as whoever wrote it likes, and its years and quarters may take seconds to choose."""
    others = threading.Event()

    async def use(yard):
        loop = asyncio.get_running_loop()

        def make(_):
            loop.call_soon_threadsafe(others.set)
            return others.wait(5)

        return (await yard.filings.read("AAPL", yard.clock.now().date(), make)).value

    assert run(tmp_path, use) is True


def test_many_callers_at_once_share_one_look(tmp_path):
    async def use(yard):
        answers = await asyncio.gather(*(yard.research("AAPL") for _ in range(20)))
        return len(yard.desk.asked), {encode(answer.facts) for answer in answers}

    requests, answers = run(tmp_path, use)
    assert (requests, len(answers)) == (3, 1)


def test_after_a_day_the_documents_are_asked_for_again_and_have_not_changed(tmp_path):
    async def use(yard):
        before = shown(await yard.research("AAPL"))
        yard.clock.move(hours=23)
        await yard.research("AAPL")
        assert len(yard.desk.asked) == 3
        yard.clock.move(hours=2)
        after = shown(await yard.research("AAPL"))
        yard.clock.move(hours=2)
        await yard.research("AAPL")
        return before, after, yard.desk.answers

    before, after, answers = run(tmp_path, use)
    assert answers == [200] * 3 + [304] * 3
    assert (before["facts"]["revenue"], before["note"]) == (after["facts"]["revenue"], after["note"])


def test_a_changed_document_is_taken_over_after_a_day(tmp_path):
    async def use(yard):
        before = await yard.research("AAPL")
        changed = json.loads(document_at(APPLE_COMPANY)) | {"name": "Pear\u202e Inc\u0000."}
        yard.desk.replaced[APPLE_COMPANY] = json.dumps(changed).encode()
        yard.clock.move(hours=25)
        return before.underlying.company_name, (await yard.research("AAPL")).underlying.company_name

    assert run(tmp_path, use) == (json.loads(document_at(APPLE_COMPANY))["name"], "Pear Inc.")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["down", "garbage", "throttle"])
def test_an_old_copy_stands_in_for_a_week_and_says_so(tmp_path, mode):
    async def use(yard):
        before = shown(await yard.research("AAPL"))
        seen = yard.clock.now()
        yard.board.set("filings", mode)
        yard.clock.move(days=6, hours=23)
        after = shown(await yard.research("AAPL"))
        yard.clock.move(hours=2)
        with pytest.raises(UpstreamDown):
            await yard.research("AAPL")
        yard.board.set("filings", "ok")
        yard.clock.move(minutes=2)
        return before, after, seen, shown(await yard.research("AAPL"))

    before, after, seen, healed = run(tmp_path, use)
    assert after["facts"]["revenue"] == before["facts"]["revenue"]
    assert f"as of {seen.date()}T" in after["note"]
    assert healed["note"] is None


@pytest.mark.slow
def test_a_hanging_database_is_waited_for_once_a_minute_at_most(tmp_path):
    async def use(yard):
        await yard.research("AAPL")
        yard.board.set("filings", "slow")
        yard.clock.move(days=2)
        began = yard.clock.monotonic()
        note = (await yard.research("AAPL")).note
        waited = yard.clock.monotonic() - began
        asked = len(yard.desk.asked)
        began = yard.clock.monotonic()
        assert (await yard.research("AAPL")).note == note
        yard.board.set("filings", "ok")
        return waited, yard.clock.monotonic() - began, len(yard.desk.asked) - asked

    waited, again, asked = run(tmp_path, use, clock=yards.StartedClock(), **IMPATIENT)
    assert waited < 4
    assert again < waited
    assert asked == 0


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["down", "garbage", "throttle", "slow"])
def test_a_silent_database_and_nothing_kept_is_upstream_down_but_funds_answer(tmp_path, mode):
    async def use(yard):
        yard.board.set("filings", mode)
        with pytest.raises(UpstreamDown):
            await yard.research("AAPL")
        fund = shown(await yard.research("SPY"))
        return fund, len(yard.desk.asked)

    # What is slow really is: the stand-in pauses by the same clock.
    clock = yards.StartedClock() if mode == "slow" else None
    fund, asked = run(tmp_path, use, clock=clock, **IMPATIENT)
    assert fund["underlying"] is None
    assert set(fund["facts"].values()) == {None}
    assert fund["token"]["price"] is not None
    assert "fund or trust" in fund["note"]
    assert asked == 0


BROKEN_FACTS = {
    "nesting": b'{"cik":320193,"facts":' + b"[" * 1_000_000,
    "another filer": document_at(APPLE_FACTS).replace(b"320193", b"320194", 1),
    "no taxonomies": b'{"cik":320193,"facts":7}',
    "empty": b'{"cik":320193,"facts":{}}',
    "strings for numbers": b'{"cik":320193,"facts":{"us-gaap":{"Revenues":{"units":{"USD":['
    b'{"start":"2025-01-01","end":"2025-12-31","val":"5","accn":"0000320193-26-000001","form":"10-K","filed":"2026-01-30"}]}}}}}',
    "missing ends": b'{"cik":320193,"facts":{"us-gaap":{"Revenues":{"units":{"USD":['
    b'{"start":"2025-01-01","val":5,"accn":"0000320193-26-000001","form":"10-K","filed":"2026-01-30"}]}}}}}',
    "absurd values": b'{"cik":320193,"facts":{"us-gaap":{"Revenues":{"units":{"USD":['
    b'{"start":"2025-01-01","end":"2025-12-31","val":1e99,"accn":"0000320193-26-000001","form":"10-K","filed":"2026-01-30"}]}}}}}',
}


@pytest.mark.slow
@pytest.mark.parametrize("day", BROKEN_FACTS)
def test_malformed_facts_are_null_with_a_note(tmp_path, day):
    async def use(yard):
        yard.desk.replaced[APPLE_FACTS] = BROKEN_FACTS[day]
        research = shown(await yard.research("AAPL"))
        asked = len(yard.desk.asked)
        await yard.research("AAPL")
        assert len(yard.desk.asked) == asked
        return research

    research = run(tmp_path, use)
    assert research["underlying"]["companyName"]
    assert set(research["facts"].values()) == {None}
    assert "could not be read" in research["note"] or "no annual report" in research["note"]


def test_facts_that_become_unreadable_are_replaced_by_the_older_copy(tmp_path):
    async def use(yard):
        before = shown(await yard.research("AAPL"))
        yard.desk.replaced[APPLE_FACTS] = BROKEN_FACTS["nesting"]
        yard.clock.move(hours=30)
        after = shown(await yard.research("AAPL"))
        yard.clock.move(days=8)
        late = shown(await yard.research("AAPL"))
        del yard.desk.replaced[APPLE_FACTS]
        yard.clock.move(minutes=11)
        return before, after, late, shown(await yard.research("AAPL"))

    before, after, late, healed = run(tmp_path, use)
    assert after["facts"]["revenue"] == healed["facts"]["revenue"] == before["facts"]["revenue"]
    assert "no usable answer since" in after["note"]
    assert late["facts"]["revenue"] is None
    assert "could not be read" in late["note"]


def test_no_facts_and_no_filer_are_answers_and_no_outage(tmp_path):
    async def use(yard):
        yard.desk.replaced[APPLE_FACTS] = None
        no_facts = shown(await yard.research("AAPL"))
        yard.desk.replaced["submissions/CIK0000789019.json"] = None
        return no_facts, shown(await yard.research("MSFT"))

    no_facts, no_filer = run(tmp_path, use)
    assert no_facts["underlying"]["cik"] == "0000320193"
    assert "no machine-readable facts" in no_facts["note"]
    assert no_filer["underlying"] is None
    assert "No company files" in no_filer["note"]


@pytest.mark.parametrize("path", [APPLE_FACTS, APPLE_FACTS.replace("api/xbrl/companyfacts", "submissions")])
def test_a_document_that_vanishes_is_replaced_by_the_older_copy_for_a_week(tmp_path, path):
    async def use(yard):
        before = shown(await yard.research("AAPL"))
        yard.desk.replaced[path] = None
        yard.clock.move(hours=30)
        after = shown(await yard.research("AAPL"))
        asked = len(yard.desk.asked)
        await yard.research("AAPL")
        assert len(yard.desk.asked) == asked
        del yard.desk.replaced[path]
        yard.clock.move(minutes=11)
        healed = shown(await yard.research("AAPL"))
        yard.desk.replaced[path] = None
        yard.clock.move(days=8)
        return before, after, healed, shown(await yard.research("AAPL"))

    before, after, healed, late = run(tmp_path, use)
    assert after["underlying"] == healed["underlying"] == before["underlying"]
    assert after["facts"]["revenue"] == healed["facts"]["revenue"] == before["facts"]["revenue"]
    assert "no usable answer since" in after["note"]
    assert "no usable answer since" not in (healed["note"] or "")
    assert late["facts"]["revenue"] is None


def without(lost):
    """The facts as they were on an earlier day, or without a part of them."""
    told = json.loads(document_at(APPLE_FACTS))
    told["facts"].pop(lost, None)
    for concept in (concept for tags in told["facts"].values() for concept in tags.values()):
        units = concept["units"].items()
        concept["units"] = {unit: [row for row in rows if lost == "dei" or row["filed"] < lost] for unit, rows in units}
    return json.dumps(told).encode()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (APPLE_FACTS, b'{"cik":320193,"facts":{}}'),
        (APPLE_FACTS, without("2026-08-01")),
        (APPLE_FACTS, without("dei")),
        (MAP, b'{"0":{"cik_str":789019,"ticker":"MSFT","title":"Microsoft"}}'),
    ],
    ids=["all", "the newest filings", "a taxonomy", "most tickers"],
)
def test_a_document_that_lost_what_it_said_is_replaced_by_the_older_copy_for_a_week(tmp_path, path, body):
    async def use(yard):
        before = shown(await yard.research("AAPL"))
        yard.desk.replaced[path] = body
        yard.clock.move(hours=30)
        after = shown(await yard.research("AAPL"))
        yard.clock.move(days=8)
        return before, after, shown(await yard.research("AAPL"))

    before, after, late = run(tmp_path, use)
    assert (after["underlying"], after["facts"]["revenue"]) == (before["underlying"], before["facts"]["revenue"])
    assert after["facts"]["sharesOutstanding"] == before["facts"]["sharesOutstanding"]
    assert "no usable answer since" in after["note"]
    assert "no usable answer since" not in (late["note"] or "")
    assert (late["underlying"], late["facts"]) != (before["underlying"], before["facts"])


def test_an_unusable_quote_leaves_price_and_market_cap_null_and_says_why(tmp_path):
    async def use(yard):
        return shown(await yard.research(QUIET))

    quiet = run(tmp_path, use)
    assert (quiet["token"]["price"], quiet["facts"]["marketCap"]) == (None, None)
    assert quiet["facts"]["revenue"] is not None
    assert "price: the issuer's quote is not usable" in quiet["note"]
    assert "marketCap: no usable quote" in quiet["note"]


def test_an_asset_without_any_quote_still_has_its_figures(tmp_path):
    async def use(yard):
        del yard.issuer_stand_in._listed["AAPL"]
        return shown(await yard.research("AAPL"))

    apple = run(tmp_path, use)
    assert apple["token"]["price"] is None
    assert apple["facts"]["revenue"] is not None


def test_an_issuer_that_does_not_answer_is_upstream_down(tmp_path):
    async def use(yard):
        await yard.research("AAPL")
        yard.board.set("issuer", "down")
        yard.clock.move(seconds=20)
        with pytest.raises(UpstreamDown):
            await yard.research("AAPL")

    run(tmp_path, use)


def test_an_unknown_symbol_is_not_found_and_asks_nobody(tmp_path):
    async def use(yard):
        with pytest.raises(NotFound):
            await yard.research("ZZZZ")
        return yard.desk.asked

    assert run(tmp_path, use) == []


async def archive_split(store, day, status="COMPLETED", kind="FORWARD_SPLIT"):
    text = day.isoformat() if day else ""
    row = {
        "id": action_id("0x1", kind, text),
        "asset_id": "0x1",
        "symbol": "AAPL",
        "type": TYPE_PREFIX + kind,
        "process_date": text,
        "status": STATUS_PREFIX + status,
        "details": "{}",
        "first_seen_at": yards.START,
        "updated_at": yards.START,
    }
    async with store.begin() as tx:
        await tx.execute(insert(corporate_action), row)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("days_after_count", "status", "kind", "has_cap"),
    [
        (1, "COMPLETED", "FORWARD_SPLIT", False),
        (1, "IN_PROGRESS", "REVERSE_SPLIT", False),
        (1, "COMPLETED", "STOCK_DIVIDEND", False),
        (None, "COMPLETED", "FORWARD_SPLIT", False),
        (None, "IN_PROGRESS", "FORWARD_SPLIT", True),
        (1, "CANCELED", "FORWARD_SPLIT", True),
        (1, "COMPLETED", "CASH_DIVIDEND", True),
        (0, "COMPLETED", "FORWARD_SPLIT", True),
        (-30, "COMPLETED", "FORWARD_SPLIT", True),
        (400, "IN_PROGRESS", "FORWARD_SPLIT", True),
    ],
)
def test_a_split_after_the_count_takes_the_market_cap_away(tmp_path, days_after_count, status, kind, has_cap):
    async def use(yard):
        counted = date.fromisoformat((await yard.research("AAPL")).facts.shares_outstanding.as_of)
        day = counted + timedelta(days=days_after_count) if days_after_count is not None else None
        await archive_split(yard.store, day, status, kind)
        return shown(await yard.research("AAPL"))

    apple = run(tmp_path, use)
    assert (apple["facts"]["marketCap"] is not None) is has_cap
    assert apple["facts"]["sharesOutstanding"] is not None
    assert has_cap or "marketCap: the shares were split on" in apple["note"]
