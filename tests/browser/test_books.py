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
# The file, the pool, the shares, no wallet twice, both figures of the card, the block, the balances and the payouts.
RIGHT = 9

# A chain that goes on with every question: from block 5 on, each block pays one more wallet.
CHAIN = f"""
let head = 5;
globalThis.chainId = '0x1237';
globalThis.answers = answers;
answers.eth_chainId = () => chainId;
answers.wallet_switchEthereumChain = ([asked]) => void (chainId = asked.chainId);
const word = (number) => number.toString(16).padStart(64, '0');
const told = (globalThis.told = {{ '0x68744046': () => '{hashlib.sha256(BOOKS.encode()).hexdigest()}', '0xfe313112': () => word({HELD * SHARE}), '0xd5b5cc23': (block) => word((block - 4) * {SHARE}), '0x70a08231': () => word(1) }});
answers.eth_blockNumber = () => '0x' + (head++).toString(16);
answers.eth_call = ([{{ data }}, tag]) => '0x' + (chainId !== '0x1237' ? '' : told[data.slice(0, 10)](tag === 'latest' ? head++ : Number(tag)));
answers.eth_getBlockByNumber = () => ({{ hash: '0x01' }});
const payment = (block) => ({{ topics: ['', '', '0x' + word(block - 4)], data: '0x' + word({SHARE}) }});
answers.eth_getLogs = ([{{ fromBlock, toBlock }}]) => Array.from({{ length: Number(toBlock) + 1 }}, (_, block) => block).slice(Math.max(5, Number(fromBlock))).map(payment);
answers.personal_sign = () => '0x' + '11'.repeat(65);
"""


@pytest.fixture
def earning(up, opened):
    """A page at a day that is claimed; `day` may be changed."""
    day = {"id": EPOCH, "blockHash": "0x01", "poolUsd": "100.000000"}
    paid = {"claimed": False, "claimTx": None}

    def earn(route):
        window = {"claimOpen": True, "claimOpenAt": "2026-01-02T00:00:00Z", "claimCloseAt": "2026-01-02T01:00:00Z"}
        sums = {"poolUsd": "100.000000", "eligibleWallets": HELD, "claimedWallets": 1, "claimedUsd": "1.000000"}
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"epoch": {"id": day["id"], **window, **sums}})

    def status(route):
        is_other = OTHER in route.request.url
        own = paid if not is_other else {"claimed": False, "claimTx": None}
        mine = {"id": day["id"], "claimOpen": True, "inSnapshot": not is_other, **own}
        body = {"balanceTokens": "1", "eligibleNow": True, "epoch": mine | {"claimableUsd": "1.000000", "message": "m"}}
        route.fulfill(json=body)

    def claim(route):
        paid.update(claimed=True, claimTx="0x" + "ab" * 32)
        route.fulfill(json={"epoch": day["id"], "tx": paid["claimTx"], "amountUsd": "1.000000", "status": "confirmed"})

    rest = {"state": "open", "blockNumber": 3, "desk": "0x" + "dd" * 20, "paidUsd": "0", "rolledOverUsd": None}
    page = opened(up.base, "/status")
    page.add_init_script(WALLET + CHAIN)
    page.route("**/v1/earn", earn)
    page.route("**/v1/earn/status/*", status)
    page.route("**/v1/earn/claim", claim)
    page.route("**/v1/earn/epochs/*", lambda route: route.fulfill(json={**rest, "eligibleWallets": HELD, **day}))
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
    expect(findings.get_by_role("img", name="right")).to_have_count(RIGHT)


def test_a_wallet_that_is_on_another_chain_is_asked_for_this_one_before_the_books_are_read(earning):
    page, _ = earning
    # As after a payment in USDC, or as most wallets are: there the desk is an address without code.
    page.evaluate("chainId = '0x2105'")
    expect(check_books(page).get_by_role("img", name="right")).to_have_count(RIGHT)


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


# A day on which no agent ran: the desk holds nothing of it.
UNOPENED = "told['0x68744046'] = told['0xfe313112'] = told['0xd5b5cc23'] = () => '0'.repeat(64)"


def changed(page, script):
    """Runs it. What a script ends with would be called, if it were a function."""
    page.evaluate(f"() => {{ {script} }}")


def listed(findings, mark):
    return findings.get_by_role("listitem").filter(has=findings.page.get_by_role("img", name=mark))


def test_honest_books_of_a_day_that_the_desk_was_never_opened_for_get_no_cross(earning):
    page, _ = earning
    changed(page, UNOPENED)
    findings = check_books(page)
    expect(listed(findings, "wrong")).to_have_count(0)
    expect(listed(findings, "not looked at")).to_have_text(re.compile("nobody on the chain vouches for this file"))
    expect(findings).to_contain_text("Every share is pool × balance ÷ total")


def test_shares_that_no_pool_can_give_are_wrong_though_nothing_is_opened(earning):
    page, day = earning
    changed(page, UNOPENED)
    day["poolUsd"] = "99.000000"
    expect(listed(check_books(page), "wrong")).to_contain_text("100 shares are not pool × balance ÷ total.")


def test_a_node_whose_log_index_lags_is_asked_again_and_then_called_what_it_is(earning):
    page, _ = earning
    changed(
        page,
        "logs = answers.eth_getLogs; late = true; answers.eth_getLogs = (query) => late ? (late = false, []) : logs(query)",
    )
    expect(check_books(page).get_by_role("img", name="right")).to_have_count(RIGHT)
    changed(page, "answers.eth_getLogs = () => []")
    page.get_by_role("button", name="Check them here").click()
    findings = page.get_by_role("status")
    expect(listed(findings, "not looked at")).to_have_text(re.compile("The node does not show all payments"))
    expect(listed(findings, "wrong")).to_have_count(0)


def test_a_wrong_payment_stays_wrong_beside_those_that_a_node_does_not_show(earning):
    page, _ = earning
    changed(
        page,
        "logs = answers.eth_getLogs; answers.eth_getLogs = (query) => logs(query).slice(0, 1).map((log) => ({ ...log, data: '0x1' }))",
    )
    expect(listed(check_books(page), "wrong")).to_contain_text("1 payouts are not the share of who got them.")


def test_a_node_that_gives_few_blocks_at_once_is_asked_for_fewer(earning):
    page, _ = earning
    changed(
        page,
        "logs = answers.eth_getLogs; answers.eth_getLogs = ([query]) =>"
        " query.toBlock > query.fromBlock ? Promise.reject({ code: -32005, message: 'one block at once' }) : logs([query])",
    )
    expect(check_books(page).get_by_role("img", name="right")).to_have_count(RIGHT)


@pytest.mark.parametrize(
    ("change", "unread"),
    [
        ("answers.eth_getLogs = () => Promise.reject({ code: 4200 })", "The node does not tell of the payments"),
        ("answers.eth_getLogs = () => null", "The node does not tell of the payments"),
        ("answers.eth_getBlockByNumber = () => Promise.reject(null)", "The node does not tell of block 3"),
        ("told['0x70a08231'] = () => ''", "The node no longer knows the balances"),
    ],
)
def test_what_a_node_does_not_tell_stands_beside_what_was_found(earning, change, unread):
    page, _ = earning
    changed(page, change)
    findings = check_books(page)
    expect(listed(findings, "not looked at")).to_have_text(re.compile(unread))
    expect(findings.get_by_role("img", name="right")).to_have_count(RIGHT - 1)


@pytest.mark.parametrize("change", ["answers.eth_blockNumber = () => null", "answers.eth_call = () => '0x'"])
def test_a_desk_of_which_a_node_tells_nothing_vouches_for_nothing(earning, change):
    page, _ = earning
    changed(page, change)
    findings = check_books(page)
    expect(listed(findings, "not looked at").first).to_contain_text("The node does not tell what the desk")
    expect(listed(findings, "wrong")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_figures_of_the_card_that_the_chain_does_not_bear_out_are_wrong(earning):
    page, day = earning
    day |= {"eligibleWallets": 9000, "paidUsd": "99.000000"}
    expect(listed(check_books(page), "wrong")).to_have_text(
        [re.compile("The card says 9000 wallets"), re.compile("The card calls more paid")]
    )


def closed(rolled):
    return {"paidUsd": "1.000000", "inFlightUsd": "0.000000", "returnedLaterUsd": "0.000000", "rolledOverUsd": rolled}


@pytest.mark.parametrize("rolled", ["12345.000000", "98.000000"])
def test_what_rolled_over_is_what_the_pool_has_left(earning, rolled):
    page, day = earning
    changed(page, "answers.eth_blockNumber = () => '0x5'")
    day |= closed("99.000000")
    expect(check_books(page).get_by_role("img", name="right")).to_have_count(RIGHT + 1)
    day |= closed(rolled)
    page.get_by_role("button", name="Check them here").click()
    expect(listed(page.get_by_role("status"), "wrong")).to_have_text(re.compile("rolled over"))


def test_a_wallet_that_never_answers_leaves_the_books_to_another(earning):
    page, _ = earning
    changed(page, "answers.eth_blockNumber = () => new Promise(() => {})")
    page.get_by_role("button", name="Check them here").click()
    expect(page.get_by_role("button", name="Checking…")).to_be_disabled()
    page.evaluate("(other) => heard.accountsChanged([other])", OTHER)
    expect(page.get_by_role("button", name="Check them here")).to_be_enabled()


def test_the_books_of_another_day_are_no_answer(earning):
    page, day = earning
    page.route(f"**/v1/earn/epochs/{EPOCH}", lambda route: route.fulfill(json=day | {"id": EPOCH + 1, "state": "open"}))
    page.get_by_role("button", name="Check them here").click()
    # The page reads the day by itself as well, and says so of its own accord once that has failed too.
    said = page.get_by_role("alert").filter(
        has_text=re.compile(r"^The service answered something else than expected\.$")
    )
    expect(said).to_have_count(1)
    expect(page.get_by_role("list", name="What the check found")).to_have_count(0)
