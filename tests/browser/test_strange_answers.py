"""Well-formed JSON of the wrong shape: a gateway says `null` or `{}` with a 200, and means nothing by it."""

import json
import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]
LONG_MS = 60_000
SAID = "The service answered something else than expected."


def strange(text):
    return lambda route: route.fulfill(status=200, content_type="application/json", body=text)


@pytest.mark.parametrize("text", ["null", "{}", '{"stats": [null]}', '{"stats": [{"symbol": "AAPL", "stats": {}}]}'])
def test_a_strange_answer_hides_the_prices_and_ends_no_reading(up, opened, text):
    page = opened(up.base, "/status")
    # Without a stream the figures are read every few seconds.
    page.route("**/v1/stream*", lambda route: route.abort("connectionreset"))
    page.goto(f"{up.base}/app")
    first = page.locator("table.markets tbody tr").first.locator(".price")
    expect(first).to_have_text(re.compile(r"\d"))
    page.route("**/v1/stats", strange(text))
    expect(page.locator(".banner")).to_contain_text(re.compile(r"No prices since \d\d:\d\d UTC\. " + re.escape(SAID)))
    expect(first).to_have_text("hidden")
    page.unroute("**/v1/stats")
    expect(first).to_have_text(re.compile(r"\d"), timeout=LONG_MS)
    expect(page.locator(".banner")).to_have_count(0)


@pytest.mark.parametrize("text", ["null", "{}", '{"endpoints": "all"}'])
def test_a_strange_list_of_what_is_offered_is_not_kept(up, opened, text):
    page = opened(up.base, "/status")
    page.route(f"{up.base}/", strange(text), times=1)
    page.goto(f"{up.base}/app")
    expect(page.locator("table.markets tbody tr").first.locator(".price")).to_have_text(re.compile(r"\d"))
    page.get_by_role("link", name="Alerts", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Alerts")
    # What only the list of this service names: it was asked for again.
    expect(page.get_by_role("navigation").get_by_role("link", name="Sandbox", exact=True)).to_be_visible()
    page.get_by_role("link", name="Markets", exact=True).click()
    expect(page.get_by_text("live", exact=True)).to_be_visible()


@pytest.mark.parametrize(
    ("view", "asked", "shown"),
    [
        ("/status", "**/v1/status", "Last good answer"),
        ("/earn", "**/v1/earn", "Rolled over"),
        ("/asset/AAPL", "**/v1/stats/AAPL", "Equity quote × multiplier"),
        ("/asset/AAPL", "**/v1/depth/AAPL*", "Selling"),
        ("/portfolio/0x54272d10F4fF50Ee2530899012E36f9c6e9E1fCB", "**/v1/portfolio/*", "Positions of"),
        ("/sandbox", "**/sandbox/fault", "What the issuer does"),
    ],
)
def test_a_view_whose_first_answer_is_strange_says_so_and_comes_by_itself(up, opened, view, asked, shown):
    page = opened(up.base, "/pay")
    page.route(asked, strange("{}"))
    page.goto(f"{up.base}/app{view}")
    expect(page.get_by_text(SAID).first).to_be_visible()
    expect(page.get_by_text("This page cannot be shown.")).to_have_count(0)
    page.unroute(asked)
    content = page.get_by_text(shown).or_(page.get_by_role("group", name=shown)).first
    expect(content).to_be_visible(timeout=LONG_MS)
    expect(page.get_by_text(SAID)).to_have_count(0)


@pytest.mark.parametrize("text", ["null", "{}"])
def test_what_was_typed_and_seen_stays_when_an_answer_is_strange(up, opened, text):
    page = opened(up.base, "/trade/AAPL")
    page.get_by_label("Amount", exact=True).fill("77")
    expect(page.get_by_test_id("tokens")).to_contain_text("AAPL")
    seen = page.get_by_text("$77.00").element_handle()
    page.route("**/v1/quote?*", strange(text))
    expect(page.locator(".quote").get_by_text(SAID)).to_be_visible()
    expect(page.get_by_label("Amount", exact=True)).to_have_value("77")
    page.unroute("**/v1/quote?*")
    expect(page.get_by_text(SAID)).to_have_count(0)
    # The very same element: the ticket was never taken away.
    assert seen.is_visible()


MINE = "0x54272d10F4fF50Ee2530899012E36f9c6e9E1fCB"
OTHERS = "0x" + "22" * 20


@pytest.mark.parametrize(
    ("view", "asked", "told", "shown"),
    [
        ("/trade/AAPL", "**/v1/quote?*", {"symbol": "MSFT"}, None),
        ("/trade/AAPL", "**/v1/quote?*", {"side": "sell"}, None),
        ("/asset/AAPL", "**/v1/stats/AAPL", {"symbol": "MSFT"}, "Equity quote × multiplier"),
        ("/asset/AAPL", "**/v1/depth/AAPL*", {"symbol": "MSFT"}, "Selling"),
        (f"/portfolio/{MINE}", "**/v1/portfolio/*", {"address": OTHERS}, "Positions of"),
    ],
)
def test_an_answer_about_something_else_is_none(up, opened, view, asked, told, shown):
    page = opened(up.base, "/pay")

    def about_another(route):
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | told)

    page.route(asked, about_another)
    page.goto(f"{up.base}/app{view}")
    expect(page.get_by_text(SAID).first).to_be_visible()
    page.unroute_all(behavior="wait")
    content = page.get_by_test_id("tokens") if shown is None else page.get_by_text(shown).first
    expect(content).to_be_visible(timeout=LONG_MS)
    expect(page.get_by_text(SAID)).to_have_count(0)


def test_what_was_asked_for_in_other_letters_is_the_same(up, opened):
    page = opened(up.base, f"/portfolio/{MINE.lower()}")
    expect(page.get_by_text("Positions of").first).to_be_visible()
    page.goto(f"{up.base}/app/asset/aapl")
    expect(page.get_by_text("Equity quote × multiplier").first).to_be_visible()


def test_a_strange_event_does_not_end_the_stream(up, opened):
    page = opened(up.base, "/status")
    told = {"status": 200, "content_type": "text/event-stream", "body": "event: price\ndata: null\n\n"}
    page.route("**/v1/stream*", lambda route: route.fulfill(**told), times=1)
    streams = []

    def is_second(request):
        if "/v1/stream" in request.url:
            streams.append(request)
        return len(streams) > 1

    with page.expect_request(is_second, timeout=LONG_MS):
        page.goto(f"{up.base}/app")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    expect(page.locator(".banner")).to_have_count(0)


def garble(route):
    """Of the right shape, and not to be drawn."""
    answer = route.fetch()
    route.fulfill(response=answer, json=answer.json() | {"asOf": "never"})


def test_a_view_that_cannot_be_drawn_leaves_the_others_whole_and_comes_back_by_itself(up, opened):
    page = opened(up.base)
    page.route("**/v1/status", garble)
    page.get_by_role("link", name="Status", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("This page cannot be shown.")
    page.get_by_role("link", name="Portfolio", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(["Portfolio"])
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("link", name="Status", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("This page cannot be shown.")
    page.unroute_all(behavior="wait")
    expect(page.get_by_role("row", name="issuer")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_who_does_not_want_to_wait_for_a_view_that_cannot_be_drawn_asks_again(up, opened):
    page = opened(up.base, "/pay")
    # What comes back by itself comes too late here.
    page.add_init_script("globalThis.setInterval = () => 0")
    page.route("**/v1/status", garble)
    page.goto(f"{up.base}/app/status")
    expect(page.get_by_role("alert")).to_contain_text("This page cannot be shown.")
    page.unroute_all(behavior="wait")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("row", name="issuer")).to_be_visible()


@pytest.mark.parametrize("name", ["constructor", "toString", "__proto__"])
def test_a_word_of_the_language_is_no_page(up, opened, name):
    page = opened(up.base, "/status")
    page.evaluate(
        "(to) => (history.pushState(null, '', to), dispatchEvent(new PopStateEvent('popstate')))", f"/app/{name}"
    )
    expect(page.get_by_text("There is no such page.")).to_be_visible()


@pytest.mark.parametrize("word", ["NaN", "1e400", "", "12 apples", [], True])
def test_a_figure_that_is_none_is_not_known_and_no_number(up, opened, word):
    page = opened(up.base, "/status")
    price = {"equityTokenUsd": "1", "dexUsd": word, "dexPremiumPct": word, "change24hPct": word}
    item = {"symbol": "AAPL", "stats": {"name": "Apple", "price": price, "supply": {}, "pools": []}, "error": None}
    page.route("**/v1/stream*", lambda route: route.abort("connectionreset"))
    page.route("**/v1/stats", strange(json.dumps({"stats": [item]})))
    page.goto(f"{up.base}/app")
    row = page.get_by_role("row", name=re.compile("^AAPL"))
    for column in ("price", "premium", "change"):
        expect(row.locator(f".{column}")).to_have_text("–")
