"""A wallet of a test's own: reads go to the sandbox's node, what moves money is only noted and counted, and `answers` is what
each test changes."""

WALLET = """
const asked = (globalThis.asked = []);
const heard = (globalThis.heard = {});
const asWord = (hex) => '0x' + hex.slice(2).toLowerCase().padStart(64, '0');
const transfer = (token, from, to, amount) => ({
  address: token,
  topics: ['0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef', asWord(from), asWord(to)],
  data: asWord(amount),
});
const ME = '0x875F7121A37a8Af309B8e85f297B46Aa19d85daD';
const USDG = '0x5fc5360D0400a0Fd4f2af552ADD042D716F1d168';
const paid = transfer(USDG, ME, '0x1', '0x5f5e100');
const receipt = { status: '0x1', transactionHash: '0x' + 'ab'.repeat(32), blockNumber: '0x7', gasUsed: '0x9', logs: [paid] };
const refuse = (code) => Promise.reject(Object.assign(new Error('refused'), { code }));
const answers = {
  eth_requestAccounts: () => [ME],
  eth_accounts: () => answers.eth_requestAccounts(),
  eth_chainId: () => '0x1237',
  eth_sendTransaction: () => receipt.transactionHash,
  eth_getTransactionReceipt: () => receipt,
  wallet_getCapabilities: () => ({ '0x1237': { atomic: { status: 'supported' } } }),
  wallet_sendCalls: () => ({ id: 'b1' }),
  wallet_getCallsStatus: () => ({ status: 200, receipts: [receipt] }),
};
async function read(method, params) {
  const { rpcUrl } = await (await fetch('/sandbox')).json();
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return (await (await fetch(rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).json()).result;
}
let sent = 0;
const provider = {
  on: (event, listener) => (heard[event] = listener),
  async request({ method, params }) {
    asked.push({ method, params });
    if (answers[method]) {
      const told = await answers[method](params);
      if (method === 'eth_sendTransaction') sent += 1;
      return told;
    }
    const told = await read(method, params);
    // No node knows what was only noted, and a step that is mined has used its nonce.
    return method === 'eth_getTransactionCount' ? '0x' + (Number(told) + sent).toString(16) : told;
  },
};
const info = { uuid: 'u1', name: 'Own wallet', icon: 'javascript:alert(1)', rdns: 'example.own' };
const tell = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: { info, provider } }));
addEventListener('eip6963:requestProvider', tell);
"""


def signing(up, opened, *changes):
    """A page on which this wallet was asked to sign two steps."""
    page = opened(up.base, "/status")
    page.add_init_script(WALLET + "\n".join(changes))
    return sign(up, page)


def asked(page, method):
    return [each["params"] for each in page.evaluate("() => asked") if each["method"] == method]


def sign(up, page):
    """From the ticket to the moment at which this wallet is asked for two steps."""
    page.goto(f"{up.base}/app/trade/GOOGL")
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_role("button", name="Own wallet").click()
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Sign and send 2 steps").click()
    return page
