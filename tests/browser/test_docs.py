"""The API reference with a hand on it: calls to the service that serves it, paid ones too, and text to take along."""

import json

import pytest

pytestmark = [pytest.mark.node, pytest.mark.timeout(240)]


def reference(opened, up, **options):
    page = opened(up.base, **options)
    page.goto(f"{up.base}/docs")
    return page


def test_an_example_is_sent_changed_and_answered_in_place(up, opened):
    page = reference(opened, up)
    article = page.locator("#get_quote")
    article.get_by_role("button", name="Send").click()
    article.get_by_text("200 after").wait_for()
    said = json.loads(article.locator(".said pre").inner_text())
    assert said["symbol"] == "AAPL"
    article.get_by_label("Path and query").fill("/v1/quote?symbol=TSLA&side=buy&amount=1")
    article.get_by_role("button", name="Send").click()
    article.get_by_text('"TSLA"').wait_for()


def test_a_body_is_sent_as_it_was_edited(up, opened):
    page = reference(opened, up)
    article = page.locator("#build_trade")
    body = json.loads(article.get_by_label("Body").input_value())
    article.get_by_label("Body").fill(json.dumps({**body, "amount": "12"}))
    article.get_by_role("button", name="Send").click()
    article.get_by_text("200 after").wait_for()
    assert "steps" in json.loads(article.locator(".said pre").inner_text())


@pytest.mark.parametrize("name", ["get_quote_paid", "build_trade_paid"])
def test_a_paid_call_is_paid_with_the_demo_wallet(up, opened, name):
    page = reference(opened, up)
    article = page.locator(f"#{name}")
    article.get_by_role("button", name="Send").click()
    article.get_by_text("402 after").wait_for()
    article.get_by_role("button", name="Pay with the demo wallet").click()
    article.get_by_text("200 after").wait_for()
    assert '"success":true' in article.locator(".said").inner_text()


def test_a_command_is_copied_with_one_click(up, opened):
    page = reference(opened, up, permissions=["clipboard-read", "clipboard-write"])
    block = page.locator("#get_asset .examples .copied").first
    block.hover()
    block.get_by_role("button", name="Copy").click()
    block.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == f"curl -s {up.base}/v1/assets/AAPL"


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_sticks_out_of_the_page(up, opened, width):
    page = reference(opened, up, viewport={"width": width, "height": 900})
    page.locator("#get_quote").get_by_role("button", name="Send").click()
    page.locator("#get_quote").get_by_text("200 after").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
