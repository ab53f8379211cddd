"""What the app does with depth, explanations, series, reserves and a stream; and where a wallet can do more: a batch.
The far end is replaced at the wire."""

import json
import re
from datetime import datetime, timedelta
from functools import partial

import msgspec
import pytest
from playwright.sync_api import expect

from browser.wallet import WALLET
from tickyard.catalog import CATALOG, STREAM
from yards.patience import STUCK_S

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]

STEPS = [{"movePct": pct, "usdg": str(1000 * n), "tokens": "3"} for n, pct in enumerate(("0.1", "0.5", "1", "2"), 1)]
DEPTH = {
    "symbol": "AAPL",
    "chainId": 4663,
    "blockNumber": 7,
    "asOf": "2026-11-15T00:00:00Z",
    "pools": [],
    "all": {"up": STEPS, "down": STEPS},
    "largest": {"buyUsd": "2500.000000", "sellTokens": "9"},
}
CANDIDATE = {
    "concept": "us-gaap:Revenues",
    "value": 416161000000,
    "unit": "USD",
    "periodStart": "2024-09-29",
    "periodEnd": "2025-09-27",
    "form": "10-K",
    "accession": "0000320193-25-000079",
    "filed": "2025-10-31",
    "filingUrl": "https://cdn.example/filings/0000320193-25-000079-index.htm",
    "verdict": "chosen",
    "reason": "The total of the newest year.",
}
EXPLAINED = {
    "symbol": "AAPL",
    "asOf": "2026-11-15T00:00:00Z",
    "companyName": "Apple Inc.",
    "incorporatedIn": "California",
    "facts": {
        **{key: {"chosen": None, "candidates": []} for key in ("netIncome", "sharesOutstanding", "marketCap")},
        "revenue": {"chosen": CANDIDATE, "candidates": [CANDIDATE, {**CANDIDATE, "verdict": "rejected"}]},
    },
    "note": None,
}
FIGURE = {
    "value": 416161000000,
    **dict.fromkeys(("concept", "form", "accession", "filed", "reason")),
    "unit": "USD",
    "earlier": [],
}
PERIOD = {
    "periodStart": "2024-09-29",
    "fiscalYear": 2025,
    "revenue": FIGURE,
    "netIncome": {**FIGURE, "value": -9},
    "dilutedEps": FIGURE,
    "shares": FIGURE,
}
SERIES = {
    "symbol": "AAPL",
    "annual": [{**PERIOD, "periodEnd": f"202{n}-09-27"} for n in (5, 4, 3)],
    "asOf": "2026-11-15T00:00:00Z",
    "quarterly": [],
    "trailing": {"periodStart": None, "periodEnd": None, "revenue": FIGURE, "netIncome": FIGURE},
    "note": None,
    "ratios": {
        "priceToEarnings": {"value": "31.1987", "reason": None},
        "priceToSales": {"value": None, "reason": "Fewer than four quarters are reported."},
    },
}
RESERVES = {
    "blockNumber": 7,
    "asOf": "2026-11-15T00:00:00Z",
    "desk": "0x" + "d" * 40,
    "payer": {"address": "0x" + "e" * 40, "usdg": "1234.500007", "eth": "1", "allowance": "9"},
    "owedUsd": "0.000000",
    "sealedUsd": "0.039992",
    "paidUsd": "5.000000",
    "epochs": [],
}
ANSWERS = {
    "/v1/depth/": ("get_depth", DEPTH),
    "/explain": ("explain_research", EXPLAINED),
    "/financials": ("get_financials", SERIES),
    "/v1/earn/reserves": ("get_earn_reserves", RESERVES),
}


def replace_answers(page):
    shapes = {row.name: row.answer for row in CATALOG}
    for part, (name, body) in ANSWERS.items():
        # The far end that is put in its place speaks as the real one does, or this line says what it left out.
        msgspec.convert(body, shapes[name])
        page.route(re.compile(re.escape(part)), partial(answer, body))


def answer(body, route):
    route.fulfill(json=body)


def test_depth_explanations_series_and_reserves_are_shown(up, opened):
    page = opened(up.base, "/status")
    replace_answers(page)
    page.goto(f"{up.base}/app/asset/AAPL")
    expect(page.get_by_role("heading", name="Depth")).to_be_visible()
    expect(page.get_by_text("Up to $2,500.00 can be bought")).to_be_visible()
    expect(page.get_by_role("heading", name="Financials")).to_be_visible()
    expect(page.locator(".bars .loss")).to_have_count(3)
    expect(page.get_by_text("31.20", exact=True)).to_be_visible()
    expect(page.get_by_text("Fewer than four quarters are reported.")).to_be_visible()
    page.get_by_text("Why these figures").click()
    expect(page.get_by_text("0000320193-25-000079").first).to_be_visible()
    page.goto(f"{up.base}/app/earn")
    expect(page.get_by_text("$1,234.500007", exact=True)).to_be_visible()
    expect(page.get_by_text("$0.039992", exact=True)).to_be_visible()


def test_what_accrues_is_told_to_its_last_digit(up, opened):
    page = opened(up.base, "/status")

    def rolled(route):
        answer = route.fetch()
        accruing = {"revenueUsd": "0.020000", "rolloverUsd": "0.019992"}
        told = answer.json()
        route.fulfill(response=answer, json={**told, "accruing": told["accruing"] | accruing})

    page.route("**/v1/earn", rolled)
    page.goto(f"{up.base}/app/earn")
    expect(page.get_by_text("$0.039992", exact=True)).to_be_visible()


def test_a_token_that_nobody_trades_has_no_table_of_nothing(up, opened):
    page = opened(up.base, "/status")
    move = {"movePct": "1.0000", "usdg": "0.000000", "tokens": "0"}
    largest = {"buyUsd": "0.000000", "sellTokens": "0"}
    nothing = DEPTH | {"pools": [], "all": {"up": [move], "down": [move]}, "largest": largest}
    page.route("**/v1/depth/AAPL*", lambda route: route.fulfill(json=nothing))
    page.goto(f"{up.base}/app/asset/AAPL")
    expect(page.get_by_text("There is no pool with liquidity")).to_be_visible()
    expect(page.get_by_text("can be bought below")).to_have_count(0)


def test_figures_in_another_currency_say_in_which(up, opened):
    page = opened(up.base, "/asset/TSM")
    bars = page.locator("section", has=page.get_by_role("heading", name="Financials"))
    expect(bars.locator("figure").last).to_contain_text(re.compile(r"\d[KMBT] TWD\s*[−\d.]+[KMBT] TWD"))
    page.goto(f"{up.base}/app/asset/AAPL")
    expect(bars.locator("figure").last).to_contain_text(re.compile(r"\$[\d.]+[KMBT]\s*\$[\d.]+[KMBT]"))


def test_prices_come_by_the_stream_where_there_is_one(up, opened):
    page = opened(up.base, "/status")
    event = {"symbol": "AAPL", "price": "123.45", "premiumPct": "1.5000", "blockNumber": 7, "asOf": DEPTH["asOf"]}
    msgspec.convert(event, STREAM["price"])
    text = f"event: price\ndata: {json.dumps(event)}\n\n"
    page.route("**/v1/stream*", lambda route: route.fulfill(body=text, content_type="text/event-stream"))
    page.goto(f"{up.base}/app")
    row = page.get_by_role("row", name=re.compile("^AAPL"))
    expect(row.locator(".price")).to_have_text("123.45")
    expect(row.locator(".premium")).to_have_text("+1.50 %")
    page.close()


def test_a_sample_of_minutes_ago_is_never_shown_as_the_price_of_now(up, opened):
    page = opened(up.base, "/status")
    # A figure that stands in no other: 77.77 is in 277.77 too.
    sample = {"symbol": "AAPL", "price": 987654.32, "live": None}
    told = {"asOf": DEPTH["asOf"], "chainId": 4663, "lastSlot": DEPTH["asOf"], "prices": [sample]}
    text = f"event: snapshot\ndata: {json.dumps(told)}\n\n"
    page.route("**/v1/stream*", lambda route: route.fulfill(body=text, content_type="text/event-stream"))
    page.add_init_script(
        "new MutationObserver(() => (globalThis.saw ||= /987.?654/.test(document.body?.textContent ?? '')))"
        ".observe(document, { subtree: true, childList: true, characterData: true })"
    )
    page.goto(f"{up.base}/app")
    expect(page.get_by_role("row", name=re.compile("^AAPL")).locator(".price")).to_have_text(re.compile(r"\d"))
    # It comes back again and again, and each time what moved meanwhile is asked for.
    for _ in range(2):
        with page.expect_response("**/v1/stats"), page.expect_response("**/v1/stream*"):
            pass
    assert not page.evaluate("() => globalThis.saw")
    page.close()


class Day:
    """A day of AAPL: its hours back from now with their closes, and the change that stands beside the line."""

    def __init__(self, up, page):
        self.up, self.hours, self.change, self.now = up, {}, None, None
        page.route("**/v1/stats", self.stats)
        page.route("**/v1/history/AAPL*", self.history)

    def stats(self, route):
        status, told = self.up.get("/v1/stats")
        if status != 200:
            # On a busy machine the node may be late, and the page asks again.
            return route.fulfill(status=status, json=told)
        self.now = datetime.fromisoformat(told["asOf"])
        for item in told["stats"]:
            if item["symbol"] == "AAPL":
                item["stats"]["price"]["change24hPct"] = self.change
        return route.fulfill(json=told)

    def history(self, route):
        shared = {"open": 1, "high": 2, "low": 1, "ticks": 1}
        begun = {ago: self.now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=ago) for ago in self.hours}
        candles = [
            shared | {"t": begun[ago].isoformat(), "close": self.hours[ago]} for ago in sorted(self.hours, reverse=True)
        ]
        route.fulfill(json={"candles": candles})


def line_of(page, said):
    return page.get_by_role("img", name=f"AAPL, {said}", exact=True)


def test_the_line_of_a_day_is_asked_for_again_while_the_page_stays_open(up, opened):
    page = opened(up.base, "/status")
    day = Day(up, page)
    day.hours, day.change = {1: 2, 0: 3}, "5.0000"
    page.clock.install()
    page.goto(f"{up.base}/app")
    page.get_by_role("searchbox").fill("AAPL")
    expect(line_of(page, "one day: rising").locator("polyline")).to_have_count(2)
    day.hours, day.change = dict.fromkeys(range(25), 3), "-5.0000"
    page.clock.fast_forward("20:00")
    # Both are one picture, and whichever comes last draws it.
    expect(line_of(page, "one day: falling").locator("polyline")).to_have_count(1)


def test_hours_without_a_sample_are_gaps_in_the_line_and_those_of_days_ago_are_not_in_it(up, opened):
    page = opened(up.base, "/status")
    day = Day(up, page)
    # The last two of these are all that is of this day, and nobody knows how it began.
    day.hours = {**dict.fromkeys(range(72, 95), 9), 5: 1, 0: 2}
    page.goto(f"{up.base}/app")
    page.get_by_role("searchbox").fill("AAPL")
    pieces = line_of(page, "part of a day").locator("polyline")
    expect(pieces).to_have_count(2)
    assert [len(set(piece.get_attribute("points").split())) for piece in pieces.all()] == [1, 1]
    expect(line_of(page, "part of a day")).to_have_class("spark flat")


def points(page, said):
    """The line's places, from left to right: 0 is a day ago, 100 is now."""
    text = " ".join(each.get_attribute("points") for each in line_of(page, said).locator("polyline").all())
    return [float(each.split(",")[0]) for each in text.split()]


def test_a_line_stands_where_it_belongs_while_the_figures_stay_away(up, opened):
    page = opened(up.base, "/status")
    page.clock.install()
    day = Day(up, page)
    day.hours, day.change = dict.fromkeys(range(25), 3), "5.0000"
    page.goto(f"{up.base}/app")
    page.get_by_role("searchbox").fill("AAPL")
    expect(line_of(page, "one day: rising")).to_be_visible()
    refusal = {"error": {"code": "upstream_error", "message": "the node did not answer"}}
    page.route("**/v1/stats", lambda route: route.fulfill(status=502, json=refusal))
    # Six hours later nobody has told what time it is, and the candles of those hours are there.
    day.now += timedelta(hours=6)
    day.hours = dict.fromkeys(range(13), 3)
    page.clock.fast_forward("06:00:00")
    expect(line_of(page, "one day: rising").locator("polyline")).to_have_count(2)
    *_, first, second, third, newest = points(page, "one day: rising")
    # An hour is a twenty-fourth of the picture, and no two of them stand in one place.
    assert [round(second - first), round(third - second)] == [4, 4]
    assert third < newest <= 100


def test_no_line_is_drawn_before_anybody_has_told_what_time_it_is(up, opened):
    page = opened(up.base, "/status")
    day = Day(up, page)
    day.hours = dict.fromkeys(range(100), 3)
    while (answer := up.get("/v1/stats"))[0] != 200:
        pass
    day.now = datetime.fromisoformat(answer[1]["asOf"])
    refusal = {"error": {"code": "upstream_error", "message": "the node did not answer"}}
    page.route("**/v1/stats", lambda route: route.fulfill(status=502, json=refusal))
    page.goto(f"{up.base}/app")
    page.get_by_role("searchbox").fill("AAPL")
    expect(page.locator("table.markets tbody tr").first.locator(".price")).to_have_text("hidden")
    # Each refusal draws the rows once more, and then looks which of their lines are due.
    for _ in range(2):
        with page.expect_response("**/v1/stats"):
            pass
    expect(page.locator("td.line polyline")).to_have_count(0)
    page.unroute("**/v1/stats")
    expect(page.locator("td.line polyline").first).to_be_attached()


def test_where_nothing_was_sampled_for_a_day_there_is_no_line(up, opened):
    page = opened(up.base, "/status")
    Day(up, page).hours = dict.fromkeys(range(30, 50), 9)
    page.goto(f"{up.base}/app")
    page.get_by_role("searchbox").fill("AAPL")
    expect(line_of(page, "nothing of the last day").locator("polyline")).to_have_count(0)


def test_the_vote_power_is_the_one_of_the_positions_beside_it(up, opened):
    address = "0x" + "5e" * 20
    page = opened(up.base, f"/portfolio/{address}")
    votes = page.locator(".card").filter(has=page.get_by_role("heading", name="Vote power"))
    expect(votes.locator(".big")).to_have_text("0")
    up.post("/sandbox/fund", {"address": address, "asset": "AAPL", "amount": "5"})
    expect(page.get_by_role("row", name="AAPL")).to_be_visible()
    expect(votes.locator(".big")).to_have_text(re.compile(r"^5\.\d"))


def test_a_page_that_nobody_looks_at_holds_no_connection(up, opened):
    """A browser has six to a service, for all its tabs: with as many pages in the background no other would open."""

    def is_stream(request):
        return "/v1/stream" in request.url

    page = opened(up.base, "/status")
    page.add_init_script("Object.defineProperty(document, 'hidden', { get: () => globalThis.isAway ?? false })")
    live = page.get_by_text("live", exact=True)
    page.goto(f"{up.base}/app")
    expect(live).to_be_visible()
    turn = "(isAway) => ((globalThis.isAway = isAway), document.dispatchEvent(new Event('visibilitychange')))"
    with page.expect_event("requestfailed", is_stream):
        page.evaluate(turn, True)
    expect(live).to_have_count(0)
    with page.expect_request(is_stream), page.expect_response("**/v1/stats"):
        page.evaluate(turn, False)
    expect(live).to_be_visible()


# The first answer about prices is held until the stream has had half a second to tell where things stand.
HOLD_THE_FIRST = """
  const fetchAs = globalThis.fetch;
  const asked = (globalThis.asked = []);
  let isOpen;
  const opened = new Promise((resolve) => (isOpen = resolve));
  globalThis.fetch = async (input, init) => {
    const url = String(input?.url ?? input);
    const isFirst = url.endsWith('/v1/stats') && asked.push(performance.now()) === 1;
    const answer = await fetchAs(input, init);
    if (url.includes('/v1/stream')) isOpen();
    if (isFirst) {
      await opened;
      await new Promise((resolve) => setTimeout(resolve, 500));
      globalThis.releasedAt = performance.now();
    }
    return answer;
  };
"""


def test_what_the_stream_tells_while_prices_are_read_is_asked_again(up, opened):
    """A reading that began before the stream may miss what moved between them; the next one would come 30 s later."""
    page = opened(up.base, "/status")
    page.add_init_script(HOLD_THE_FIRST)
    page.goto(f"{up.base}/app")
    page.wait_for_function("() => globalThis.releasedAt && globalThis.asked.length > 1", timeout=STUCK_S * 1000)
    assert page.evaluate("() => globalThis.asked[1] - globalThis.releasedAt") < 20_000


def test_no_trade_is_reviewed_unchecked_because_the_index_is_late(up, opened):
    page = opened(up.base, "/status")
    away = {"error": {"code": "upstream_error", "message": "the index is away"}}
    page.route(f"{up.base}/", lambda route: route.fulfill(status=502, json=away))
    asked = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.add_init_script(WALLET)
    page.goto(f"{up.base}/app/trade/GOOGL")
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_role("button", name="Own wallet").click()
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("button", name="Sign and send")).to_be_visible()
    assert (asked.count("build"), asked.count("check")) == (0, 1)


def reviewing(up, opened, wallet, on_check=None):
    """A page on which this wallet has asked for the review of a trade."""
    page = opened(up.base, "/status")
    page.add_init_script(wallet)
    if on_check is not None:
        page.route("**/v1/trade/check", on_check)
    page.goto(f"{up.base}/app/trade/GOOGL")
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_role("button", name="Own wallet").click()
    page.get_by_role("button", name="Review").click()
    return page


def test_a_wallet_that_can_batch_confirms_once(up, opened):
    page = reviewing(up, opened, WALLET)
    page.get_by_role("button", name="Sign and send 2 steps").click()
    expect(page.get_by_text("This is what really moved")).to_be_visible()
    asked = page.evaluate("() => asked")
    (batch,) = [each["params"][0] for each in asked if each["method"] == "wallet_sendCalls"]
    assert (batch["chainId"], batch["atomicRequired"], len(batch["calls"])) == ("0x1237", True, 2)
    assert {each["value"] for each in batch["calls"]} == {"0x0"}
    assert "eth_sendTransaction" not in {each["method"] for each in asked}


def test_what_was_reviewed_for_one_account_is_not_signed_by_another(up, opened):
    page = reviewing(up, opened, WALLET)
    sign = page.get_by_role("button", name="Sign and send 2 steps")
    expect(sign).to_be_visible()
    page.evaluate("() => heard.accountsChanged(['0xB793204cbdcED76Cd1366f082039304b9A9b3CA8'])")
    expect(sign).to_have_count(0)
    assert "wallet_sendCalls" not in {each["method"] for each in page.evaluate("() => asked")}


def test_an_answer_to_an_earlier_ticket_is_not_shown_for_review(up, opened):
    held = []
    page = reviewing(up, opened, WALLET, lambda route: held.append(route))
    expect(page.get_by_role("button", name="Building…")).to_be_visible()
    page.get_by_label("Amount").fill("7")
    with page.expect_response("**/v1/trade/check"):
        held[0].continue_()
    expect(page.get_by_role("button", name="Review")).to_be_enabled()
    expect(page.get_by_role("button", name="Sign and send 2 steps")).to_have_count(0)


def test_a_batch_that_may_have_left_is_not_sent_again(up, opened):
    lost = WALLET + "answers.wallet_getCallsStatus = () => Promise.reject(new Error('gone'));"
    page = reviewing(up, opened, lost)
    sign = page.get_by_role("button", name="Sign and send 2 steps")
    sign.click()
    expect(page.get_by_text("Something of it was sent")).to_be_visible()
    expect(sign).to_be_disabled()


def test_a_trade_that_would_fail_says_why_before_it_is_signed(up, opened):
    page = opened(up.base, "/status")
    page.add_init_script(WALLET)

    def failing(route):
        body = route.fetch().json()
        reason = {"code": "other", "message": "The contract refused <b>it</b>.", "data": "0x"}
        body["simulation"]["success"] = False
        body["simulation"]["steps"][-1] |= {"success": False, "reason": reason}
        route.fulfill(json=body)

    page.route("**/v1/trade/check", failing)
    page.goto(f"{up.base}/app/trade/GOOGL")
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_role("button", name="Own wallet").click()
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_text("The contract refused <b>it</b>.")).to_be_visible()
