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
    expect(page.locator(".note.good")).to_contain_text(re.compile(r"Paid .*Transaction 0x[0-9a-f]{64}"), timeout=60_000)
    expect(page.get_by_test_id("claimable")).to_have_text("claimed")
    page.get_by_role("button", name="Check them here").click()
    findings = page.locator(".findings li")
    expect(findings.first).to_be_visible(timeout=90_000)
    assert [each.inner_text() for each in page.locator(".findings li[data-ok=false]").all()] == []
    assert page.locator(".findings li[data-ok=true]").count() >= 5
    epoch = up.get("/v1/earn")[1]["epoch"]["id"]
    _tampered_books_are_red(page, up, epoch)


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
