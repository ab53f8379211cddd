"""What the page says when something is away, and that it recovers by itself."""

import json
import re
import signal

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]
LONG_MS = 60_000
# A heartbeat that did not come, and a reading that is late.
SILENT_MS = 45_000


@pytest.fixture
def api(running, up, tmp_path):
    """One more API process of the sandbox, on a port of its own, that can be killed and started again."""
    settings = json.loads((up.run_dir / "settings.json").read_text())
    port = running.free_port()
    base = f"http://127.0.0.1:{port}"
    environ = {**settings, "TICKYARD_PORT": str(port), "TICKYARD_METRICS_PORT": str(port + 1000)}
    environ["TICKYARD_BASE_URL"] = base

    def start():
        return running.Process("serve", tmp_path / "api.log", environ).wait_ready()

    started = [start()]
    yield base, started, start
    started[-1].stop()


def test_a_service_that_dies_is_told_and_its_return_is_noticed(api, opened):
    base, started, start = api
    page = opened(base)
    expect(page.locator("table.markets tbody tr").first.locator(".price")).to_have_text(re.compile(r"\d"))
    started[-1].kill()
    expect(page.get_by_text("The service does not answer since")).to_be_visible(timeout=LONG_MS)
    expect(page.locator("table.markets tbody tr")).to_have_count(194)
    started.append(start())
    expect(page.get_by_text("The service does not answer since")).to_have_count(0, timeout=LONG_MS)


def test_a_lost_stream_tells_of_a_dead_service_before_the_next_slow_reading(api, opened):
    base, started, _ = api
    page = opened(base)
    # While the stream is there, figures are read again every half minute: here that never comes.
    page.add_init_script(
        "const later = setTimeout; window.setTimeout = (work, ms) => later(work, ms === 30000 ? 2 ** 31 - 1 : ms)"
    )
    page.reload()
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    expect(page.locator("table.markets tbody tr").first.locator(".price")).to_have_text(re.compile(r"\d"))
    started[-1].kill()
    expect(page.get_by_text("The service does not answer since")).to_be_visible()


def test_a_service_that_falls_silent_is_not_called_live_for_long(api, opened):
    base, started, _ = api
    page = opened(base)
    # Figures are read every half minute: here that never comes, as for whoever has just seen them.
    page.add_init_script(
        "const later = setTimeout; window.setTimeout = (work, ms) => later(work, ms === 30000 ? 2 ** 31 - 1 : ms)"
    )
    page.reload()
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    expect(page.locator("table.markets tbody tr").first.locator(".price")).to_have_text(re.compile(r"\d"))
    # Its connections stay, and nothing comes through them: as when a network is gone without a word.
    started[-1].process.send_signal(signal.SIGSTOP)
    try:
        expect(page.get_by_text("No answer since")).to_be_visible(timeout=SILENT_MS)
        expect(page.get_by_text("waiting", exact=True)).to_be_visible()
    finally:
        started[-1].process.send_signal(signal.SIGCONT)
    expect(page.locator(".banner")).to_have_count(0, timeout=LONG_MS)


def test_figures_whose_renewal_does_not_come_say_of_when_they_are(up, opened):
    page = opened(up.base, "/asset/AAPL")
    expect(page.get_by_text("Pool price")).to_be_visible()
    page.route("**/v1/stats/AAPL", lambda _: None)
    expect(page.get_by_text(re.compile(r"No answer yet\. Prices below are from \d\d:\d\d UTC"))).to_be_visible(
        timeout=20_000
    )
    expect(page.locator(".head .hidden")).to_have_text("hidden")
    page.unroute("**/v1/stats/AAPL")
    expect(page.get_by_text("No answer yet.")).to_have_count(0, timeout=LONG_MS)


@pytest.mark.parametrize(
    ("view", "swallowed", "said"),
    [
        ("/earn", "**/v1/earn", "No rewards since"),
        ("/asset/AAPL", "**/v1/history/AAPL*", "No history since"),
        ("/earn", "**/files/earn-*", "This page could not be loaded"),
        ("/asset/AAPL", "**/files/chart-*", "The chart could not be loaded"),
    ],
)
def test_what_a_line_swallows_before_it_ever_came_is_told(up, opened, view, swallowed, said):
    page = opened(up.base)
    held = []
    # One answer is lost: what came late is not asked of the line again, where the browser has kept it.
    page.route(swallowed, lambda route: held.append(route), times=1)
    page.goto(f"{up.base}/app{view}")
    expect(page.get_by_text(said)).to_be_visible(timeout=15_000)
    for each in held:
        each.continue_()
    expect(page.get_by_text(said)).to_have_count(0)


def test_who_asks_again_is_not_told_what_an_older_question_brings(up, opened):
    page = opened(up.base)
    held = []
    page.route("**/v1/earn", lambda route: held.append(route))
    page.goto(f"{up.base}/app/earn")
    again = page.get_by_role("button", name="Try again")
    expect(again).to_be_visible(timeout=15_000)
    with page.expect_event("requestfailed", lambda request: request == held[0].request):
        again.click()
    # What is held goes on.
    page.unroute("**/v1/earn")
    expect(page.get_by_text("Accruing: ")).to_be_visible()


def test_a_reading_that_comes_late_does_not_take_back_what_the_stream_told(up, opened):
    page = opened(up.base)
    watcher = page.context.new_page()
    watcher.goto(f"{up.base}/app")
    cells = [
        each.locator("table.markets tbody tr").filter(has=each.get_by_role("link", name="IBM", exact=True))
        for each in (page, watcher)
    ]
    # On a busy machine the node may be late, and that is said: it is not what this is about.
    while (answer := up.get("/v1/stats"))[0] != 200:
        pass
    _, old = answer
    before = next(each["stats"]["price"]["dexUsd"] for each in old["stats"] if each["symbol"] == "IBM")
    held = []
    page.route("**/v1/stats", lambda route: held.append(route))
    with page.expect_response("**/v1/stream*"):
        page.reload()
    # One of the page before it was loaded again may be held too.
    asked = held[-1]
    moved = f"{float(before) * 1.03:.2f}"
    up.post("/sandbox/price", {"symbol": "IBM", "price": moved})
    expect(cells[1].locator(".price")).to_have_text(moved)
    asked.fulfill(json=old)
    # The next reading does not come at all.
    expect(cells[0].locator(".price")).to_have_text(moved)


def test_depths_that_cannot_be_read_are_not_shown_for_long(up, opened):
    page = opened(up.base)
    page.clock.install()
    page.reload()
    depth = page.locator("table.markets tbody tr").first.locator(".depth")
    expect(depth).to_have_text(re.compile(r"\d"))
    page.route("**/v1/markets*", lambda route: route.fulfill(status=503, json={"error": {"code": "x", "message": "x"}}))
    for _ in range(5):
        page.clock.run_for(31_000)
    expect(depth).to_have_text("–")
    expect(page.locator("table.markets tbody tr").first.locator(".price")).to_have_text(re.compile(r"\d"))


def test_an_alert_whose_state_cannot_be_asked_for_says_so(up, opened):
    page = opened(up.base)
    kept = [{"id": "a" * 32, "secret": "s", "symbol": "AAPL", "condition": "above", "price": 900}]
    page.evaluate("(kept) => localStorage.setItem('tickyard.alerts', JSON.stringify(kept))", kept)
    refusal = {"error": {"code": "rate_limited", "message": "too many requests"}}
    page.route("**/v1/alerts/*", lambda route: route.fulfill(status=429, json=refusal, headers={"retry-after": "20"}))
    page.get_by_role("link", name="Alerts", exact=True).click()
    expect(page.locator("ul.alerts li").get_by_role("alert")).to_have_text("Too many requests.")
    page.unroute("**/v1/alerts/*")
    active = kept[0] | {"status": "active", "expiresAt": "2030-01-01T00:00:00Z", "webhookUrl": "https://example.com/x"}
    page.route("**/v1/alerts/*", lambda route: route.fulfill(json=active))
    expect(page.locator("ul.alerts li .mark")).to_have_text("active")
    expect(page.locator("ul.alerts li").get_by_role("alert")).to_have_count(0)


def test_a_view_opened_while_the_service_is_away_comes_when_it_is_back(api, opened):
    base, started, start = api
    page = opened(base)
    expect(page.locator("table.markets tbody tr").first.locator(".price")).to_have_text(re.compile(r"\d"))
    started[-1].kill()
    page.get_by_role("link", name="Status", exact=True).click()
    expect(page.get_by_text("This page could not be loaded.")).to_be_visible()
    started.append(start())
    expect(page.get_by_role("heading", name="Status")).to_be_visible(timeout=LONG_MS)


def test_a_chart_whose_code_does_not_come_is_asked_for_again(up, opened):
    page = opened(up.base)
    page.route("**/app/files/chart-*.js", lambda route: route.abort("connectionreset"))
    page.locator("table.markets tbody tr").get_by_role("link", name="AAPL").first.click()
    expect(page.get_by_text("The chart could not be loaded.")).to_be_visible()
    page.unroute("**/app/files/chart-*.js")
    expect(page.locator(".chart canvas").first).to_be_visible()


@pytest.mark.parametrize(("target", "name"), [("issuer", "issuer"), ("rpc", "node")])
def test_a_source_that_is_down_hides_prices_and_says_since_when(up, opened, target, name):
    page = opened(up.base)
    first = page.locator("table.markets tbody tr").first.locator(".price")
    expect(first).to_have_text(re.compile(r"\d"))
    up.post("/sandbox/fault", {"target": target, "mode": "down"})
    try:
        expect(page.get_by_text("Prices are hidden, not guessed.")).to_be_visible(timeout=LONG_MS)
        expect(page.locator(".banner")).to_contain_text(re.compile(r"down since \d\d:\d\d UTC"))
        expect(first).to_have_text("hidden")
        page.get_by_role("link", name="Status", exact=True).click()
        expect(page.get_by_role("row", name=name).locator(".mark")).to_have_text("does not answer")
        page.go_back()
    finally:
        up.post("/sandbox/fault", {"target": target, "mode": "ok"})
    expect(first).to_have_text(re.compile(r"\d"), timeout=LONG_MS)
    expect(page.locator(".banner")).to_have_count(0)


def test_an_old_chart_says_of_when_it_is_and_shows_no_quote_that_is_hidden_above_it(up, opened):
    page = opened(up.base, "/asset/AAPL")
    chart = page.locator(".card").filter(has=page.get_by_role("heading", name="Price", exact=True))
    expect(chart).to_contain_text("equity quote")
    page.route(re.compile(r"/v1/(stats|history)/AAPL"), lambda route: route.fulfill(**NOT_OURS))
    expect(page.locator(".head .hidden")).to_be_visible()
    expect(chart).not_to_contain_text(re.compile("equity quote|premium"))
    expect(chart).to_contain_text(re.compile(r"The candles below are from \d\d:\d\d UTC"))
    page.unroute(re.compile(r"/v1/(stats|history)/AAPL"))
    expect(chart).to_contain_text("equity quote")
    expect(chart).not_to_contain_text("The candles below are from")


TOO_MANY = {
    "status": 429,
    "headers": {"retry-after": "30"},
    "json": {"error": {"code": "bad_request", "message": "too many requests"}},
}
NOT_OURS = {"status": 503, "content_type": "text/html", "body": "<html>Service Unavailable</html>"}


@pytest.mark.parametrize(
    ("answer", "said"), [(TOO_MANY, "Too many requests."), (NOT_OURS, "The service answered 503.")]
)
def test_no_source_is_called_down_for_what_is_not_its_fault(up, opened, answer, said):
    page = opened(up.base, "/status")
    page.route("**/v1/stats", lambda route: route.fulfill(**answer))
    page.reload()
    expect(page.locator(".banner")).to_contain_text(re.compile(r"^No prices since \d\d:\d\d UTC\. " + re.escape(said)))
    expect(page.locator(".banner")).not_to_contain_text("is down")
    page.unroute("**/v1/stats")
    expect(page.locator(".banner")).to_have_count(0)


@pytest.mark.parametrize(
    ("answer", "said"),
    [(TOO_MANY, "Too many requests."), (NOT_OURS, "The service answered 503."), (None, "The service does not answer.")],
)
def test_a_price_that_cannot_be_asked_for_is_not_called_free(up, opened, answer, said):
    page = opened(up.base, "/pay")
    page.route("**/v1/x402/quote*", lambda route: route.fulfill(**answer) if answer else route.abort("connectionreset"))
    page.get_by_role("button", name="Ask without paying").click()
    expect(page.locator(".note.bad")).to_have_text(said)
    page.unroute("**/v1/x402/quote*")
    page.get_by_role("button", name="Ask without paying").click()
    expect(page.get_by_text("402: pay one of these")).to_be_visible()


def test_an_unknown_token_and_an_unknown_page_have_a_way_back(up, opened):
    page = opened(up.base, "/portfolio/nonsense")
    expect(page.get_by_text("This is not an address.")).to_be_visible()
    page.get_by_role("link", name="Trade", exact=True).click()
    page.get_by_label("Symbol").fill("NOSUCH")
    page.get_by_role("button", name="Choose").click()
    expect(page.get_by_text("There is no token called NOSUCH.")).to_be_visible()
    page.get_by_role("link", name="All markets", exact=True).click()
    expect(page.locator("table.markets tbody tr")).to_have_count(194)


def test_a_fault_is_shown_for_as_long_as_it_lasts(up, opened):
    up.post("/sandbox/fault", {"target": "filings", "mode": "slow"})
    try:
        page = opened(up.base, "/sandbox")
        slow = page.get_by_role("group", name="What the filings does").get_by_role("button", name="slow")
        expect(slow).to_have_attribute("aria-pressed", "true")
    finally:
        up.post("/sandbox/fault", {"target": "filings", "mode": "ok"})
    expect(slow).to_have_attribute("aria-pressed", "false")


@pytest.mark.parametrize("answer", [{"status": 404}, {"body": "export {}", "content_type": "text/plain"}])
@pytest.mark.parametrize("reduced_motion", ["reduce", "no-preference"])
def test_a_page_whose_code_does_not_come_is_not_blank(up, chrome, answer, reduced_motion):
    """One service of two was renewed: the page came from one, its code is asked of the other."""
    page = chrome.new_context(reduced_motion=reduced_motion).new_page()
    page.route("**/app/files/app-*.js", lambda route: route.fulfill(**answer))
    page.goto(f"{up.base}/app/asset/AAPL")
    expect(page.get_by_text("This page could not be loaded.")).to_be_visible()
    page.unroute("**/app/files/app-*.js")
    page.get_by_role("link", name="load it again").click()
    expect(page.get_by_role("heading", name="AAPL")).to_be_visible()
    expect(page.get_by_text("This page could not be loaded.")).to_have_count(0)
    page.context.close()
