"""What the page says is said of what it has, once, and goes when it is no longer so."""

import json
import re

import pytest
from playwright.sync_api import expect

from browser.test_journeys import connect

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]


def test_names_whose_figures_are_on_their_way_are_not_called_live(up, opened):
    page = opened(up.base, "/status")
    held, is_over = [], []
    page.route("**/v1/stats", lambda route: route.continue_() if is_over else held.append(route))
    with page.expect_response("**/v1/stream*"):
        page.goto(f"{up.base}/app")
    expect(page.locator("table.markets tbody tr").first).to_contain_text("loading")
    expect(page.locator(".head .live")).to_have_text("loading")
    is_over.append(True)
    for each in held:
        each.continue_()
    expect(page.get_by_text("live", exact=True)).to_be_visible()


def test_a_line_that_is_off_the_picture_says_where_it_is(up, opened):
    page = opened(up.base, "/asset/AAPL")
    handle = page.get_by_role("slider")
    expect(handle).to_have_text(re.compile("^↕ alert above"))
    for _ in range(80):
        handle.press("Shift+ArrowUp")
    expect(handle).to_have_text(re.compile("^↑ alert above"))
    for _ in range(160):
        handle.press("Shift+ArrowDown")
    expect(handle).to_have_text(re.compile("^↓ alert below"))


def test_a_review_says_each_warning_once(up, opened):
    page = opened(up.base, "/trade/AAPL")
    connect(page)
    halt = "Trading in the underlying is halted."

    def halted(route):
        answer = route.fetch()
        told = answer.json()
        if not answer.ok:
            # A node that is busy: the ticket offers to try again.
            return route.fulfill(response=answer)
        told["issues"].append({"code": "halted", "severity": "warning", "message": halt})
        told["build"]["note"] += f" Warning: {halt} Warning: Of something else."
        return route.fulfill(response=answer, json=told)

    page.route("**/v1/trade/check", halted)
    page.get_by_role("button", name="Review").click()
    expect(page.locator(".lead")).to_contain_text("Warning: Of something else.")
    expect(page.get_by_text(halt)).to_have_count(1)
    # Other issues are sentences of the note as well.
    expect(page.get_by_text("Two steps: approve the router")).to_have_count(1)


def test_a_transaction_that_paid_for_nothing_is_said_to_be_unknown(up, chrome):
    page = chrome.new_context().new_page()
    page.goto(f"{up.base}/app/pay")
    field = page.get_by_label("Transaction")
    unknown, other = "0x" + "11" * 32, "0x" + "22" * 32
    refusal = {"error": {"code": "not_found", "message": "no such payment"}}
    page.route("**/v1/payments/*", lambda route: route.fulfill(status=404, json=refusal))
    field.fill(unknown)
    page.get_by_role("button", name="Look up").click()
    said = page.get_by_text("No payment of this transaction is known.")
    expect(said).to_be_visible()
    expect(page.locator(".side")).to_contain_text(unknown)
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    field.fill(other)
    expect(said).to_have_count(0)
    page.context.close()


def test_a_small_amount_is_taken_as_people_type_it(up, opened):
    page = opened(up.base, "/trade/AAPL")
    connect(page)
    with page.expect_request("**/v1/quote?*amount=0.5&*"):
        page.get_by_label("Amount", exact=True).fill(".5")
    with page.expect_request("**/v1/trade/check") as asked:
        page.get_by_role("button", name="Review").click()
    assert json.loads(asked.value.post_data)["amount"] == "0.5"


def test_no_slippage_is_not_taken_for_none_at_all(up, opened):
    page = opened(up.base, "/trade/AAPL")
    connect(page)
    field = page.get_by_label("Slippage, %")
    field.fill("")
    page.get_by_role("button", name="Review").click()
    expect(field).to_be_focused()
    expect(page.get_by_role("heading", name="Review")).to_have_count(0)


def test_what_a_sandbox_did_is_not_said_beside_what_it_did_not_do(up, opened):
    page = opened(up.base, "/sandbox")
    card = page.locator(".card").filter(has=page.get_by_role("heading", name="Price"))
    done = {"symbol": "AAPL", "pool": "0x" + "11" * 20, "price": "250"}
    page.route("**/sandbox/price", lambda route: route.fulfill(json=done))
    card.get_by_label("To").fill("250")
    card.get_by_role("button").click()
    expect(card.get_by_text("AAPL trades at 250.")).to_be_visible()
    page.unroute("**/sandbox/price")
    refusal = {"error": {"code": "upstream_error", "message": "no pool"}}
    page.route("**/sandbox/price", lambda route: route.fulfill(status=502, json=refusal))
    card.get_by_role("button").click()
    expect(card.get_by_role("alert")).to_have_text("No pool.")
    expect(card.get_by_text("AAPL trades at 250.")).to_have_count(0)


def test_an_alert_that_was_set_is_announced(up, opened):
    page = opened(up.base, "/alerts")
    form = page.get_by_role("form", name="New alert")
    expect(form.get_by_label("Webhook")).to_have_value(re.compile("^https://"))
    expect(form.get_by_role("status")).to_have_text("")
    form.get_by_label("Symbol").fill("ko")
    form.get_by_label("Price", exact=True).fill("999")
    form.get_by_role("button", name="Set alert").click()
    expect(form.get_by_role("status")).to_have_text("Set: KO above 999.00.")


def test_a_node_that_is_away_is_told_in_words(up, opened):
    page = opened(up.base, "/trade/MSFT")
    connect(page)
    page.get_by_role("button", name="Review").click()
    page.route(f"{up.get('/sandbox')[1]['rpcUrl']}**", lambda route: route.abort("connectionrefused"))
    page.get_by_role("button", name=re.compile("Sign and send")).click()
    expect(page.get_by_role("alert")).to_contain_text("The node of this sandbox does not answer.")


def test_on_a_short_screen_the_menu_does_not_stay(up, opened):
    """1280 x 1024 at 400 %."""
    page = opened(up.base, "/status", viewport={"width": 320, "height": 256})
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.mouse.wheel(0, 2000)
    expect(page.locator(".bar")).not_to_be_in_viewport()
