"""What the page says of an alert that was set: what the service answered, to the last digit, and nothing that it was not told."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]

LEVEL = re.compile(r"Set: AAPL (above|below) ([\d.,]+)\.")


@pytest.fixture
def line(up, opened):
    """A page, its line and the form that the line has opened, ready to be sent."""
    page = opened(up.base, "/asset/AAPL")
    handle = page.get_by_role("slider")
    expect(handle).to_be_visible()
    handle.press("Enter")
    form = page.get_by_role("form", name="New alert")
    expect(form.get_by_label("Webhook")).to_have_value(re.compile("^https://"))
    return page, handle, form


def test_moving_the_line_ends_what_was_said_of_the_alert_before(line):
    page, handle, form = line
    page.get_by_role("button", name="Set alert").click()
    said = page.get_by_text(LEVEL)
    expect(said).to_be_visible()
    handle.press("Shift+ArrowUp")
    expect(said).to_have_count(0)
    expect(form).to_have_count(0)
    handle.press("Enter")
    expect(form.get_by_label("Price", exact=True)).to_have_value(handle.get_attribute("aria-valuenow"))
    expect(said).to_have_count(0)


def test_a_line_that_moves_while_its_alert_is_being_set_changes_nothing_of_what_was_set(line):
    page, handle, form = line
    held = []
    page.route("**/v1/alerts", lambda route: held.append(route))
    sent = form.get_by_label("Price", exact=True).input_value()
    with page.expect_request("**/v1/alerts"):
        page.get_by_role("button", name="Set alert").click()
    handle.press("Shift+ArrowUp")
    expect(handle).not_to_have_attribute("aria-valuenow", sent)
    held[0].continue_()
    expect(page.get_by_text(f"Set: AAPL above {sent}.")).to_be_visible()
    handle.press("Enter")
    expect(form.get_by_label("Price", exact=True)).to_have_value(handle.get_attribute("aria-valuenow"))
    expect(page.get_by_text(LEVEL)).to_have_count(0)


def test_an_alert_is_said_to_be_set_at_what_the_service_answered(line):
    page, _, _ = line

    def another(route):
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"price": 1234.5678})

    page.route("**/v1/alerts", another)
    page.get_by_role("button", name="Set alert").click()
    expect(page.get_by_text("Set: AAPL above 1,234.5678.")).to_be_visible()


CHEAP = {"symbol": "LCID", "condition": "above", "webhookUrl": "https://example.com/x"}
FIRED = {"status": "fired", "firedAt": "2026-01-01T00:00:00Z", "firedPrice": 1.7154321, "delivery": "delivered"}


def test_two_alerts_of_different_prices_never_look_alike(up, opened):
    page = opened(up.base, "/status")
    levels = {"a1": 1.7056, "a2": 1.7143, "a3": 0.00000012, "a4": 1234567.5}

    def state(route):
        price = levels[route.request.url.rsplit("/", 1)[1]]
        route.fulfill(json=CHEAP | FIRED | {"price": price, "expiresAt": "2030-01-01T00:00:00Z"})

    page.route("**/v1/alerts/*", state)
    kept = [{"id": each, "secret": "s", "symbol": "LCID", "condition": "above", "price": 1} for each in levels]
    page.evaluate("(kept) => localStorage.setItem('tickyard.alerts', JSON.stringify(kept))", kept)
    page.goto(f"{up.base}/app/alerts")
    shown = page.locator("ul.alerts li .figure")
    expect(shown).to_have_text(["1.7056", "1.7143", "0.00000012", "1,234,567.50"])
    expect(page.locator("ul.alerts small").first).to_contain_text("at 1.7154321")


def test_the_line_says_the_very_price_that_it_would_set(up, opened):
    page = opened(up.base, "/asset/LCID")
    handle = page.get_by_role("slider")
    expect(handle).to_be_visible()
    for _ in range(3):
        before = handle.inner_text()
        handle.press("ArrowUp")
        level = handle.get_attribute("aria-valuenow")
        expect(handle).to_have_text(re.compile(rf" {re.escape(level)}0*$"))
        expect(handle).to_have_attribute("aria-valuetext", re.compile(rf" {re.escape(level)}0*$"))
        assert handle.inner_text() != before
