"""A paid call whose view is left while it is under way: the money is spent, so what it bought must not be lost."""

import base64
import json
import re

import pytest
from playwright.sync_api import expect

from browser.test_journeys import confirm, connect
from browser.wallet import WALLET

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]


@pytest.fixture
def paying(up, opened):
    """A page that was left while its paid call waits for `held[0]`."""
    page = opened(up.base, "/pay")
    connect(page)
    held = []

    def hold_first(route):
        # A settlement that takes its time is asked about again, by the client itself.
        if route.request.headers.get("payment-signature") and not held:
            held.append(route)
        else:
            route.continue_()

    page.route("**/v1/x402/quote*", hold_first)
    page.get_by_role("button", name="Ask without paying").click()
    page.get_by_role("button", name="Sign and pay").click()
    with page.expect_request(lambda request: "payment-signature" in request.headers):
        confirm(page)
    page.get_by_role("link", name="Status", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Status")
    return page, held


def come_back(page):
    page.get_by_role("link", name="Pay", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Pay per call")


def the_receipt_is_shown(page):
    card = page.locator(".card").filter(has=page.get_by_role("heading", name="3 The answer and its receipt"))
    expect(card).to_contain_text(re.compile(r"\$100\.00 buys [\d.]+ AAPL"))
    expect(card).to_contain_text(re.compile(r"Transaction0x[0-9a-f]{64}"))
    expect(page.get_by_role("button", name=re.compile("^0x[0-9a-f]{16}…$"))).to_have_count(1)


def test_who_comes_back_during_a_paid_call_sees_that_it_is_under_way_and_then_its_answer(paying):
    page, held = paying
    come_back(page)
    expect(page.get_by_role("button", name="Paying…")).to_be_disabled()
    expect(page.get_by_role("button", name="Ask without paying")).to_be_disabled()
    expect(page.get_by_label("What the wallet is asked to sign")).to_contain_text('"amount"')
    held[0].continue_()
    the_receipt_is_shown(page)
    expect(page.get_by_role("button", name="Ask without paying")).to_be_enabled()


def test_who_comes_back_after_a_paid_call_sees_its_answer_and_receipt(paying):
    page, held = paying
    with page.expect_response(lambda response: "payment-response" in response.headers):
        held[0].continue_()
    come_back(page)
    the_receipt_is_shown(page)
    expect(page.get_by_text("May still be signed for")).to_be_visible()


def test_who_comes_back_after_a_paid_call_that_failed_is_told(paying):
    page, held = paying
    page.route("**/v1/x402/quote*", lambda route: route.abort("connectionreset"))
    held[0].abort("connectionreset")
    come_back(page)
    expect(page.get_by_role("alert")).to_have_text("The service does not answer.")


def test_an_answer_that_is_not_what_was_paid_for_does_not_take_its_receipt_along(up, opened):
    page = opened(up.base, "/pay")
    connect(page)

    def swallow(route):
        if not route.request.headers.get("payment-signature"):
            return route.continue_()
        answer = route.fetch()
        return route.fulfill(response=answer, body="null")

    page.route("**/v1/x402/quote*", swallow)
    page.get_by_role("button", name="Ask without paying").click()
    page.get_by_role("button", name="Sign and pay").click()
    confirm(page)
    expect(page.get_by_role("alert")).to_have_text("The service answered something else than expected.")
    expect(page.get_by_text(re.compile("^0x[0-9a-f]{64}$"))).to_be_visible()


@pytest.mark.parametrize(
    "change",
    [{"amount": "50000"}, {"maxTimeoutSeconds": 86_400}, {"payTo": "0x" + "22" * 20}],
    ids=["dearer", "good for longer", "for somebody else"],
)
def test_nothing_is_signed_but_what_stands_on_the_screen(up, opened, change):
    page = opened(up.base, "/pay")
    connect(page)
    page.get_by_role("button", name="Ask without paying").click()
    expect(page.get_by_role("row", name="USDG on 4663")).to_be_visible()

    def another(route):
        assert not route.request.headers.get("payment-signature")
        answer = route.fetch()
        told = answer.json()
        for each in told["accepts"]:
            each |= change
        header = base64.b64encode(json.dumps(told).encode()).decode()
        route.fulfill(response=answer, json=told, headers=answer.headers | {"payment-required": header})

    page.route("**/v1/x402/quote*", another)
    page.get_by_role("button", name="Sign and pay").click()
    expect(page.get_by_role("alert")).to_contain_text("The service asks for something else by now. Nothing was signed")
    expect(page.get_by_text("May still be signed for: $0.05")).to_be_visible()


SLOW = "globalThis.release = [];answers.eth_signTypedData_v4 = () => new Promise((done) => release.push(done));"
OTHER = "0x" + "22" * 20
SIGNED = "'0x' + '11'.repeat(65)"


def stop_waiting(page):
    expect(page.get_by_role("button", name="Paying…")).to_be_disabled()
    page.clock.fast_forward(61_000)
    page.get_by_role("button", name="Stop waiting").click()
    expect(page.get_by_role("button", name="Sign and pay")).to_be_enabled()


def left_with_a_silent_wallet(up, opened):
    page = opened(up.base, "/status")
    page.clock.install()
    page.add_init_script(WALLET + SLOW)
    page.goto(f"{up.base}/app/pay")
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_role("button", name="Own wallet").click()
    page.get_by_role("button", name="Ask without paying").click()
    page.get_by_role("button", name="Sign and pay").click()
    page.wait_for_function("() => release.length === 1")
    stop_waiting(page)
    return page


def test_a_wallet_that_never_answers_leaves_the_paid_call_to_another(up, opened):
    page = left_with_a_silent_wallet(up, opened)
    sent = []
    page.on("request", lambda request: sent.append(request.headers.get("payment-signature")))
    page.evaluate("(other) => heard.accountsChanged([other])", OTHER)
    page.get_by_role("button", name="Sign and pay").click()
    page.wait_for_function("() => release.length === 2")
    # The first one wakes up in the middle of the second: what it signed is not sent.
    page.evaluate(f"() => release[0]({SIGNED})")
    with page.expect_request(lambda request: "payment-signature" in request.headers):
        page.evaluate(f"() => release[1]({SIGNED})")
    expect(page.get_by_role("button", name="Sign and pay")).to_be_enabled()
    assert len({each for each in sent if each}) == 1


def test_what_a_wallet_signs_after_nobody_waited_is_not_sent_and_told(up, opened):
    page = left_with_a_silent_wallet(up, opened)
    expect(page.get_by_role("alert")).to_contain_text("You stopped waiting.")
    page.evaluate(f"() => release[0]({SIGNED})")
    expect(page.get_by_role("alert")).to_contain_text("what it signed was not sent")


def test_a_payment_that_was_sent_is_presented_again_after_its_wait_was_ended(up, opened):
    page = opened(up.base, "/status")
    page.clock.install()
    page.goto(f"{up.base}/app/pay")
    connect(page)
    held, is_over = [], []

    def hold(route):
        is_held = route.request.headers.get("payment-signature") and not is_over
        return held.append(route) if is_held else route.continue_()

    page.route("**/v1/x402/quote*", hold)
    page.get_by_role("button", name="Ask without paying").click()
    page.get_by_role("button", name="Sign and pay").click()
    with page.expect_request(lambda request: "payment-signature" in request.headers):
        confirm(page)
    stop_waiting(page)
    with page.expect_request(lambda request: "payment-signature" in request.headers):
        page.get_by_role("button", name="Sign and pay").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert len({route.request.headers["payment-signature"] for route in held}) == 1
    # One of the two may be told to ask again while the other is being settled.
    is_over.append(True)
    for route in held:
        route.continue_()
    the_receipt_is_shown(page)
