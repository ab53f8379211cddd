"""What people do with the app, in a real browser against a real sandbox."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]


def connect(page):
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_role("button", name="Demo wallet").click()
    expect(page.locator(".wallet")).to_contain_text("0x875F")


def confirm(page):
    page.get_by_role("dialog").get_by_role("button", name="Confirm").click()


def test_a_newcomer_understands_the_market_finds_a_token_and_comes_back(up, opened):
    page = opened(up.base)
    rows = page.locator("table.markets tbody tr")
    expect(rows).to_have_count(194)
    expect(rows.first.locator(".price")).to_have_text(re.compile(r"\d"))
    page.keyboard.press("/")
    page.get_by_role("searchbox").fill("apple")
    expect(rows.first).to_contain_text("AAPL")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{up.base}/app/asset/AAPL")
    expect(page.get_by_role("heading", name="AAPL")).to_be_visible()
    expect(page.locator(".chart canvas").first).to_be_visible()
    page.go_back()
    expect(rows).to_have_count(194)
    page.go_forward()
    page.reload()
    expect(page.get_by_role("heading", name="AAPL")).to_be_visible()


def test_what_is_to_come_is_marked_and_said_in_plain_words(up, opened):
    page = opened(up.base)
    in_progress = up.get("/v1/corporate-actions?status=IN_PROGRESS")[1]["corpActions"]
    marked = page.locator("table.markets tbody tr", has=page.get_by_text("pending", exact=True))
    expect(marked).to_have_count(len({each["symbol"] for each in in_progress}))
    assert {row.split()[0].removesuffix("pending") for row in marked.all_inner_texts()} == {
        each["symbol"] for each in in_progress
    }
    undated = next(each["symbol"] for each in in_progress if each["type"].endswith("_FORWARD_SPLIT"))
    page.goto(f"{up.base}/app/asset/{undated}")
    expect(page.locator(".head").get_by_text("pending", exact=True)).to_be_visible()
    expect(page.get_by_text("forward split no date yet in progress")).to_be_visible()


def test_a_multiplier_to_come_is_told_and_the_days_range_is_said_to_be_of_the_underlying(up, opened):
    page = opened(up.base, "/status")

    def soon(route):
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "pendingMultiplier": "1.25"})

    page.route("**/v1/assets/CRWD", soon)
    page.goto(f"{up.base}/app/asset/CRWD")
    facts = page.locator(".side .facts").first
    expect(facts).to_contain_text("Shares per token, soon1.25")
    expect(facts).to_contain_text(re.compile(r"Underlying\$[\d.,]+Its day range"))


def test_a_newcomer_buys_with_the_demo_wallet_and_sees_the_position(up, opened):
    page = opened(up.base, "/trade/AAPL")
    connect(page)
    page.get_by_label("Amount", exact=True).fill("250")
    expect(page.get_by_test_id("tokens")).to_contain_text("AAPL")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_text("Pay exactly")).to_be_visible()
    expect(page.locator(".decoded")).to_contain_text("250 USDG")
    page.get_by_role("button", name=re.compile("Sign and send")).click()
    confirm(page)
    confirm(page)
    expect(page.get_by_text("This is what really moved")).to_be_visible()
    expect(page.get_by_text("−250 USDG")).to_be_visible()
    # And the same once more.
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name=re.compile("Sign and send")).click()
    expect(page.get_by_text("This is what really moved")).to_have_count(0)
    confirm(page)
    confirm(page)
    expect(page.get_by_text("−250 USDG")).to_be_visible()
    page.get_by_role("link", name=re.compile("Portfolio of")).click()
    expect(page.get_by_role("row", name=re.compile("AAPL"))).to_be_visible()
    expect(page.get_by_text("Vote power")).to_be_visible()


def test_a_ticket_outlives_a_reload(up, opened):
    page = opened(up.base, "/trade/KO")
    page.get_by_role("button", name="Sell").click()
    page.get_by_label("Amount", exact=True).fill("12.5")
    page.reload()
    expect(page.get_by_label("Amount", exact=True)).to_have_value("12.5")
    expect(page.get_by_role("button", name="Sell", pressed=True)).to_be_visible()


@pytest.mark.parametrize(
    ("view", "field", "button", "text", "shown"),
    [
        ("/portfolio", "Address", "Show", " ", "Whose?"),
        ("/portfolio", "Address", "Show", "0x12/", "This is not an address."),
        ("/portfolio", "Address", "Show", "..", "Markets"),
        ("/trade/NVDA", "Symbol", "Choose", "", "Apple"),
        ("/trade/NVDA", "Symbol", "Choose", " aapl ", "Apple"),
    ],
)
def test_whatever_was_typed_is_found_again_after_a_reload(up, opened, view, field, button, text, shown):
    """The service knows the addresses of views and no others: the page makes none that it could not be opened by."""
    page = opened(up.base, view)
    seen = page.locator("main").get_by_text(shown, exact=True).filter(visible=True).first
    page.get_by_label(field, exact=True).fill(text)
    page.get_by_role("button", name=button).click()
    expect(seen).to_be_visible()
    page.reload()
    expect(seen).to_be_visible()


def test_a_no_in_the_wallet_sends_nothing(up, opened):
    page = opened(up.base, "/trade/MSFT")
    connect(page)
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name=re.compile("Sign and send")).click()
    page.get_by_role("dialog").get_by_role("button", name="Reject").click()
    expect(page.get_by_role("alert")).to_contain_text("You said no in the wallet")
    expect(page.get_by_role("button", name=re.compile("Sign and send"))).to_be_enabled()


def test_a_build_that_says_something_else_than_what_was_asked_is_never_shown_to_the_wallet(up, opened):
    page = opened(up.base, "/trade/AAPL")
    connect(page)
    thief = "22" * 20

    def steal(route):
        answer = route.fetch()
        body = answer.text().replace("875f7121a37a8af309b8e85f297b46aa19d85dad", thief)
        route.fulfill(response=answer, body=body)

    page.route("**/v1/trade/*", steal)
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("alert")).to_contain_text("The swap pays somebody else")
    expect(page.get_by_role("button", name=re.compile("Sign and send"))).to_have_count(0)


def test_a_quote_changes_while_the_pool_moves(up, opened):
    page = opened(up.base, "/trade/TSLA")
    shown = page.get_by_test_id("tokens")
    expect(shown).to_contain_text("TSLA")
    before = shown.inner_text()
    now = float(up.get("/v1/stats/TSLA")[1]["price"]["dexUsd"])
    up.post("/sandbox/price", {"symbol": "TSLA", "price": str(round(now * 0.9, 2))})
    expect(shown).not_to_have_text(before)


@pytest.mark.parametrize("network", ["USDG on 4663", "USDC on 8453"])
def test_a_call_is_paid_step_by_step(up, opened, network):
    page = opened(up.base, "/pay")
    connect(page)
    page.get_by_role("button", name="Ask without paying").click()
    expect(page.get_by_text("402: pay one of these")).to_be_visible()
    page.get_by_role("button", name=network).click()
    page.get_by_role("button", name="Sign and pay").click()
    confirm(page)
    expect(page.get_by_text("The answer and its receipt")).to_be_visible()
    expect(page.get_by_text("May still be signed for: $0.04")).to_be_visible()
    page.locator(".side .link").first.click()
    expect(page.locator(".side")).to_contain_text("/v1/x402/quote")
    # A limit that is none is told, and the one before it is still good.
    page.get_by_label("Spend at most, USD").fill("much")
    page.get_by_role("button", name="Sign and pay").click()
    expect(page.get_by_text("A limit is digits")).to_be_visible()
    page.get_by_label("Spend at most, USD").fill("0.05")
    page.get_by_role("button", name="Sign and pay").click()
    confirm(page)
    expect(page.get_by_text("May still be signed for: $0.03")).to_be_visible()


def cleared_elsewhere(page):
    other = page.context.new_page()
    other.goto(page.url)
    other.evaluate("localStorage.clear()")
    other.close()
    # Another payer, with the same wallet.
    page.get_by_role("button", name="USDG on 4663").click()


@pytest.mark.parametrize(("symbol", "meanwhile"), [("KO", lambda page: page.reload()), ("PEP", cleared_elsewhere)])
def test_a_payment_whose_answer_got_lost_is_presented_again(up, opened, symbol, meanwhile):
    page = opened(up.base, "/pay")
    connect(page)
    sent = []

    def lose(route):
        payment = route.request.headers.get("payment-signature")
        if payment is None:
            route.continue_()
            return
        sent.append(payment)
        route.fetch()
        route.abort("connectionreset")

    page.route("**/v1/x402/quote*", lose)
    page.get_by_label("A quote for").fill(symbol)
    page.get_by_role("button", name="Ask without paying").click()
    page.get_by_role("button", name="USDC on 8453").click()
    page.get_by_role("button", name="Sign and pay").click()
    confirm(page)
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    page.unroute("**/v1/x402/quote*")
    page.on("request", lambda request: sent.append(request.headers.get("payment-signature")))
    meanwhile(page)
    page.get_by_label("A quote for").fill(symbol)
    page.get_by_role("button", name="Ask without paying").click()
    expect(page.get_by_text("402: pay one of these")).to_be_visible()
    page.get_by_role("button", name="Sign and pay").click()
    # The wallet is not asked again.
    expect(page.get_by_text("The answer and its receipt")).to_be_visible()
    assert len({payment for payment in sent if payment}) == 1


@pytest.mark.parametrize("network", ["eip155:4663", "eip155:8453"])
def test_the_stock_client_pays_from_the_page(up, opened, stock_payer, network):
    page = opened(up.base, "/pay")
    key = up.get("/sandbox")[1]["wallets"][0]["privateKey"]
    page.evaluate(stock_payer)
    url = "/v1/x402/quote?symbol=AAPL&side=buy&amount=100"
    paid = page.evaluate("([url, key, network]) => stockPay(url, key, network)", [up.base + url, key, network])
    assert (paid["status"], paid["body"]["symbol"], paid["receipt"]["network"]) == (200, "AAPL", network)


# It lives through a tick: after it an ordinary wallet can no longer pay in USDG, so it comes late.
def test_an_alert_is_dragged_on_the_chart_fires_and_shows_in_the_inbox(up, opened):
    up.post("/sandbox/tick", {})
    page = opened(up.base, "/asset/NVDA")
    handle = page.get_by_role("slider")
    expect(handle).to_be_visible()
    box = handle.bounding_box()
    start = handle.get_attribute("aria-valuenow")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 12, steps=4)
    page.mouse.up()
    expect(page.get_by_role("button", name="Set alert")).to_be_visible()
    assert handle.get_attribute("aria-valuenow") != start
    level = float(page.get_by_label("Price", exact=True).input_value())
    expect(page.get_by_label("Webhook")).to_have_value(re.compile("^https://"))
    page.get_by_role("button", name="Set alert").click()
    expect(page.get_by_text("Set: NVDA")).to_be_visible()
    condition = "above" if page.get_by_text("Set: NVDA above").count() else "below"
    page.get_by_role("link", name="My alerts").click()
    expect(page.locator(".alerts li")).to_contain_text("active")
    beyond = level * (1.02 if condition == "above" else 0.98)
    up.post("/sandbox/price", {"symbol": "NVDA", "price": f"{beyond:.2f}"})
    assert up.ask("POST", "/sandbox/tick", {}, limit_s=60)[1]["fired"] >= 1
    expect(page.locator(".alerts li")).to_contain_text("delivered")
    expect(page.get_by_text("POST /from-the-app")).to_be_visible()
    assert "secret" not in page.url


def test_after_the_clock_was_moved_a_call_is_still_paid_in_usdg(up, opened):
    up.post("/sandbox/clock", {"advanceSeconds": 900})
    page = opened(up.base, "/pay")
    connect(page)
    page.get_by_role("button", name="Ask without paying").click()
    page.get_by_role("button", name="USDG on 4663").click()
    page.get_by_role("button", name="Sign and pay").click()
    confirm(page)
    expect(page.get_by_text("The answer and its receipt")).to_be_visible()
