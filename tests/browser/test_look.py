"""Fast, reachable by everybody, and within its budgets."""

import gzip
import json
import math
import re
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import expect

from yards.patience import STUCK_S

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
AXE = (ROOT / "node_modules" / "axe-core" / "axe.min.js").read_text()
VIEWS = ("", "/asset/AAPL", "/trade/AAPL", "/portfolio", "/alerts", "/pay", "/earn", "/status", "/sandbox")
DEMO = "0x875F7121A37a8Af309B8e85f297B46Aa19d85daD"
FIRST_VIEW_MAX_BYTES = 60 * 1024
# A quarter of a second is the goal, a second when the machine is four times as slow; 0.21 to 0.29 are measured.
FILLED_MAX_S = 0.35
TRIES = 12


def settled(page):
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", [*VIEWS, f"/portfolio/{DEMO}"])
def test_axe_finds_nothing_serious(up, opened, view, scheme):
    page = opened(up.base, view, color_scheme=scheme, viewport={"width": 1280, "height": 900})
    settled(page)
    page.evaluate(AXE)
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    serious = [
        f"{each['id']}: {each['nodes'][0]['html'][:160]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
    assert serious == []


@pytest.mark.parametrize("width", [360, 768, 2560])
def test_no_view_is_wider_than_the_screen(up, opened, width):
    page = opened(up.base, "", viewport={"width": width, "height": 800})
    for view in VIEWS:
        page.goto(f"{up.base}/app{view}")
        settled(page)
        too_wide = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        assert too_wide <= 0, view


def test_a_dear_token_fits_at_four_hundred_percent(up, opened):
    """1280 pixels at 400 % are 320: what is read then is scrolled in one direction alone."""
    page = opened(up.base, "/asset/BKNG", viewport={"width": 320, "height": 640})
    settled(page)
    pools = page.locator(".card", has=page.get_by_role("heading", name="Pools"))
    expect(pools.locator("tbody tr")).not_to_have_count(0)
    ends = "(it) => [it, it.closest('.card')].map((each) => each.getBoundingClientRect().right)"
    for table in page.locator(".card table").all():
        own, of_its_card = table.evaluate(ends)
        assert own < of_its_card
    assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0


def test_balances_with_many_digits_fit_a_small_screen(up, opened):
    wallet = "0x" + "d5" * 20
    held = {"SPY": "98765.432109876543210987", "JOBY": "123456789.1", "TSLA": "0.00001", "NVDA": "0.000000000000000001"}
    for symbol, amount in held.items():
        up.post("/sandbox/fund", {"address": wallet, "asset": symbol, "amount": amount})
    page = opened(up.base, f"/portfolio/{wallet}", viewport={"width": 360, "height": 800})
    settled(page)
    for symbol, amount, shown in (
        ("JOBY", "123,456,789", "B"),
        ("TSLA", "0.00001", "<$0.01"),
        ("NVDA", "<0.000001", "<$0.01"),
    ):
        row = page.locator(".plain tbody tr").filter(has_text=symbol)
        expect(row.locator("td").first).to_contain_text(amount)
        expect(row.locator("td").first).to_have_attribute("title", held[symbol])
        expect(row.locator("td").nth(2)).to_contain_text(shown)
    assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0


def test_the_first_view_is_small(up, chrome):
    sizes = {}

    def note(response):
        if "/app/files/" in response.url and response.url.endswith(".js"):
            sizes[response.url] = len(gzip.compress(response.body(), 9))

    context = chrome.new_context()
    first = context.new_page()
    first.on("response", note)
    first.goto(f"{up.base}/app")
    expect(first.locator("table.markets tbody tr")).to_have_count(194)
    context.close()
    assert sizes
    assert sum(sizes.values()) <= FIRST_VIEW_MAX_BYTES, sizes


def test_filling_the_table_costs_less_than_a_second_on_a_machine_four_times_as_slow(up, chrome):
    """The page's own share, in time of the processor: whoever else runs here at the same time does not count."""
    best = math.inf
    for _ in range(TRIES):
        # Who else uses the same cores and their caches makes it more, so that the best of several tells.
        best = min(best, _seconds_to_fill(up, chrome))
        if best <= FILLED_MAX_S:
            break
    print(f"{best:.2f} s of the main thread")
    assert best > 0.02, "no page fills a table in no time: the browser told nothing"
    assert best <= FILLED_MAX_S


def _seconds_to_fill(up, chrome):
    """What the page's main thread worked from a cold cache until every row was there, with its price."""
    context = chrome.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    session = context.new_cdp_session(page)
    events, ended = [], []
    session.on("Tracing.dataCollected", lambda told: events.extend(told["value"]))
    session.on("Tracing.tracingComplete", lambda _: ended.append(True))
    kinds = {"includedCategories": ["disabled-by-default-devtools.timeline", "devtools.timeline", "blink.user_timing"]}
    session.send("Tracing.start", {"traceConfig": kinds, "transferMode": "ReportEvents"})
    page.goto(f"{up.base}/app", wait_until="commit")
    page.wait_for_selector("table.markets tbody tr:nth-child(194)")
    while not page.evaluate("() => performance.getEntriesByName('filled').length"):
        page.wait_for_timeout(50)
    session.send("Tracing.end")
    while not ended:
        page.wait_for_timeout(50)
    context.close()
    filled = next(each for each in events if each["name"] == "filled")
    return sum(
        each["tdur"] / 1e6
        for each in events
        if each["name"] == "RunTask" and "tdur" in each and each["ts"] <= filled["ts"]
        if (each["pid"], each["tid"]) == (filled["pid"], filled["tid"])
    )


def test_the_page_lets_nothing_in_and_nothing_out(up):
    with urllib.request.urlopen(f"{up.base}/app/asset/AAPL", timeout=STUCK_S) as answer:
        policy, powers = answer.headers["content-security-policy"], answer.headers["permissions-policy"]
    for part in ("default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "require-trusted-types-for"):
        assert part in policy
    assert "unsafe" not in policy
    assert "camera=()" in powers
    nodes = re.search(r"connect-src ([^;]*)", policy)[1].split()
    world = up.get("/sandbox")[1]
    assert nodes[0] == "'self'"
    assert {re.sub(r"(?<=\d)/.*", "", world[name]) for name in ("rpcUrl", "rpcUrl8453")} == set(nodes[1:])


def test_memory_stays_flat_while_prices_come_in(up, opened):
    """Ten minutes of polling, lived through quickly: the page's timers run sixty times as fast."""
    page = opened(up.base, "/status")
    page.add_init_script(
        "const wait = globalThis.setTimeout; globalThis.setTimeout = (run, ms, ...rest) => wait(run, (ms ?? 0) / 60, ...rest)"
    )
    page.goto(f"{up.base}/app")
    rows = page.locator("table.markets tbody tr")
    expect(rows).to_have_count(194)
    # What comes once must have come before the first measure: prices, and the day's lines beside them.
    expect(rows.first.locator(".price")).to_have_text(re.compile(r"\d"))
    expect(rows.first.locator("svg, canvas")).to_have_count(1)
    session = page.context.new_cdp_session(page)

    def used():
        # The least of some looks: one may fall upon an answer of 194 rows that is just being read.
        looks = []
        for _ in range(5):
            session.send("HeapProfiler.collectGarbage")
            looks.append(session.send("Runtime.getHeapUsage")["usedSize"])
        return min(looks)

    stats = "() => new Promise((done) => setTimeout(done, 60 * 60000 / 12))"
    page.evaluate(stats)
    before = used()
    page.evaluate(stats)
    page.evaluate(stats)
    after = used()
    assert after < before * 1.25 + 1_000_000, json.dumps([before, after])
