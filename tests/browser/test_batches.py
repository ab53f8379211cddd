"""Wallets that take all steps of a trade at once (EIP-5792), and what they say became of them."""

import re

import pytest
from playwright.sync_api import expect

from browser.wallet import WALLET, asked, sign, signing

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]


@pytest.mark.parametrize(
    "change",
    [
        "answers.wallet_getCapabilities = () => ({ '0x1237': { atomic: { status: 'unsupported' } } });",
        "answers.wallet_sendCalls = () => refuse(5750);",
        "answers.wallet_sendCalls = () => refuse(5760);",
    ],
    ids=["unsupported", "no smart account wanted", "not atomic"],
)
def test_a_wallet_that_cannot_batch_signs_one_step_after_the_other(up, opened, change):
    page = signing(up, opened, change)
    expect(page.get_by_text("This is what really moved")).to_be_visible()
    sent = asked(page, "eth_sendTransaction")
    assert len(sent) == 2
    assert {each[0]["chainId"] for each in sent} == {"0x1237"}


@pytest.mark.parametrize(
    "status",
    [
        "{ status: 200, receipts: [{ ...receipt, status: '0x0' }] }",
        "{ status: 400, receipts: [] }",
        "{ status: 500, receipts: [receipt] }",
    ],
)
def test_a_batch_is_done_only_when_its_receipts_say_so(up, opened, status):
    page = signing(up, opened, f"answers.wallet_getCallsStatus = () => ({status});")
    expect(page.get_by_text("could not carry out the batch")).to_be_visible()
    expect(page.get_by_text("Something of it was sent")).to_be_visible()
    expect(page.get_by_text("This is what really moved")).to_have_count(0)


@pytest.mark.parametrize("receipts", ["receipts: []", "receipts: 'all'", "receipts: null", ""])
def test_a_batch_that_is_called_done_and_shows_nothing_is_uncertain_and_not_called_failed(up, opened, receipts):
    page = signing(up, opened, f"answers.wallet_getCallsStatus = () => ({{ status: 200, {receipts} }});")
    expect(page.get_by_text("what became of it is uncertain")).to_be_visible()
    expect(page.get_by_text("Something of it was sent")).to_be_visible()
    expect(page.get_by_text("could not")).to_have_count(0)
    expect(page.get_by_text("This is what really moved")).to_have_count(0)


@pytest.mark.parametrize("status", ["'200'", "'0xc8'"])
def test_a_state_is_a_number_however_a_wallet_writes_it(up, opened, status):
    page = signing(up, opened, f"answers.wallet_getCallsStatus = () => ({{ status: {status}, receipts: [receipt] }});")
    expect(page.get_by_text("This is what really moved")).to_be_visible()


@pytest.mark.parametrize(
    ("code", "has_left"), [(4001, False), (-32602, False), (-32603, True), (4900, True), (-32000, True)]
)
def test_only_a_refusal_that_proves_that_nothing_left_lets_a_batch_be_sent_again(up, opened, code, has_left):
    page = signing(up, opened, f"answers.wallet_sendCalls = () => refuse({code});")
    expect(page.get_by_text("Refused.")).to_be_visible()
    expect(page.get_by_text("Something of it was sent, or may have been")).to_have_count(int(has_left))
    expect(page.get_by_role("button", name="Sign and send 2 steps")).to_be_enabled(enabled=not has_left)


def test_no_batch_is_signed_that_is_good_for_years(up, opened):
    def lie(route):
        answer = route.fetch()
        told = answer.json()
        build = told["build"]
        build["deadline"] += 10 * 365 * 86400
        data = build["steps"][-1]["data"]
        build["steps"][-1]["data"] = f"{data[:10]}{build['deadline']:064x}{data[74:]}"
        route.fulfill(response=answer, json=told)

    page = opened(up.base, "/status")
    page.add_init_script(WALLET)
    page.route("**/v1/trade/check", lie)
    sign(up, page)
    expect(page.get_by_text("is too far away")).to_be_visible()
    expect(page.locator(".decoded")).to_contain_text(re.compile(r"Not after20[3-9]\d-"))
    expect(page.locator(".decoded")).to_contain_text("GOOGL is the token0x")
    assert asked(page, "wallet_sendCalls") + asked(page, "eth_sendTransaction") == []


FEE = "transfer('0x' + 'fe'.repeat(20), ME, '0x1', '0x1')"
APPROVED = "{ ...paid, topics: ['0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925', asWord(ME), asWord('0x1')] }"


def test_a_batch_is_mined_only_when_a_token_of_the_trade_moved(up, opened):
    page = signing(up, opened)
    expect(page.get_by_text("Mined. This is what really moved")).to_be_visible()
    expect(page.get_by_text("−100 USDG")).to_be_visible()
    expect(page.get_by_text("Something of it was sent")).to_have_count(0)


def test_a_transaction_that_a_wallet_tells_of_once_for_each_call_moved_what_it_moved_once(up, opened):
    page = signing(up, opened, "answers.wallet_getCallsStatus = () => ({ status: 200, receipts: [receipt, receipt] });")
    expect(page.get_by_text("Mined. This is what really moved")).to_be_visible()
    expect(page.get_by_text("−100 USDG")).to_be_visible()
    expect(page.get_by_text(re.compile("^Transaction"))).to_have_count(1)


@pytest.mark.parametrize("logs", ["[]", f"[{APPROVED}]", f"[{FEE}]"], ids=["none", "the approval's", "a fee's"])
def test_a_batch_whose_receipts_show_no_trade_is_uncertain_and_bars_the_next(up, opened, logs):
    page = signing(up, opened, f"receipt.logs = {logs};")
    expect(page.get_by_text("what became of it is uncertain")).to_be_visible()
    expect(page.get_by_text("Something of it was sent")).to_be_visible()
    expect(page.get_by_text("Mined.")).to_have_count(0)
    expect(page.get_by_role("button", name="Sign and send 2 steps")).to_be_disabled()


@pytest.mark.parametrize(
    "receipt",
    [
        "{ ...receipt, logs: undefined }",
        "{ ...receipt, logs: [null] }",
        "{ ...receipt, logs: [{ address: USDG, data: '0x' }] }",
        "{ ...receipt, transactionHash: null }",
    ],
)
def test_a_receipt_with_holes_is_no_proof_and_is_told_in_words(up, opened, receipt):
    page = signing(up, opened, f"answers.wallet_getCallsStatus = () => ({{ status: 200, receipts: [{receipt}] }});")
    expect(page.get_by_text("A receipt is not whole: what became of the transaction is not known.")).to_be_visible()
    expect(page.get_by_text("Something of it was sent")).to_be_visible()
    expect(page.get_by_text("Mined.")).to_have_count(0)
