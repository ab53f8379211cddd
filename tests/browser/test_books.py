"""What the page says of a day's share and of its books, while the day and the wallet change."""

import gzip
import hashlib
import re

import pytest
from playwright.sync_api import expect

from browser.wallet import WALLET

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]

HELD, SHARE = 100, 1_000_000
BOOKS = "address,balance,share\n" + "".join(f"0x{n:040x},1,{SHARE}\n" for n in range(1, HELD + 1))
EPOCH = 20260101
OTHER = "0x" + "22" * 20

# A chain that goes on with every question: from block 5 on, each block pays one more wallet.
CHAIN = f"""
let head = 5;
globalThis.chainId = '0x1237';
answers.eth_chainId = () => chainId;
answers.wallet_switchEthereumChain = ([asked]) => void (chainId = asked.chainId);
const word = (number) => number.toString(16).padStart(64, '0');
const told = {{ '0x68744046': () => '{hashlib.sha256(BOOKS.encode()).hexdigest()}', '0xfe313112': () => word({HELD * SHARE}), '0xd5b5cc23': (block) => word((block - 4) * {SHARE}), '0x70a08231': () => word(1) }};
answers.eth_blockNumber = () => '0x' + (head++).toString(16);
answers.eth_call = ([{{ data }}, tag]) => '0x' + (chainId !== '0x1237' ? '' : told[data.slice(0, 10)](tag === 'latest' ? head++ : Number(tag)));
answers.eth_getBlockByNumber = () => ({{ hash: '0x01' }});
answers.eth_getLogs = ([{{ toBlock }}]) => Array.from({{ length: Number(toBlock) - 4 }}, (_, index) => ({{ topics: ['', '', '0x' + word(index + 1)], data: '0x' + word({SHARE}) }}));
answers.personal_sign = () => '0x' + '11'.repeat(65);
"""


@pytest.fixture
def earning(up, opened):
    """A page at a day that is claimed; `day` may be changed."""
    day = {"id": EPOCH, "blockHash": "0x01", "poolUsd": "100.000000"}

    def earn(route):
        window = {"claimOpen": True, "claimOpenAt": "2026-01-02T00:00:00Z", "claimCloseAt": "2026-01-02T01:00:00Z"}
        sums = {"poolUsd": "100.000000", "eligibleWallets": HELD, "claimedWallets": 1, "claimedUsd": "1.000000"}
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"epoch": {"id": day["id"], **window, **sums}})

    def status(route):
        is_other = OTHER in route.request.url
        mine = {"id": day["id"], "claimOpen": True, "inSnapshot": not is_other, "claimed": False, "claimTx": None}
        body = {"balanceTokens": "1", "eligibleNow": True, "epoch": mine | {"claimableUsd": "1.000000", "message": "m"}}
        route.fulfill(json=body)

    rest = {"state": "open", "blockNumber": 3, "desk": "0x" + "dd" * 20, "paidUsd": "0", "rolledOverUsd": None}
    page = opened(up.base, "/status")
    page.add_init_script(WALLET + CHAIN)
    page.route("**/v1/earn", earn)
    page.route("**/v1/earn/status/*", status)
    page.route("**/v1/earn/claim", lambda route: route.fulfill(json={"tx": "0x" + "ab" * 32, "amountUsd": "1.000000"}))
    page.route("**/v1/earn/epochs/*", lambda route: route.fulfill(json={**rest, **day, "eligibleWallets": HELD}))
    page.route("**/books.csv.gz", lambda route: route.fulfill(body=gzip.compress(BOOKS.encode(), mtime=0)))
    page.goto(f"{up.base}/app/earn")
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_role("button", name="Own wallet").click()
    return page, day


def check_books(page):
    page.get_by_role("button", name="Check them here").click()
    findings = page.get_by_role("status").filter(has=page.get_by_role("list", name="What the check found"))
    expect(findings).to_be_visible()
    return findings


def test_books_that_are_paid_from_while_they_are_read_are_in_order(earning):
    page, _ = earning
    findings = check_books(page)
    expect(findings).to_contain_text("on the chain, once and of the right amount")
    expect(findings.get_by_role("img", name="right")).to_have_count(7)


def test_a_wallet_that_is_on_another_chain_is_asked_for_this_one_before_the_books_are_read(earning):
    page, _ = earning
    # As after a payment in USDC, or as most wallets are: there the desk is an address without code.
    page.evaluate("chainId = '0x2105'")
    expect(check_books(page).get_by_role("img", name="right")).to_have_count(7)


def test_what_is_wrong_is_told_to_those_who_do_not_see_it_too(earning):
    page, day = earning
    day |= {"poolUsd": "99.000000", "blockHash": "0x02"}
    findings = check_books(page)
    wrong = findings.get_by_role("listitem").filter(has=page.get_by_role("img", name="wrong"))
    expect(wrong).to_have_text([re.compile("The pool is not the one"), re.compile("Block 3 has another hash")])


def test_findings_and_payouts_are_of_the_day_and_the_wallet_that_are_shown(earning):
    page, day = earning
    check_books(page)
    page.get_by_role("button", name=re.compile("^Claim ")).click()
    expect(page.get_by_text("Paid $1.00.")).to_be_visible()
    page.evaluate("(other) => heard.accountsChanged([other])", OTHER)
    expect(page.get_by_text("In the snapshot of 20260101").locator("..")).to_contain_text("no")
    expect(page.get_by_text("Paid $1.00.")).to_have_count(0)
    day["id"] = EPOCH + 1
    expect(page.get_by_role("heading", name="Books of 20260102")).to_be_visible()
    expect(page.get_by_role("list", name="What the check found")).to_have_count(0)
