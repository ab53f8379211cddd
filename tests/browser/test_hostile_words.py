"""Words that others wrote: hostile, endless, or cut off in the middle."""

import json
import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]


HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>'\"&amp;javascript:alert(3)"


def test_hostile_words_from_upstreams_are_text(up, opened):
    page = opened(up.base, "/status")

    def poison(route):
        answer = route.fetch()
        body = json.loads(answer.text(), object_hook=_poisoned)
        route.fulfill(response=answer, json=body)

    page.route(re.compile(r"/v1/(stats|assets|research|corporate-actions|portfolio)"), poison)
    page.on("dialog", lambda dialog: pytest.fail(f"the page ran {dialog.message}"))
    # What it knew before was harmless.
    page.reload()
    page.get_by_role("link", name="Markets", exact=True).click()
    expect(page.locator("table.markets small").first).to_have_text(HOSTILE)
    page.get_by_role("link", name="AAPL", exact=True).click()
    expect(page.locator(".lead").first).to_contain_text(HOSTILE)
    page.goto(f"{up.base}/app/asset/%3Cimg%20src=x%20onerror=alert(1)%3E")
    expect(page.get_by_text("There is no token called")).to_be_visible()
    assert page.locator("main img").count() == 0
    assert page.locator("main script").count() == 0
    page.unroute_all(behavior="ignoreErrors")


def _poisoned(record):
    names = {"name", "note", "companyName", "industry", "type"}
    return {key: HOSTILE if key in names and isinstance(value, str | None) else value for key, value in record.items()}


def test_a_long_word_from_upstreams_does_not_widen_a_narrow_page(up, opened):
    page = opened(up.base, "/status", viewport={"width": 360, "height": 800})
    # As long as the service lets a name be.
    word = "W" * 120

    def lengthen(route):
        answer = route.fetch()
        text = re.sub(r'"(name|companyName|industry)":"[^"]*"', rf'"\1":"{word}"', answer.text())
        route.fulfill(response=answer, body=text)

    page.route(re.compile(r"/v1/(stats|assets|research|portfolio)"), lengthen)
    demo = up.get("/sandbox")[1]["wallets"][0]["address"]
    for path in ("/asset/AAPL", f"/portfolio/{demo}", ""):
        page.goto(f"{up.base}/app{path}")
        expect(page.locator("main").get_by_text(word).first).to_be_visible()
        assert page.evaluate("() => document.documentElement.scrollWidth") == 360, path
    page.unroute_all(behavior="ignoreErrors")


def test_an_address_that_was_cut_off_leads_to_a_page_with_a_way_back(up, opened):
    page = opened(up.base, "/asset/%E2%82")
    expect(page.get_by_text("There is no token called")).to_be_visible()
    page.get_by_role("link", name="All markets", exact=True).click()
    expect(page.locator("table.markets tbody tr")).to_have_count(194)
