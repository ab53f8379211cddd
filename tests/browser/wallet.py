"""A wallet of a test's own: reads go to the sandbox's node, what moves money is only noted, and `answers` is what each test
changes."""

WALLET = """
const asked = (globalThis.asked = []);
const heard = (globalThis.heard = {});
const receipt = { status: '0x1', transactionHash: '0x' + 'ab'.repeat(32), blockNumber: '0x7', gasUsed: '0x9', logs: [] };
const refuse = (code) => Promise.reject(Object.assign(new Error('refused'), { code }));
const answers = {
  eth_requestAccounts: () => ['0x875F7121A37a8Af309B8e85f297B46Aa19d85daD'],
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
const provider = {
  on: (event, listener) => (heard[event] = listener),
  async request({ method, params }) {
    asked.push({ method, params });
    return answers[method] ? answers[method](params) : read(method, params);
  },
};
const info = { uuid: 'u1', name: 'Own wallet', icon: 'javascript:alert(1)', rdns: 'example.own' };
const tell = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: { info, provider } }));
addEventListener('eip6963:requestProvider', tell);
"""


def sign(up, page):
    """From the ticket to the moment at which this wallet is asked for two steps."""
    page.goto(f"{up.base}/app/trade/GOOGL")
    page.get_by_role("button", name="Connect", exact=True).click()
    page.get_by_role("button", name="Own wallet").click()
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Sign and send 2 steps").click()
    return page
