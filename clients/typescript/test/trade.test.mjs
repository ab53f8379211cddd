import assert from 'node:assert/strict';
import test from 'node:test';
import { createWalletClient, custom, encodeFunctionData, parseAbi, parseTransaction, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { BuildRefused, check, decode, encode, movedFor, send, SendUncertain, StepFailed, StepReplaced } from 'tickyard/trade';

const ROUTER = '0xcaf681a66d020601342297493863e78c959e5cb2';
const USDG = '0x5fc5360d0400a0fd4f2af552add042d716f1d168';
const TOKEN = '0x' + 'aa'.repeat(20);
const ME = '0x' + '11'.repeat(20);
const ROUTER_ABI = parseAbi([
  'function multicall(uint256 deadline, bytes[] data)',
  'function exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96))',
  'function exactOutputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 amountOut, uint256 amountInMaximum, uint160 sqrtPriceLimitX96))',
]);

// The reference encoder makes the calldata; ours must read it.
function swapData({ kind = 'exactIn', tokenIn = USDG, tokenOut = TOKEN, fee = 500, recipient = ME, amount = 100_000000n, bound = 995n * 10n ** 15n, deadline = 1_800_000_000n, limit = 0n, more = [] } = {}) {
  const inner =
    kind === 'exactIn'
      ? encodeFunctionData({ abi: ROUTER_ABI, functionName: 'exactInputSingle', args: [{ tokenIn, tokenOut, fee, recipient, amountIn: amount, amountOutMinimum: bound, sqrtPriceLimitX96: limit }] })
      : encodeFunctionData({ abi: ROUTER_ABI, functionName: 'exactOutputSingle', args: [{ tokenIn, tokenOut, fee, recipient, amountOut: amount, amountInMaximum: bound, sqrtPriceLimitX96: limit }] });
  return encodeFunctionData({ abi: ROUTER_ABI, functionName: 'multicall', args: [deadline, [inner, ...more]] });
}
const approve = (spender = ROUTER, amount = 100_000000n) =>
  encodeFunctionData({ abi: parseAbi(['function approve(address, uint256)']), args: [spender, amount] });
const step = (to, data) => ({ description: '', to, data, value: '0' });
const ASK = { symbol: 'AAPL', side: 'buy', amount: '100', recipient: ME };

function build({ swap = {}, approval = approve(), to = ROUTER, ...more } = {}) {
  const steps = [...(approval ? [step(USDG, approval)] : []), step(to, swapData(swap))];
  const quote = { side: 'buy', mode: 'exactIn', usdAmount: '100.000000', tokenAmount: '1', feeTier: 500 };
  return { symbol: 'AAPL', tokenAddress: TOKEN, chainId: 4663, quote, slippageBps: 50, deadline: 1_800_000_000, steps, note: '', ...more };
}

test('what the reference encoder wrote is read and written again, byte for byte', () => {
  for (const kind of ['exactIn', 'exactOut']) {
    const data = swapData({ kind });
    const read = decode(step(ROUTER, data));
    assert.deepEqual(read, { kind, router: ROUTER, tokenIn: USDG, tokenOut: TOKEN, fee: 500, recipient: ME, amount: 100_000000n, bound: 995n * 10n ** 15n, deadline: 1_800_000_000 });
    assert.deepEqual(encode(read), { to: ROUTER, data });
  }
  assert.deepEqual(encode(decode(step(USDG, approve()))), { to: USDG, data: approve() });
});

test('a build that does what was asked is let through', () => {
  assert.equal(check(build(), ASK).length, 2);
  assert.equal(check(build({ approval: null }), ASK).length, 1);
  const exactOut = build({ swap: { kind: 'exactOut', amount: 10n ** 18n, bound: 100_500000n }, approval: approve(ROUTER, 100_500000n) });
  assert.equal(check(exactOut, { ...ASK, amount: '1', denom: 'token' }).length, 2);
});

for (const [what, holes] of [
  ['no token', { tokenAddress: null }],
  ['no steps', { steps: undefined }],
  ['steps without data', { steps: [{ to: ROUTER }] }],
  ['no quote', { quote: null }],
  ['a quote without figures', { quote: { feeTier: 500 } }],
]) {
  test(`a build with ${what} is refused, and is no error of the program`, () => {
    assert.throws(() => check({ ...build(), ...holes }, ASK), BuildRefused);
  });
}

const other = '0x' + '22'.repeat(20);
for (const [what, made, ask = ASK] of [
  ['another recipient', build({ swap: { recipient: other } })],
  ['another router', build({ to: other })],
  ['another token', build({ swap: { tokenOut: other } })],
  ['another amount', build({ swap: { amount: 101_000000n } })],
  ['a looser bound', build({ swap: { bound: 994n * 10n ** 15n } })],
  ['no bound', build({ swap: { bound: 0n } })],
  ['an unlimited approval', build({ approval: approve(ROUTER, 2n ** 256n - 1n) })],
  ['an approval for somebody else', build({ approval: approve(other) })],
  ['a hidden price limit', build({ swap: { limit: 5n } })],
  ['a second call in the batch', build({ swap: { more: ['0x12345678'] } })],
  ['another deadline', build({ swap: { deadline: 1_900_000_000n } })],
  ['another chain', build({ chainId: 1 })],
  ['another asset', build({ symbol: 'GME' })],
  ['another asset, well made,', build({ symbol: 'GME', tokenAddress: other, swap: { tokenOut: other } })],
  ['another token than is known', build(), { ...ASK, token: other }],
  ['a worse price than the limit', build(), { ...ASK, limit: '0.9951' }],
  ['a worse price than it quotes itself, and than the limit', build({ swap: { bound: 9_950_000n }, quote: { usdAmount: '100.000000', tokenAmount: '0.00000000001', feeTier: 500 } }), { ...ASK, limit: '0.9' }],
  ['another pool than the quoted one', build({ swap: { fee: 3000 } })],
  ['a quote of another amount', build({ quote: { usdAmount: '1.000000', tokenAmount: '1', feeTier: 500 } })],
  ['a quote of nothing for the open leg', build({ swap: { bound: 1n }, quote: { usdAmount: '100.000000', tokenAmount: '0', feeTier: 500 } })],
  ['a limit of nothing', build(), { ...ASK, limit: '0.0' }],
  ['the other leg fixed', build({ swap: { kind: 'exactOut' } })],
  ['the other side', build(), { ...ASK, side: 'sell' }],
  ['a sale for a side in no known words', build({ swap: { tokenIn: TOKEN, tokenOut: USDG }, approval: null, quote: { usdAmount: '100.000000', tokenAmount: '0.0000000001', feeTier: 500 } }), { ...ASK, side: 'BUY', denom: 'token', amount: '0.0000000001' }],
  ['any bound where the slippage asked for is beyond all', build({ swap: { bound: 1n } }), { ...ASK, slippageBps: 10_000 }],
  ['money sent along', { ...build(), steps: [{ ...step(ROUTER, swapData()), value: '1' }] }],
  ['no step', { ...build(), steps: [] }],
  ['only an approval', { ...build(), steps: [step(USDG, approve())] }],
  ['bytes at the end', { ...build(), steps: [step(ROUTER, swapData() + '00'.repeat(32))] }],
  ['something cut off', { ...build(), steps: [step(ROUTER, swapData().slice(0, 400))] }],
]) {
  test(`a build with ${what} is refused before anything is signed`, async () => {
    assert.throws(() => check(made, ask), BuildRefused);
    const wallet = new PaperWallet();
    await assert.rejects(send(made, ask, wallet), BuildRefused);
    assert.deepEqual(wallet.sent, []);
  });
}

class PaperWallet {
  account = { address: ME };
  sent = [];
  chainId = 4663;
  outcome = () => ({ status: 'success', logs: [] });
  async getChainId() {
    return this.chainId;
  }
  underWay = 0;
  now = 1_799_999_500n;
  async getTransactionCount({ blockTag }) {
    return 40 + this.sent.length + (blockTag === 'pending' ? this.underWay : 0);
  }
  async getBlock() {
    return { timestamp: this.now };
  }
  async sendTransaction(transaction) {
    this.sent.push(transaction);
    return this.fails ? Promise.reject(this.fails) : `0x${this.sent.length}`;
  }
  async waitForTransactionReceipt({ hash, onReplaced }) {
    if (this.replaces) onReplaced?.({ reason: this.replaces });
    return { transactionHash: hash, ...this.outcome(this.sent.length) };
  }
}

test('steps are sent in order, each with a nonce of its own', async () => {
  const wallet = new PaperWallet();
  const told = [];
  const done = await send(build(), ASK, wallet, { onStep: (each, index, hash) => told.push([each.kind, index, hash]) });
  assert.deepEqual(wallet.sent.map((each) => [each.to, each.nonce, each.value]), [[USDG, 40, 0n], [ROUTER, 41, 0n]]);
  assert.deepEqual(told, [['approval', 0, null], ['approval', 0, '0x1'], ['exactIn', 1, null], ['exactIn', 1, '0x2']]);
  assert.equal(done.receipts.length, 2);
});

test('a failed approval is the last thing that was sent', async () => {
  const wallet = new PaperWallet();
  wallet.outcome = () => ({ status: 'reverted', logs: [] });
  await assert.rejects(send(build(), ASK, wallet), StepFailed);
  assert.equal(wallet.sent.length, 1);
});

test('a lost answer leaves an uncertain nonce and sends nothing more', async () => {
  const wallet = new PaperWallet();
  wallet.fails = new Error('socket closed');
  await assert.rejects(send(build(), ASK, wallet), (error) => error instanceof SendUncertain && error.nonce === 40);
  assert.equal(wallet.sent.length, 1);
});

test('a no of the person is passed on as it is', async () => {
  const wallet = new PaperWallet();
  wallet.fails = Object.assign(new Error('wrapped'), { cause: { code: 4001 } });
  await assert.rejects(send(build(), ASK, wallet), /wrapped/);
});

test('a failure that names itself as its cause is a failure like any other', async () => {
  const wallet = new PaperWallet();
  wallet.fails = new Error('round');
  wallet.fails.cause = { cause: wallet.fails };
  await assert.rejects(send(build(), ASK, wallet), SendUncertain);
});

test('a step that the node says would fail has not left, and nobody is told that it may have', async () => {
  const account = privateKeyToAccount('0x' + '6b'.repeat(32));
  let sent = 0;
  const answers = {
    eth_chainId: () => '0x1237',
    eth_getTransactionCount: () => '0x28',
    eth_getBlockByNumber: () => ({ timestamp: '0x6b49d0a0', baseFeePerGas: '0x1', number: '0x1', transactions: [] }),
    eth_estimateGas: () => Promise.reject(Object.assign(new Error('execution reverted: STF'), { code: 3, data: '0x' })),
    eth_maxPriorityFeePerGas: () => '0x1',
    eth_sendRawTransaction: () => `0x${++sent}`,
  };
  const request = async ({ method, params }) => answers[method] ? answers[method](params) : null;
  const wallet = createWalletClient({ account, transport: custom({ request }, { retryCount: 0 }) }).extend(publicActions);
  const trade = send(build({ swap: { recipient: account.address } }), { ...ASK, recipient: account.address }, wallet);
  await assert.rejects(trade, (error) => !(error instanceof SendUncertain) && /STF/.test(error.message));
  assert.equal(sent, 0);
});

test('a wallet on another chain or of somebody else signs nothing', async () => {
  const elsewhere = Object.assign(new PaperWallet(), { chainId: 1 });
  await assert.rejects(send(build(), ASK, elsewhere), BuildRefused);
  const stranger = Object.assign(new PaperWallet(), { account: { address: other } });
  await assert.rejects(send(build(), ASK, stranger), BuildRefused);
  assert.deepEqual([elsewhere.sent, stranger.sent], [[], []]);
});

test('a deadline that has passed or is a day away is not signed', async () => {
  for (const now of [1_800_000_000n, 1_800_000_001n, 1_799_913_599n]) {
    const wallet = Object.assign(new PaperWallet(), { now });
    await assert.rejects(send(build(), ASK, wallet), /deadline/);
    assert.deepEqual(wallet.sent, []);
  }
});

test('a check that is told the time refuses such a deadline as well', () => {
  assert.equal(check(build(), { ...ASK, limit: '0.995' }, 1_799_999_500).length, 2);
  for (const now of [1_800_000_000, 1_799_913_599]) assert.throws(() => check(build(), ASK, now), /deadline/);
});

test('a node that names any fee does not get it signed by a key of this machine', async () => {
  const account = privateKeyToAccount('0x' + '6b'.repeat(32));
  for (const [gas, tip, allowed] of [[200_000, 10n ** 9n, true], [200_000, 10n ** 12n, false], [10 ** 9, 10n ** 9n, false]]) {
    const sent = [];
    const answers = {
      eth_chainId: () => '0x1237',
      eth_getTransactionCount: () => '0x28',
      eth_getBlockByNumber: () => ({ timestamp: '0x6b49d0a0', baseFeePerGas: '0x1', number: '0x1', transactions: [] }),
      eth_estimateGas: () => `0x${gas.toString(16)}`,
      eth_maxPriorityFeePerGas: () => `0x${tip.toString(16)}`,
      eth_sendRawTransaction: ([raw]) => (sent.push(parseTransaction(raw)), another),
    };
    const request = async ({ method, params }) => answers[method] ? answers[method](params) : null;
    const wallet = createWalletClient({ account, transport: custom({ request }) }).extend(publicActions);
    wallet.waitForTransactionReceipt = async ({ hash }) => ({ transactionHash: hash, status: 'success', logs: [] });
    const trade = send(build({ swap: { recipient: account.address } }), { ...ASK, recipient: account.address }, wallet);
    if (allowed) assert.equal((await trade).receipts.length, 2);
    else await assert.rejects(trade, (error) => error instanceof BuildRefused && /fee/.test(error.message));
    assert.deepEqual(sent.map((each) => each.gas * each.maxFeePerGas <= 2n * 10n ** 16n), allowed ? [true, true] : []);
  }
});

test('an account with transactions under way is not used: one of them may be this very trade', async () => {
  const wallet = Object.assign(new PaperWallet(), { underWay: 1 });
  await assert.rejects(send(build(), ASK, wallet), BuildRefused);
  assert.deepEqual(wallet.sent, []);
});

const another = '0x' + 'ee'.repeat(32);

test('a step that its owner cancelled in the wallet is not done, and nothing follows it', async () => {
  for (const replaces of ['cancelled', 'replaced']) {
    const wallet = Object.assign(new PaperWallet(), { replaces, outcome: () => ({ status: 'success', logs: [], transactionHash: another }) });
    await assert.rejects(send(build(), ASK, wallet), (error) => error instanceof StepReplaced && error.receipt.transactionHash === another);
    assert.equal(wallet.sent.length, 1);
  }
});

test('a step that its owner sped up in the wallet is done', async () => {
  const wallet = Object.assign(new PaperWallet(), { replaces: 'repriced', outcome: () => ({ status: 'success', logs: [], transactionHash: another }) });
  const done = await send(build(), ASK, wallet);
  assert.deepEqual([wallet.sent.length, done.receipts[1].transactionHash], [2, another]);
});

test('the receipt of some other transaction proves nothing', async () => {
  const wallet = Object.assign(new PaperWallet(), { outcome: () => ({ status: 'success', logs: [], transactionHash: another }) });
  await assert.rejects(send(build(), ASK, wallet), (error) => error instanceof SendUncertain && error.hash === '0x1');
  assert.equal(wallet.sent.length, 1);
});

test('a wallet that changes its chain between two steps signs no second one', async () => {
  const wallet = new PaperWallet();
  wallet.outcome = () => ((wallet.chainId = 1), { status: 'success', logs: [] });
  await assert.rejects(send(build(), ASK, wallet), BuildRefused);
  assert.equal(wallet.sent.length, 1);
});

test('nothing is signed for another chain by whoever names this one only when asked first', async () => {
  const account = privateKeyToAccount('0x' + '6b'.repeat(32));
  let asked = 0;
  const seen = [];
  const answers = {
    eth_chainId: () => (asked++ ? '0x1' : '0x1237'),
    eth_getTransactionCount: () => '0x28',
    eth_getBlockByNumber: () => ({ timestamp: '0x6b49d0a0', baseFeePerGas: '0x1', number: '0x1', transactions: [] }),
    eth_estimateGas: () => '0x10000',
    eth_maxPriorityFeePerGas: () => '0x1',
    eth_sendRawTransaction: ([raw]) => (seen.push(parseTransaction(raw).chainId), another),
    eth_sendTransaction: ([transaction]) => (seen.push(Number(transaction.chainId)), another),
  };
  const request = async ({ method, params }) => answers[method] ? answers[method](params) : null;
  for (const signer of [account, account.address]) {
    asked = 0;
    const wallet = createWalletClient({ account: signer, transport: custom({ request }) }).extend(publicActions);
    wallet.waitForTransactionReceipt = async ({ hash }) => ({ transactionHash: hash, status: 'reverted', logs: [] });
    const ask = { ...ASK, recipient: account.address };
    await assert.rejects(send(build({ swap: { recipient: account.address } }), ask, wallet));
  }
  assert.deepEqual(seen.filter((chainId) => chainId !== 4663), []);
});

test('what moved is the sum of the transfers of the account', () => {
  const topic = (address) => '0x' + address.slice(2).padStart(64, '0');
  const transfer = (token, from, to, amount) => ({ address: token, topics: ['0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef', topic(from), topic(to)], data: '0x' + amount.toString(16) });
  const logs = [transfer(USDG, ME, other, 100n), transfer(TOKEN, other, ME, 7n), transfer(TOKEN, other, other, 9n), { address: TOKEN, topics: ['0x00'], data: '0x' }];
  assert.deepEqual(movedFor(ME.toUpperCase().replace('0X', '0x'), [{ logs }]), { [USDG]: -100n, [TOKEN]: 7n });
});
