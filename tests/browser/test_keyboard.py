"""The journeys of somebody who has no mouse."""

import re

import pytest
from playwright.sync_api import expect

from browser.test_journeys import connect

APPROVE, MULTICALL = "0x095ea7b3", "0x5ae401dc"
pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]


def tab_to(page, name):
    """With the key alone: what cannot be reached in a view's worth of steps cannot be reached."""
    for _ in range(25):
        page.keyboard.press("Tab")
        if re.search(name, page.evaluate("document.activeElement.innerText || document.activeElement.value || ''")):
            return
    raise AssertionError(f"no {name} within 25 steps")


def test_whoever_goes_by_keyboard_stays_where_the_menu_was(up, opened):
    page = opened(up.base, "/status")
    button = page.locator(".wallet > button")
    button.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(page.locator(".wallet .menu")).to_have_count(0)
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Demo wallet").focus()
    page.keyboard.press("Enter")
    expect(button).to_contain_text("0x875F")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Disconnect").focus()
    page.keyboard.press("Enter")
    expect(button).to_have_text("Connect")
    expect(button).to_be_focused()


def test_a_menu_without_a_wallet_gives_the_focus_back_too(up, opened):
    """As before a wallet has announced itself: nothing to stop at in the menu, and the key leads past it."""
    page = opened(up.base, "/status")
    button = page.locator(".wallet > button")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".wallet .menu")).to_be_visible()
    page.evaluate("document.querySelectorAll('.wallet .menu button').forEach((each) => (each.tabIndex = -1))")
    page.keyboard.press("Tab")
    expect(button).not_to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".wallet .menu")).to_have_count(0)
    expect(button).to_be_focused()


def test_a_share_is_bought_by_keyboard(up, opened):
    page = opened(up.base, "/trade/AAPL")
    connect(page)
    page.get_by_label("Amount", exact=True).focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("40")
    expect(page.get_by_test_id("tokens")).to_contain_text("AAPL")
    expect(page.get_by_role("button", name="Review")).to_be_enabled()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Pay exactly")).to_be_visible()
    tab_to(page, "Sign and send")
    page.keyboard.press("Enter")
    # A no leaves one where one was, to try again.
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("alert")).to_contain_text("You said no in the wallet")
    expect(page.get_by_role("button", name=re.compile("Sign and send"))).to_be_focused()
    page.keyboard.press("Enter")
    for selector in (APPROVE, MULTICALL):
        expect(page.get_by_role("dialog")).to_contain_text(selector)
        page.keyboard.press("Enter")
    expect(page.get_by_text("This is what really moved")).to_be_focused()
    tab_to(page, "Portfolio of")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/app/portfolio/0x875F", re.I))


def test_a_call_is_paid_by_keyboard(up, opened):
    page = opened(up.base, "/pay")
    connect(page)
    page.get_by_role("button", name="Ask without paying").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("402: pay one of these")).to_be_visible()
    expect(page.get_by_role("button", name="Ask without paying")).to_be_focused()
    tab_to(page, "Sign and pay")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_text("The answer and its receipt")).to_be_visible()
    expect(page.get_by_role("button", name="Sign and pay")).to_be_focused()


def test_an_alert_is_set_by_keyboard(up, opened):
    page = opened(up.base, "/alerts")
    page.get_by_label("Symbol", exact=True).focus()
    page.keyboard.type("ko")
    for _ in ("above", "below", "price"):
        page.keyboard.press("Tab")
    page.keyboard.type("999")
    expect(page.get_by_label("Webhook", exact=True)).not_to_have_value("")
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("KO above")).first).to_be_visible()
    expect(page.get_by_label("Price", exact=True)).to_be_focused()


def test_a_link_leads_into_the_view_that_it_opens(up, opened):
    """What was followed is gone with its view: the next key begins in the new one, not in the menu above it."""
    page = opened(up.base)
    expect(page.get_by_role("link", name="AAPL", exact=True)).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("apple")
    tab_to(page, "AAPL")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="AAPL")).to_be_visible()
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.querySelector('main').contains(document.activeElement)")
    # In the menu one stays where one is.
    page.get_by_role("link", name="Alerts").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Alerts")).to_be_visible()
    expect(page.get_by_role("link", name="Alerts")).to_be_focused()


@pytest.mark.parametrize(("view", "width"), [("", 1280), ("/asset/AAPL", 360), ("/sandbox", 360), ("/sandbox", 1280)])
def test_the_first_key_leads_to_the_way_past_the_menu(up, opened, view, width):
    """That the menu shows the view that is open must not make the keyboard begin there."""
    page = opened(up.base, view, viewport={"width": width, "height": 800})
    expect(page.locator("h1")).to_be_visible()
    expect(page.get_by_role("link", name="Sandbox", exact=True)).to_be_attached()
    expect(page.locator(".bar nav [aria-current]")).to_be_in_viewport(ratio=1)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.querySelector('main').contains(document.activeElement)")


# Of what has the focus, or of the label around it: whether an outline that is seen surrounds it.
OUTLINED = """() => {
  const it = document.activeElement;
  const seen = (each) => {
    const { outlineStyle, clipPath } = getComputedStyle(each);
    return outlineStyle !== 'none' && clipPath === 'none';
  };
  return seen(it) || [...(it.labels ?? [])].some(seen) ? null : it.outerHTML.slice(0, 120);
}"""


@pytest.mark.parametrize("view", ["", "/asset/AAPL", "/trade/AAPL", "/alerts", "/pay", "/earn", "/sandbox"])
def test_where_the_keyboard_is_can_be_seen(up, opened, view):
    page = opened(up.base, view)
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)
    walked = []
    for _ in range(45):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement === document.body"):
            break
        walked.append(page.evaluate(OUTLINED))
    assert walked
    assert [each for each in walked if each] == []


# Of what has the focus: whether its middle is covered by something that is neither in it nor around it.
COVERED = """() => {
  const it = document.activeElement;
  const box = it.getBoundingClientRect();
  const top = document.elementFromPoint(box.x + box.width / 2, box.y + Math.min(box.height / 2, 12));
  return top && !it.contains(top) && !top.contains(it) ? it.innerText || it.ariaLabel || it.tagName : null;
}"""


@pytest.mark.parametrize(("view", "width"), [("", 640), ("/sandbox", 640), ("/pay", 640), ("", 1280)])
def test_what_has_the_focus_is_not_behind_the_bar(up, opened, view, width):
    """At 200 % on a small screen, backwards: what stays at the top is large there."""
    page = opened(up.base, view, viewport={"width": width, "height": 360})
    expect(page.locator("main input").first).to_be_visible()
    page.locator("footer a").first.focus()
    covered = []
    for _ in range(45):
        page.keyboard.press("Shift+Tab")
        if not page.evaluate("() => document.querySelector('main').contains(document.activeElement)"):
            break
        covered.append(page.evaluate(COVERED))
    assert [each for each in covered if each] == []
