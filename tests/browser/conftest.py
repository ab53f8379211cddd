"""One sandbox and one Chromium for all journeys; a fresh profile for each."""

import re
import subprocess
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright

from browser import chromium
from yards.patience import STUCK_S

ROOT = Path(__file__).parents[2]
# On a machine that does much else at the same time, a block and its pages take a while.
PATIENCE_MS = 30_000
# The browser notes every failed request by itself: a challenge is one, and to survive the others is what some journeys
# are about. A server that dies is told by many names, by the moment of the request at which it died.
PASSING = re.compile(
    r"Failed to load resource: .*(402|429|502|503|ERR_(CONNECTION|SOCKET|NETWORK|EMPTY_RESPONSE|INCOMPLETE|TIMED_OUT))"
)


@pytest.fixture(scope="package")
def up(running):
    assert (ROOT / "src" / "tickyard" / "web" / "index.html").exists(), "the web app is not built; run: make setup"
    sandbox = running.Up().wait_ready()
    yield sandbox
    sandbox.stop()


@pytest.fixture(scope="package")
def chrome():
    """Only for this folder: while it lives, the library behind it keeps an event loop running in this thread."""
    path = chromium.find()
    assert path is not None, chromium.HOW
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(chromium.FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def opened(chrome):
    """`opened(base, color_scheme=..., viewport=...)`: a page that must end without a word in its console, and without
    a request to anybody but this machine."""
    with _pages(chrome) as open_page:
        yield open_page


@contextmanager
def _pages(chrome):
    expect.set_options(timeout=PATIENCE_MS)
    contexts, said, strangers = [], [], []

    def open_page(base, path="", **options):
        context = chrome.new_context(**options)
        contexts.append(context)
        # A policy that is broken is told here, whether or not anybody looks at the console.
        context.add_init_script(
            "addEventListener('securitypolicyviolation', (e) => console.error('CSP', e.violatedDirective, e.blockedURI))"
        )
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: strangers.append(request.url) if is_strange(request.url) else None)
        page.goto(f"{base}/app{path}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [each for each in said if not PASSING.search(each)] == []
    assert strangers == []


def is_strange(url):
    return not url.startswith(("data:", "blob:")) and urlsplit(url).hostname != "127.0.0.1"


@pytest.fixture(scope="session")
def stock_payer(tmp_path_factory):
    """The stock x402 fetch, bundled for a page: `stockPay(url, key, network)`."""
    folder = tmp_path_factory.mktemp("stock")
    entry, bundle = folder / "stock.js", folder / "bundle.js"
    entry.write_text(
        "import { wrapFetchWithPayment, x402Client, decodePaymentResponseHeader } from '@x402/fetch';\n"
        "import { registerExactEvmScheme } from '@x402/evm/exact/client';\n"
        "import { privateKeyToAccount } from 'viem/accounts';\n"
        "globalThis.stockPay = async (url, key, network) => {\n"
        "  const client = new x402Client();\n"
        "  registerExactEvmScheme(client, { signer: privateKeyToAccount(key) });\n"
        "  client.setSpendControls({ allowedAssets: true });\n"
        "  client.registerPolicy((_, offers) => offers.filter((offer) => offer.network === network));\n"
        "  const answer = await wrapFetchWithPayment(fetch, client)(url);\n"
        "  const receipt = answer.headers.get('PAYMENT-RESPONSE');\n"
        "  return { status: answer.status, body: await answer.json(), receipt: decodePaymentResponseHeader(receipt) };\n"
        "};\n"
    )
    subprocess.run(
        [ROOT / "node_modules/.bin/esbuild", entry, "--bundle", "--format=iife", f"--outfile={bundle}"],
        env={"NODE_PATH": str(ROOT / "node_modules"), "PATH": "/usr/bin:/bin"},
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=STUCK_S,
    )
    return bundle.read_text()
