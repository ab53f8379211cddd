"""A trade that was given to a wallet, and a person who does something else meanwhile."""

import re

import pytest
from playwright.sync_api import expect

from browser.wallet import WALLET, sign

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]

# Confirms when the test says so: `release[0]()` is its owner's yes to the first step.
SLOW = (
    WALLET
    + """
globalThis.release = [];
globalThis.provider = provider;
answers.wallet_getCapabilities = () => ({});
answers.eth_sendTransaction = () => new Promise((done) => release.push(() => done(receipt.transactionHash)));
"""
)
BATCH_WAITS = WALLET + "answers.wallet_getCallsStatus = () => ({ status: 100 });"
OTHER = "0xB793204cbdcED76Cd1366f082039304b9A9b3CA8"
OPEN = "Something of it was sent, or may have been"


def sending(up, page, wallet):
    page.add_init_script(wallet)
    return sign(up, page)


def waits(page, count):
    page.wait_for_function(f"() => release.length === {count}")


def handed_over(page):
    methods = ("eth_sendTransaction", "wallet_sendCalls")
    return [each["params"][0] for each in page.evaluate("() => asked") if each["method"] in methods]


def test_what_is_before_the_wallet_stays_on_the_screen(up, opened):
    page = sending(up, opened(up.base, "/status"), SLOW)
    waits(page, 1)
    expect(page.get_by_label("Amount", exact=True)).to_be_disabled()
    expect(page.get_by_label("Slippage, %")).to_be_disabled()
    expect(page.get_by_role("button", name="Sell")).to_be_disabled()
    page.evaluate("() => release[0]()")
    waits(page, 2)
    expect(page.get_by_text("Pay exactly")).to_be_visible()
    page.evaluate("() => release[1]()")
    expect(page.get_by_text("This is what really moved")).to_be_visible()
    expect(page.get_by_label("Amount", exact=True)).to_be_enabled()
    expect(page.get_by_text(OPEN)).to_have_count(0)


def test_a_trade_that_is_reviewed_anew_cannot_be_signed_as_it_was_before(up, opened):
    page = opened(up.base, "/status")
    page.add_init_script(SLOW)
    page.goto(f"{up.base}/app/trade/GOOGL")
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_role("button", name="Own wallet").click()
    page.get_by_role("button", name="Review").click()
    sign_it = page.get_by_role("button", name="Sign and send 2 steps")
    expect(sign_it).to_be_enabled()
    held = []
    page.route("**/v1/trade/check*", lambda route: held.append(route))
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("button", name="Building…")).to_be_disabled()
    # Under the answer that is still to come the figures of this one would be signed.
    expect(sign_it).to_have_count(0)
    held[0].continue_()
    expect(sign_it).to_be_enabled()


def test_no_step_follows_for_whoever_has_left_the_ticket(up, opened):
    page = sending(up, opened(up.base, "/status"), SLOW)
    waits(page, 1)
    page.get_by_role("link", name="Status").click()
    with page.expect_request(lambda request: "eth_blockNumber" in (request.post_data or "")):
        # The wallet's own reads go on: what was confirmed is followed, and then nothing more is asked for.
        page.evaluate("() => (release[0](), provider.request({ method: 'eth_blockNumber', params: [] }))")
    page.get_by_role("link", name="Trade", exact=True).click()
    expect(page.get_by_text(OPEN)).to_be_visible()
    page.wait_for_function("() => asked.filter(({ method }) => method === 'eth_getTransactionCount').length >= 4")
    assert len(handed_over(page)) == 1


def test_no_step_follows_for_an_account_that_was_left(up, opened):
    page = sending(up, opened(up.base, "/status"), SLOW)
    waits(page, 1)
    page.evaluate(f"() => heard.accountsChanged(['{OTHER}'])")
    page.evaluate("() => release[0]()")
    expect(page.get_by_text(OPEN)).to_be_visible()
    expect(page.get_by_text("the steps that are left were not sent")).to_be_visible()
    assert len(handed_over(page)) == 1


def test_a_wallet_that_wakes_up_late_is_not_given_a_batch_that_nobody_sees(up, opened):
    late = WALLET + (
        "globalThis.provider = provider;"
        "const able = answers.wallet_getCapabilities();"
        "answers.wallet_getCapabilities = () => new Promise((done) => (globalThis.wake = () => done(able)));"
    )
    page = sending(up, opened(up.base, "/status"), late)
    page.wait_for_function("() => globalThis.wake")
    page.get_by_role("link", name="Status").click()
    expect(page.get_by_role("heading", name="Status")).to_be_visible()
    page.evaluate("async () => (wake(), await provider.request({ method: 'eth_blockNumber', params: [] }))")
    assert handed_over(page) == []
    page.go_back()
    expect(page.get_by_role("button", name="Review")).to_be_enabled()
    expect(page.get_by_text(OPEN)).to_have_count(0)


def test_a_trade_that_was_under_way_is_told_of_after_a_reload_and_in_another_tab(up, opened):
    page = sending(up, opened(up.base, "/status"), BATCH_WAITS)
    page.wait_for_function("() => asked.some(({ method }) => method === 'wallet_getCallsStatus')")
    page.reload()
    expect(page.get_by_text(OPEN)).to_contain_text("Buy 100 USDG of GOOGL")
    expect(page.get_by_role("button", name="Review")).to_have_count(0)
    other = page.context.new_page()
    other.goto(f"{up.base}/app/trade/AAPL")
    expect(other.get_by_text(OPEN)).to_contain_text("Buy 100 USDG of GOOGL")
    page.get_by_role("button", name="I have looked").click()
    expect(page.get_by_role("button", name="Review")).to_be_enabled()
    expect(other.get_by_text(OPEN)).to_have_count(0)


def test_a_trade_is_not_over_because_another_tab_clears_what_is_kept(up, opened):
    page = sending(up, opened(up.base, "/status"), BATCH_WAITS)
    page.wait_for_function("() => asked.some(({ method }) => method === 'wallet_getCallsStatus')")
    other = page.context.new_page()
    other.goto(f"{up.base}/app/trade/AAPL")
    expect(other.get_by_text(OPEN)).to_contain_text("Buy 100 USDG of GOOGL")
    third = page.context.new_page()
    third.goto(f"{up.base}/app/status")
    third.evaluate("localStorage.clear()")
    page.wait_for_function("() => localStorage.getItem('tickyard.underway')")
    expect(other.get_by_text(OPEN)).to_contain_text("Buy 100 USDG of GOOGL")
    page.reload()
    expect(page.get_by_text(OPEN)).to_contain_text("Buy 100 USDG of GOOGL")


def test_what_another_tab_has_under_way_is_not_signed_beside_it(up, opened):
    page = opened(up.base, "/status")
    other = page.context.new_page()
    other.add_init_script(WALLET)
    other.goto(f"{up.base}/app/trade/GOOGL")
    other.get_by_role("button", name="Connect", exact=True).click()
    other.get_by_role("button", name="Own wallet").click()
    other.get_by_role("button", name="Review").click()
    sign = other.get_by_role("button", name="Sign and send 2 steps")
    expect(sign).to_be_enabled()
    sending(up, page, BATCH_WAITS)
    expect(sign).to_be_disabled()
    expect(other.get_by_text(OPEN)).to_be_visible()


# A browser tells its tabs of what one of them writes a moment later: this one has not been told yet.
LAGGING = WALLET + (
    "Storage.prototype.getItem = () => null;addEventListener('storage', (event) => event.stopImmediatePropagation());"
)


def test_of_two_tabs_that_sign_at_the_same_instant_one_sends(up, opened):
    page = opened(up.base, "/status")
    other = page.context.new_page()
    sending(up, page, BATCH_WAITS)
    page.wait_for_function("() => asked.some(({ method }) => method === 'wallet_getCallsStatus')")
    sending(up, other, LAGGING)
    expect(other.get_by_text("Another trade is under way. Nothing was sent.")).to_be_visible()
    assert handed_over(other) == []
    page.close()
    other.get_by_role("button", name="Sign and send 2 steps").click()
    expect(other.get_by_text("Mined.")).to_be_visible()


def test_a_wallet_that_never_answers_is_left_and_nothing_more_of_its_trade_is_sent(up, opened):
    page = opened(up.base, "/status")
    page.clock.install()
    sending(up, page, SLOW)
    waits(page, 1)
    page.clock.fast_forward(61_000)
    page.get_by_role("button", name="Stop waiting").click()
    expect(page.get_by_text(OPEN)).to_be_visible()
    expect(page.get_by_label("Amount", exact=True)).to_be_enabled()
    page.get_by_role("button", name="I have looked").click()
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Sign and send 2 steps").click()
    waits(page, 2)
    # The first one wakes up in the middle of the second.
    page.evaluate("() => release[0]()")
    page.wait_for_function("() => asked.filter(({ method }) => method === 'eth_getTransactionReceipt').length === 1")
    page.evaluate("() => release[1]()")
    waits(page, 3)
    page.evaluate("() => release[2]()")
    expect(page.get_by_text("Mined.")).to_be_visible()
    expect(page.get_by_text(OPEN)).to_have_count(0)
    assert len(handed_over(page)) == 3


def test_a_token_that_was_not_part_of_the_trade_is_not_called_dollars(up, opened):
    """A wallet may take its fee in a coin of its own, in the same batch."""
    fee = "0x" + "fe" * 20
    taken = f"receipt.logs = [paid, transfer('{fee}', ME, '0x1', '0x5f5e100')];"
    page = sending(up, opened(up.base, "/status"), WALLET + taken)
    expect(page.get_by_text(re.compile("This is what really moved"))).to_be_visible()
    expect(page.get_by_text("−100000000 base units of " + fee)).to_be_visible()
    expect(page.locator(".wide dd").get_by_text("USDG")).to_have_text(["−100 USDG"])
