"""The line on a chart that becomes an alert, and what many alerts cost."""

import json
import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]

FIRED = {
    "status": "fired",
    "symbol": "AAPL",
    "condition": "above",
    "price": 900,
    "expiresAt": "2030-01-01T00:00:00Z",
    "webhookUrl": "https://example.com/x",
    "firedAt": "2026-01-01T00:00:00Z",
    "firedPrice": 901,
    "delivery": "delivered",
}
ACTIVE = {**FIRED, "status": "active", "firedAt": None, "firedPrice": None, "delivery": None}
HOOK = "https://hooks.example.com/mine"


def kept(count):
    return [
        {"id": f"{n:032x}", "secret": "s", "symbol": "AAPL", "condition": "above", "price": 900} for n in range(count)
    ]


def asked_within_a_minute(up, opened, count, told):
    """How often the states of so many alerts are asked for, by the page's own clock."""
    page = opened(up.base, "/status")
    page.clock.install()
    page.evaluate("(kept) => localStorage.setItem('tickyard.alerts', JSON.stringify(kept))", kept(count))
    asked = []
    page.route("**/v1/alerts/*", lambda route: (asked.append(route.request.url), route.fulfill(json=told)))
    page.get_by_role("link", name="Alerts", exact=True).click()
    expect(page.locator("ul.alerts .mark", has_text=told["status"])).to_have_count(count)
    first = len(asked)
    for _ in range(60):
        page.clock.run_for(1000)
    return first, len(asked) - first


def test_many_alerts_leave_their_owner_room_to_ask_for_something_else(up, opened):
    first, later = asked_within_a_minute(up, opened, 60, ACTIVE)
    assert first == 60
    # A client has 600 a minute for all that it asks.
    assert 60 <= later <= 300


def test_an_alert_that_is_over_is_not_asked_for_again_and_again(up, opened):
    _, later = asked_within_a_minute(up, opened, 5, FIRED)
    assert later <= 5


def test_the_line_of_one_token_is_not_carried_to_another(up, opened):
    page = opened(up.base, "/asset/AAPL")
    handle = page.get_by_role("slider")
    expect(handle).to_be_visible()
    of_apple = float(handle.get_attribute("aria-valuenow"))
    handle.press("Enter")
    expect(page.get_by_role("form", name="New alert")).to_be_visible()
    page.get_by_role("link", name="Status").click()
    page.locator(".coverage").get_by_role("link", name=re.compile("^NVDA:")).click()
    expect(page.get_by_role("heading", name="NVDA")).to_be_visible()
    expect(handle).to_be_visible()
    handle.press("Enter")
    held = []
    page.route("**/v1/history/AAPL*", lambda route: held.append(route), times=1)
    # From one to the other in one step, as a browser's list of pages that were seen does it.
    page.evaluate("() => history.go(-2)")
    expect(page.get_by_role("heading", name="AAPL")).to_be_visible()
    expect(page.get_by_role("status", name="Loading the chart")).to_be_visible()
    expect(page.get_by_role("form", name="New alert")).to_have_count(0)
    for route in held:
        route.continue_()
    expect(handle).to_be_visible()
    assert abs(float(handle.get_attribute("aria-valuenow")) / of_apple - 1) < 0.1


def test_what_was_typed_for_an_alert_stays_while_the_line_and_the_candles_change(up, opened):
    page = opened(up.base, "/asset/AAPL")
    handle = page.get_by_role("slider")
    expect(handle).to_be_visible()
    handle.press("Enter")
    webhook = page.get_by_label("Webhook")
    expect(webhook).to_have_value(re.compile("^https://"))
    webhook.fill(HOOK)
    for _ in range(15):
        handle.press("Shift+ArrowDown")
    pressed = page.get_by_role("form", name="New alert").locator("[aria-pressed=true]")
    expect(pressed).to_have_text("below")
    expect(webhook).to_have_value(HOOK)
    page.route("**/v1/history/AAPL*", lambda _: None)
    page.get_by_role("button", name="1 h", exact=True).click()
    # Candles of a quarter of an hour are none of an hour; and the side of the line is still the same.
    expect(page.get_by_role("status", name="Loading the chart")).to_be_visible()
    expect(pressed).to_have_text("below")
    expect(webhook).to_have_value(HOOK)


def test_a_new_last_price_turns_no_alert_around_whose_form_is_open(up, opened):
    page = opened(up.base, "/asset/AAPL")
    handle = page.get_by_role("slider")
    expect(handle).to_contain_text("above")
    handle.press("Enter")
    pressed = page.get_by_role("form", name="New alert").locator("[aria-pressed=true]")
    expect(pressed).to_have_text("above")

    def risen(route):
        answer = route.fetch()
        told = answer.json()
        told["candles"][-1] |= {"close": 9e6, "high": 9e6}
        route.fulfill(response=answer, json=told)

    page.route("**/v1/history/AAPL*", risen)
    page.get_by_role("button", name="1 h", exact=True).click()
    expect(handle).to_contain_text("below")
    expect(pressed).to_have_text("above")


@pytest.fixture
def held(up, opened):
    """A page, its line and where that is, with the pointer on it."""
    page = opened(up.base, "/asset/AAPL")
    handle = page.get_by_role("slider")
    expect(handle).to_be_visible()
    handle.hover()
    place = handle.bounding_box()
    return page, handle, place["x"] + place["width"] / 2, place["y"] + place["height"] / 2


@pytest.mark.parametrize("end", ["pointercancel", "lostpointercapture"])
def test_a_drag_that_the_system_took_over_is_over(held, end):
    page, handle, x, y = held
    page.mouse.down()
    page.mouse.move(x, y + 20)
    handle.dispatch_event(end, {"pointerId": 1, "bubbles": True})
    at = handle.get_attribute("aria-valuenow")
    page.mouse.move(x, y + 60)
    page.mouse.up()
    page.mouse.move(x, y + 80)
    assert handle.get_attribute("aria-valuenow") == at
    expect(page.get_by_role("form", name="New alert")).to_have_count(0)


def test_the_right_button_drags_no_line(held):
    page, handle, x, y = held
    at = handle.get_attribute("aria-valuenow")
    page.mouse.down(button="right")
    page.mouse.move(x, y + 60)
    page.mouse.up(button="right")
    assert handle.get_attribute("aria-valuenow") == at
    expect(page.get_by_role("form", name="New alert")).to_have_count(0)


def test_alerts_that_somebody_else_wrote_down_are_read_with_care(up, opened):
    page = opened(up.base, "/status")
    good = {"id": "a1", "secret": "s", "symbol": "KO", "condition": "above", "price": 1}
    kept = [good, good | {"symbol": "\ud800"}, good | {"condition": {"a": 1}}, good | {"id": "a2", "price": "1"}, good]
    text = json.dumps(kept).replace('"price": 1}', '"price": 1e999}', 1).replace('"a1"', '"a0"', 1)
    page.evaluate("(text) => localStorage.setItem('tickyard.alerts', text)", text)
    page.route("**/v1/alerts/*", lambda route: route.fulfill(status=502, json={}))
    page.goto(f"{up.base}/app/alerts")
    expect(page.locator(".alerts li")).to_have_count(1)
    expect(page.locator(".alerts li")).to_contain_text("KO above 1.00")


def take(page, text):
    """Imports a file."""
    export = {"name": "a.json", "mimeType": "application/json", "buffer": text.encode()}
    page.locator("input[type=file]").set_input_files(export)


def test_an_import_replaces_no_secret_that_is_kept_and_says_what_it_took(up, opened):
    page = opened(up.base, "/status")
    page.route("**/v1/alerts/*", lambda route: route.fulfill(json=ACTIVE))
    page.evaluate("(kept) => localStorage.setItem('tickyard.alerts', JSON.stringify(kept))", kept(1))
    page.goto(f"{up.base}/app/alerts")
    expect(page.locator(".alerts li .mark")).to_have_text("active")
    mine, new = kept(2)
    take(page, json.dumps([mine | {"secret": "forged", "symbol": "KO"}]))
    expect(page.get_by_text("0 of 1 taken. 1 not: what is kept here already stays.")).to_be_visible()
    take(page, json.dumps([mine, new, 7, {"id": "x"}]))
    said = "1 of 4 taken. 1 not: what is kept here already stays. 2 not: no alert, or a damaged one."
    expect(page.get_by_text(said)).to_be_visible()
    assert json.loads(page.evaluate("localStorage.getItem('tickyard.alerts')")) == [new, mine]


@pytest.mark.parametrize("text", ['[{"id": "a1", "sec', "", "no json"])
def test_a_damaged_export_is_told_in_words(up, opened, text):
    page = opened(up.base, "/alerts")
    take(page, text)
    expect(page.get_by_role("alert")).to_have_text("This file is damaged, or is no export of alerts.")


def test_an_alert_is_drawn_as_the_service_has_it(up, opened):
    page = opened(up.base, "/status")
    page.route("**/v1/alerts/*", lambda route: route.fulfill(json=ACTIVE | {"condition": "below", "price": 5}))
    forged = kept(1)[0] | {"symbol": "KO"}
    page.evaluate("(kept) => localStorage.setItem('tickyard.alerts', JSON.stringify([kept]))", forged)
    page.goto(f"{up.base}/app/alerts")
    expect(page.locator(".alerts li")).to_contain_text("AAPL below 5.00")


def test_an_alert_with_a_wrong_secret_is_not_called_gone_and_an_export_mends_it(up, chrome):
    page = chrome.new_context().new_page()
    page.goto(f"{up.base}/app/status")
    right = {"id": "a1", "secret": "right", "symbol": "KO", "condition": "above", "price": 900}
    missing = {"error": {"code": "not_found", "message": "no such alert"}}

    def answer(route):
        knows = "right" in json.dumps(route.request.headers) + route.request.url
        route.fulfill(status=200 if knows else 404, json=ACTIVE if knows else missing)

    page.route("**/v1/alerts/*", answer)
    page.evaluate(
        "(kept) => localStorage.setItem('tickyard.alerts', JSON.stringify([kept]))", right | {"secret": "odd"}
    )
    page.goto(f"{up.base}/app/alerts")
    expect(page.locator(".alerts li")).to_contain_text("The service has no alert with this id and secret.")
    take(page, json.dumps([right]))
    expect(page.get_by_text("1 of 1 taken.")).to_be_visible()
    expect(page.locator(".alerts li .mark")).to_have_text("active")
    expect(page.locator(".alerts li")).to_have_count(1)
    page.context.close()
