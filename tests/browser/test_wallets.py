"""Wallets that cannot, will not, or do not tell the truth, and a browser that keeps nothing."""

import re

import pytest
from playwright.sync_api import expect

from browser.test_journeys import confirm, connect
from browser.wallet import WALLET, asked, sign, signing

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]


@pytest.mark.parametrize("accounts", ["[123]", "[{}]", "['<img src=x>']", "['0x']", "null", "'0x'"])
def test_a_wallet_that_shows_no_address_is_not_connected(up, opened, accounts):
    page = opened(up.base, "/status")
    page.add_init_script(WALLET + f"globalThis.answers = answers; answers.eth_requestAccounts = () => ({accounts});")
    page.goto(f"{up.base}/app/trade/GOOGL")
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_role("button", name="Own wallet").click()
    expect(page.get_by_text("The wallet showed no account.")).to_be_visible()
    page.evaluate("() => (answers.eth_requestAccounts = () => ['0x' + '22'.repeat(20)])")
    page.get_by_role("button", name="Own wallet").click()
    expect(page.locator(".wallet")).to_contain_text("0x2222")
    page.evaluate("() => heard.accountsChanged([7])")
    expect(page.locator(".wallet")).to_contain_text("Connect")


def test_a_wallet_that_refuses_without_a_word_is_not_passed_over(up, opened):
    page = opened(up.base, "/status")
    page.add_init_script(WALLET + "answers.eth_requestAccounts = () => Promise.reject();")
    page.goto(f"{up.base}/app/pay")
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_role("button", name="Own wallet").click()
    expect(page.get_by_role("alert")).to_have_text("Something went wrong.")


@pytest.mark.parametrize("method", ["eth_getBlockByNumber", "eth_getTransactionCount"])
def test_nothing_that_a_wallet_tells_is_no_figure(up, opened, method):
    """A node that lags behind has no such block, and its wallet hands that on."""
    change = f"answers.wallet_getCapabilities = () => ({{}}); answers.{method} = () => null;"
    page = signing(up, opened, change)
    expect(page.get_by_text("does not tell what this trade needs to know")).to_be_visible()
    expect(page.get_by_role("button", name="Sign and send 2 steps")).to_be_enabled()
    assert asked(page, "eth_sendTransaction") == []


def test_a_pool_that_moved_after_the_review_is_named_as_the_cause(up, opened):
    page = opened(up.base, "/trade/ORCL")
    connect(page)
    # Its first step is done and stays: less than others allow, who count their steps.
    page.get_by_label("Amount", exact=True).fill("7")
    page.get_by_role("button", name="Review").click()
    send = page.get_by_role("button", name=re.compile("Sign and send"))
    expect(send).to_be_visible()
    now = float(up.get("/v1/stats/ORCL")[1]["price"]["dexUsd"])
    up.post("/sandbox/price", {"symbol": "ORCL", "price": f"{now * 1.1:.2f}"})
    send.click()
    confirm(page)
    expect(page.get_by_text(re.compile("The transaction would fail: .*Too little received"))).to_be_visible()
    expect(page.get_by_text("is not known")).to_have_count(0)


def test_the_receipt_of_another_transaction_is_no_proof(up, opened):
    page = signing(
        up,
        opened,
        "answers.wallet_getCapabilities = () => ({});",
        "answers.eth_getTransactionReceipt = () => ({ ...receipt, transactionHash: '0x' + 'cd'.repeat(32) });",
    )
    expect(page.get_by_text("Something of it was sent")).to_be_visible()
    assert len(asked(page, "eth_sendTransaction")) == 1


def test_a_look_that_gets_lost_does_not_lose_the_trade(up, opened):
    page = signing(
        up,
        opened,
        "answers.wallet_getCapabilities = () => ({});",
        "let looks = 0;",
        "answers.eth_getTransactionReceipt = () => (looks++ % 3 ? receipt : refuse(-32603));",
    )
    expect(page.get_by_text("This is what really moved")).to_be_visible()


def test_a_wallet_that_was_left_does_not_speak_for_the_next_one(up, opened):
    page = opened(up.base, "/status")
    page.add_init_script(WALLET + "answers.eth_requestAccounts = () => ['0x' + '22'.repeat(20)];")
    page.goto(f"{up.base}/app/status")
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_role("button", name="Own wallet").click()
    page.locator(".wallet > button").click()
    page.get_by_role("button", name="Disconnect").click()
    connect(page)
    page.evaluate("() => heard.accountsChanged(['0x' + '33'.repeat(20)])")
    expect(page.locator(".wallet")).to_contain_text("0x875F")
    page.evaluate("() => heard.accountsChanged([])")
    expect(page.locator(".wallet")).to_contain_text("0x875F")


def test_two_tabs_do_not_forget_each_others_alerts(up, opened):
    first = opened(up.base, "/status")
    told = {"condition": "above", "price": 1}
    over = told | {"status": "cancelled", "expiresAt": "2026-01-01T00:00:00Z", "webhookUrl": "https://example.com"}
    first.context.route("**/v1/alerts/*", lambda route: route.fulfill(json=over | {"symbol": route.request.url[-2:]}))
    first.goto(f"{up.base}/app/alerts")
    known = [{"id": f"alrt_{n}", "secret": "s", "symbol": n, "condition": "above", "price": 1} for n in ("KO", "GE")]
    first.evaluate("(kept) => localStorage.setItem('tickyard.alerts', JSON.stringify(kept))", known[:1])
    first.reload()
    expect(first.locator(".alerts li")).to_have_count(1)
    second = first.context.new_page()
    second.goto(f"{up.base}/app/status")
    second.evaluate("(kept) => localStorage.setItem('tickyard.alerts', JSON.stringify(kept))", known)
    expect(first.locator(".alerts li")).to_have_count(2)
    # As if the news of the other tab had not come yet.
    first.evaluate(
        "(kept) => localStorage.setItem('tickyard.alerts', JSON.stringify(kept))", [*known, known[0] | {"id": "x"}]
    )
    first.locator(".alerts li", has_text="KO").get_by_role("button", name="Forget").click()
    kept = first.evaluate("() => JSON.parse(localStorage.getItem('tickyard.alerts')).map(({ id }) => id)")
    assert kept == ["alrt_GE", "x"]


FORBIDDEN = "for (const n of ['localStorage', 'sessionStorage']) Object.defineProperty(window, n, { get() { throw new DOMException('no', 'SecurityError'); } });"
FULL = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };"


@pytest.mark.parametrize("storage", [FORBIDDEN, FULL], ids=["forbidden", "full"])
def test_without_storage_nothing_is_begun_that_a_reload_would_forget(up, opened, storage):
    page = opened(up.base, "/status")
    page.add_init_script(storage)
    page.goto(f"{up.base}/app/alerts")
    connect(page)
    created = []
    page.on("request", lambda request: created.append(request.url) if request.method == "POST" else None)
    page.get_by_label("Symbol").fill("AAPL")
    page.get_by_label("Price").fill("900")
    page.get_by_role("button", name="Set alert").click()
    expect(page.get_by_text("the secret of an alert would be lost")).to_be_visible()
    assert [url for url in created if url.endswith("/v1/alerts")] == []
    page.add_init_script(WALLET)
    sign(up, page)
    expect(page.get_by_text("A reload would forget a trade that is under way. Nothing was sent.")).to_be_visible()
    assert asked(page, "eth_sendTransaction") + asked(page, "wallet_sendCalls") == []


def test_another_network_is_no_fresh_purse(up, opened):
    page = opened(up.base, "/pay")
    connect(page)
    page.get_by_label("Spend at most, USD").fill("0.02")
    page.get_by_role("button", name="Ask without paying").click()
    for network, left in (("USDG on 4663", "$0.01"), ("USDC on 8453", "$0.00")):
        page.get_by_role("button", name=network).click()
        page.get_by_role("button", name="Sign and pay").click()
        confirm(page)
        expect(page.get_by_text(f"May still be signed for: {left}")).to_be_visible()
    page.get_by_role("button", name="USDG on 4663").click()
    page.get_by_role("button", name="Sign and pay").click()
    expect(page.get_by_text("0.000000 may still be signed for")).to_be_visible()


def test_an_offer_is_of_the_symbol_that_is_paid_for_and_an_answer_of_the_last_payment(up, opened):
    page = opened(up.base, "/pay")
    connect(page)
    pay = page.get_by_role("button", name="Sign and pay")
    symbol = page.get_by_label("A quote for 100 USDG of")
    page.get_by_label("Spend at most, USD").fill("0.01")
    page.get_by_role("button", name="Ask without paying").click()
    pay.click()
    confirm(page)
    expect(page.get_by_text("The answer and its receipt")).to_be_visible()
    pay.click()
    expect(page.get_by_text("0.000000 may still be signed for")).to_be_visible()
    expect(page.get_by_text("The answer and its receipt")).to_have_count(0)
    symbol.fill("MSFT")
    expect(pay).to_be_disabled()


def test_a_wallet_that_throws_words_instead_of_an_error_is_quoted(up, opened):
    page = opened(up.base, "/status")
    page.add_init_script(f"{WALLET} answers.eth_signTypedData_v4 = () => Promise.reject('the device is locked');")
    page.goto(f"{up.base}/app/pay")
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_role("button", name="Own wallet").click()
    page.get_by_role("button", name="Ask without paying").click()
    page.get_by_role("button", name="Sign and pay").click()
    expect(page.get_by_text("The offer cannot be paid (the device is locked).")).to_be_visible()


def test_what_is_signed_is_shown_on_every_visit(up, opened):
    page = opened(up.base, "/pay")
    connect(page)
    for visit in range(2):
        if visit:
            page.get_by_role("link", name="Status").click()
            page.get_by_role("link", name="Pay", exact=True).click()
        page.get_by_role("button", name="Ask without paying").click()
        page.get_by_role("button", name="Sign and pay").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        expect(page.get_by_label("What the wallet is asked to sign")).to_contain_text('"amount"')
        page.get_by_role("dialog").get_by_role("button", name="Reject").click()
        expect(page.get_by_role("alert")).to_contain_text("You said no")


def test_a_wallet_that_never_answers_does_not_bar_another_and_comes_too_late(up, opened):
    page = opened(up.base, "/status")
    late = "answers.eth_requestAccounts = () => new Promise((done) => (globalThis.wake = () => done(['0x' + '22'.repeat(20)])));"
    page.add_init_script(WALLET + late)
    page.goto(f"{up.base}/app/alerts")
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_role("button", name="Own wallet").click()
    connect_demo = page.get_by_role("button", name="Demo wallet")
    connect_demo.click()
    expect(page.locator(".wallet")).to_contain_text("0x875F")
    page.evaluate("() => wake()")
    # Whoever was chosen last speaks, also after all that the other one had to say was heard.
    page.get_by_role("link", name="Portfolio").click()
    expect(page.get_by_label("Address")).to_have_value(re.compile("^0x875F"))


def test_a_wallet_that_says_nothing_at_all_of_what_is_not_mined_yet_is_asked_again(up, opened):
    one_by_one = "answers.wallet_getCapabilities = () => ({});"
    late = "let looks = 0; answers.eth_getTransactionReceipt = () => (looks++ < 2 ? undefined : receipt);"
    page = signing(up, opened, one_by_one, late)
    expect(page.get_by_text("This is what really moved")).to_be_visible()


@pytest.mark.parametrize("told", ["null", "undefined", "'0x'", "'0x1234'", "{ signature: '0x' + '11'.repeat(65) }"])
def test_what_is_no_signature_is_sent_to_nobody_and_bars_no_payment(up, opened, told):
    page = opened(up.base, "/status")
    page.add_init_script(f"{WALLET} answers.eth_signTypedData_v4 = () => ({told});")
    page.goto(f"{up.base}/app/pay")
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_role("button", name="Own wallet").click()
    page.get_by_role("button", name="Ask without paying").click()
    page.get_by_role("button", name="Sign and pay").click()
    expect(page.get_by_role("alert")).to_contain_text("The wallet gave no signature. Nothing was sent.")
    expect(page.get_by_text("May still be signed for: $0.05")).to_be_visible()
    assert page.evaluate("() => Object.keys(localStorage).filter((name) => localStorage[name].includes('0x'))") == []
