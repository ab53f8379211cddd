"""A reward day by moving the clock: it comes last, because after it ordinary wallets live in the past."""

import gzip
import hashlib
import re
import urllib.request

import pytest
from playwright.sync_api import expect

from yards.patience import STUCK_S

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]


def test_a_day_is_lived_through_claimed_and_its_books_are_checked_on_the_chain(up, opened, stock_payer):
    page = opened(up.base, "/pay")
    key = up.get("/sandbox")[1]["wallets"][0]["privateKey"]
    page.evaluate(stock_payer)
    url = f"{up.base}/v1/x402/quote?symbol=AAPL&side=buy&amount=100"
    assert page.evaluate("([url, key]) => stockPay(url, key, 'eip155:8453')", [url, key])["status"] == 200
    page.get_by_role("link", name="Sandbox").click()
    page.get_by_role("button", name="To 23:00, snapshot").click()
    expect(page.get_by_text(re.compile("It is .* 23:00"))).to_be_visible(timeout=90_000)
    page.get_by_role("button", name="To 00:00, claims").click()
    expect(page.get_by_text(re.compile("It is .* 00:00"))).to_be_visible(timeout=90_000)
    page.get_by_role("link", name="Earn").click()
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_role("button", name="Demo wallet").click()
    claim = page.get_by_role("button", name=re.compile(r"Claim \$"))
    expect(claim).to_be_visible(timeout=60_000)
    claim.click()
    page.get_by_role("dialog").get_by_role("button", name="Confirm").click()
    expect(page.locator(".note.good")).to_contain_text(
        re.compile(r"(Sent|Paid) .*Transaction 0x[0-9a-f]{64}"), timeout=60_000
    )
    expect(page.get_by_test_id("claimable")).to_have_text("claimed")
    _what_becomes_of_a_payout_is_told(page)
    page.get_by_role("button", name="Check them here").click()
    findings = page.locator(".findings li")
    expect(findings.first).to_be_visible(timeout=90_000)
    assert [each.inner_text() for each in page.locator(".findings li[data-ok=false]").all()] == []
    assert page.locator(".findings li[data-ok=true]").count() >= 5
    epoch = up.get("/v1/earn")[1]["epoch"]["id"]
    _tampered_books_are_red(page, up, epoch)


def _what_becomes_of_a_payout_is_told(page):
    """Sent is not paid: a transaction may be replaced, and a payout may fail. After its hour a share is nobody's."""
    told = {}

    def tell(route):
        answer = route.fetch()
        standing = answer.json()
        standing["epoch"].update(told)
        route.fulfill(response=answer, json=standing)

    page.route("**/v1/earn/status/*", tell)
    told["claimTx"] = "0x" + "5e" * 32
    expect(page.locator(".note.good")).to_contain_text("0x" + "5e" * 32)
    told["claimTx"] = None
    expect(page.get_by_text("Your claim is reserved and will be paid.")).to_be_visible()
    told["claimed"] = False
    expect(page.get_by_text("The payout failed on the chain: nothing was paid.")).to_be_visible()
    expect(page.locator(".note.good")).to_have_count(0)
    expect(page.get_by_role("button", name=re.compile(r"Claim \$"))).to_be_visible()
    told["claimOpen"] = False
    expect(page.get_by_test_id("claimable")).to_have_text(re.compile(r"^\$0\.\d+ when claims open$"))
    told["claimCloseAt"] = "2026-09-16T01:00:00Z"
    expect(page.get_by_test_id("claimable")).to_have_text(re.compile(r"^nothing: the hour for \$0\.\d+ is over$"))
    _a_claim_without_an_answer_is_followed(page, told)
    page.unroute_all(behavior="ignoreErrors")
    expect(page.get_by_test_id("claimable")).to_have_text("claimed")


def _a_claim_without_an_answer_is_followed(page, told):
    """Reserved and not sent in time: what becomes of it is told, on a page that never saw an answer."""
    told.clear()
    told.update(claimed=False, claimTx=None)
    page.reload()

    def reserve(route):
        told["claimed"] = True
        error = {"code": "upstream_error", "message": "the claim is reserved, repeat to read its transaction"}
        route.fulfill(status=502, json={"error": error})

    page.route("**/v1/earn/claim", reserve)
    page.get_by_role("button", name=re.compile(r"Claim \$")).click()
    page.get_by_role("dialog").get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("Your claim is reserved and will be paid.")).to_be_visible()
    expect(page.get_by_text("repeat to read its transaction")).to_have_count(0)
    told["claimed"] = False
    failed = page.get_by_text("The payout failed on the chain: nothing was paid.")
    expect(failed).to_be_visible()
    expect(page.get_by_text("repeat to read its transaction")).to_have_count(0)
    # The day after, which nobody has claimed yet, comes to this card first.
    told["id"] = 20990101
    expect(page.get_by_text("In the snapshot of 20990101")).to_be_visible()
    expect(failed).to_have_count(0)


def _tampered_books_are_red(page, up, epoch):
    """The service serves another file, in itself quite in order, and swears in all its answers that it is the one."""
    path = f"/v1/earn/epochs/{epoch}/books.csv.gz"
    with urllib.request.urlopen(up.base + path, timeout=STUCK_S) as answer:
        head, *rows = gzip.decompress(answer.read()).decode().splitlines()
    first, *others = [row.split(",") for row in rows]
    # Half of what one wallet held is said to have been somebody else's: sums and shares still fit as well as they can.
    thief = ["0x" + "22" * 20, str(int(first[1]) // 2), str(int(first[2]) // 2)]
    first = [first[0], str(int(first[1]) - int(thief[1])), str(int(first[2]) - int(thief[2]))]
    forged = "\n".join([head, *(",".join(row) for row in sorted([first, thief, *others]))]) + "\n"
    digest = hashlib.sha256(forged.encode()).hexdigest()

    def swear(route):
        answer = route.fetch()
        told = re.sub(r'("(?:onChainB|b)ooksHash":")[^"]*', rf"\g<1>{digest}", answer.text())
        route.fulfill(response=answer, body=told)

    page.route("**/v1/earn/reserves", swear)
    page.route(f"**{path}", lambda route: route.fulfill(body=gzip.compress(forged.encode(), mtime=0)))
    page.get_by_role("button", name="Check them here").click()
    red = page.locator(".findings li[data-ok=false]")
    expect(red.filter(has_text="This is not the file that the desk was opened with")).to_be_visible(timeout=60_000)
    page.unroute_all(behavior="ignoreErrors")
