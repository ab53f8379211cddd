import assert from 'node:assert/strict';
import test from 'node:test';
import { createWalletClient, custom, parseTransaction, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { BuildRefused, NodeBehind, send, SendUncertain, StepFailed, StepReplaced } from 'tickyard/trade';
import { ASK, build, ME, other, PaperWallet, ROUTER, step, TOKEN, USDG } from './paper.mjs';

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

test('a swap whose deadline passed while the approval was waited for is not asked for', async () => {
  const wallet = new PaperWallet();
  const told = [];
  wallet.outcome = () => ((wallet.now = 1_800_000_000n), { status: 'success', logs: [] });
  await assert.rejects(send(build(), ASK, wallet, { onStep: (each, index, hash) => told.push([index, hash]) }), /deadline has passed.*step 2/);
  assert.deepEqual(wallet.sent.map((each) => each.to), [USDG]);
  assert.deepEqual(told, [[0, null], [0, '0x1']]);
});

test('an approval that its owner made smaller in the wallet is followed by no swap', async () => {
  const APPROVAL = '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925';
  const approved = (amount, { address = USDG, owner = ME, spender = ROUTER } = {}) => ({
    address,
    topics: [APPROVAL, ...[owner, spender].map((each) => `0x${each.slice(2).padStart(64, '0')}`)],
    data: `0x${amount.toString(16).padStart(64, '0')}`,
  });
  for (const [logs, isEnough] of [
    [[approved(99_999999n)], false],
    [[{ ...approved(99_999999n), topics: approved(1n).topics.map((each) => `0x${each.slice(2).toUpperCase()}`) }], false],
    [[approved(100_000000n), approved(0n)], false],
    [[approved(100_000000n)], true],
    [[approved(2n ** 256n - 1n)], true],
    [[approved(1n, { owner: other }), approved(1n, { spender: other }), approved(1n, { address: TOKEN })], true],
    [[{ ...approved(1n), data: '0x' }], true],
  ]) {
    const wallet = new PaperWallet();
    wallet.outcome = () => ({ status: 'success', logs });
    const trade = send(build(), ASK, wallet);
    await (isEnough ? trade : assert.rejects(trade, (error) => error instanceof StepReplaced && error.receipt.logs === logs));
    assert.equal(wallet.sent.length, isEnough ? 2 : 1);
  }
});

test('a node that names any fee does not get it signed by a key of this machine', async () => {
  const account = privateKeyToAccount('0x' + '6b'.repeat(32));
  for (const [gas, tip, allowed] of [[200_000, 10n ** 9n, true], [200_000, 10n ** 12n, false], [10 ** 9, 10n ** 9n, false]]) {
    const sent = [];
    const answers = {
      eth_chainId: () => '0x1237',
      eth_getTransactionCount: () => `0x${(40 + sent.length).toString(16)}`,
      eth_getBlockByNumber: () => ({ timestamp: '0x6b49d0a0', baseFeePerGas: '0x1', number: '0x1', transactions: [] }),
      eth_estimateGas: () => `0x${gas.toString(16)}`,
      eth_maxPriorityFeePerGas: () => `0x${tip.toString(16)}`,
      eth_getBalance: () => '0xde0b6b3a7640000',
      eth_sendRawTransaction: ([raw]) => (sent.push(parseTransaction(raw)), another),
    };
    const request = async ({ method, params }) => answers[method] ? answers[method](params) : null;
    const wallet = createWalletClient({ account, transport: custom({ request }) }).extend(publicActions);
    wallet.getTransactionReceipt = async ({ hash }) => ({ transactionHash: hash, status: 'success', logs: [] });
    const trade = send(build({ swap: { recipient: account.address } }), { ...ASK, recipient: account.address }, wallet);
    if (allowed) assert.equal((await trade).receipts.length, 2);
    else await assert.rejects(trade, (error) => error instanceof BuildRefused && /fee/.test(error.message));
    assert.deepEqual(sent.map((each) => each.gas * each.maxFeePerGas <= 2n * 10n ** 16n), allowed ? [true, true] : []);
  }
});

test('two programs that send the same trade with one key do not sign the same transaction', async () => {
  const account = privateKeyToAccount('0x' + '6b'.repeat(32));
  const signed = [];
  const answers = {
    eth_chainId: () => '0x1237',
    eth_getTransactionCount: () => `0x${(40 + (signed.length % 2)).toString(16)}`,
    eth_getBlockByNumber: () => ({ timestamp: '0x6b49d0a0', baseFeePerGas: '0x1', number: '0x1', transactions: [] }),
    eth_estimateGas: () => '0x30d40',
    eth_maxPriorityFeePerGas: () => '0x3b9aca00',
    eth_getBalance: () => '0xde0b6b3a7640000',
    eth_sendRawTransaction: ([raw]) => (signed.push(parseTransaction(raw)), another),
  };
  const request = async ({ method, params }) => answers[method] ? answers[method](params) : null;
  for (let each = 0; each < 4; each++) {
    const wallet = createWalletClient({ account, transport: custom({ request }) }).extend(publicActions);
    wallet.getTransactionReceipt = async ({ hash }) => ({ transactionHash: hash, status: 'success', logs: [] });
    await send(build({ swap: { recipient: account.address } }), { ...ASK, recipient: account.address }, wallet);
  }
  const swaps = signed.filter((each) => each.nonce === 41);
  assert.equal(swaps.length, 4);
  assert.ok(new Set(swaps.map((each) => each.gas)).size > 1);
  // A fifth more than it was estimated to take is always left.
  assert.ok(signed.every((each) => each.gas > 240_000n && each.gas <= 250_000n));
});

test('an account with transactions under way is not used: one of them may be this very trade', async () => {
  const wallet = Object.assign(new PaperWallet(), { underWay: 1 });
  await assert.rejects(send(build(), ASK, wallet), BuildRefused);
  assert.deepEqual(wallet.sent, []);
});

test('a node that is behind is waited for between two steps, and gives out no nonce twice', async () => {
  const wallet = new PaperWallet();
  let asked = 0;
  // Behind a balancer: the first answers after the approval come from a node without its block.
  wallet.getTransactionCount = async () => 40 + (asked++ < 4 ? 0 : wallet.sent.length);
  await send(build(), ASK, wallet);
  assert.deepEqual(wallet.sent.map((each) => each.nonce), [40, 41]);
});

test('a node that stays behind gets no second step', async () => {
  const wallet = new PaperWallet();
  wallet.getTransactionCount = async () => 40;
  await assert.rejects(send(build(), ASK, wallet, { waitMs: 300 }), (error) => error instanceof NodeBehind && error.receipts.length === 1);
  assert.equal(wallet.sent.length, 1);
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

for (const [what, holes] of [
  ['nothing', { transactionHash: undefined, status: undefined, logs: undefined }],
  ['no outcome', { status: null }],
  ['no logs', { logs: null }],
  ['a log without topics', { logs: [{ address: USDG, data: '0x' }] }],
]) {
  test(`a receipt that says ${what} leaves open what became of the step, and is no error of the program`, async () => {
    const wallet = Object.assign(new PaperWallet(), { outcome: () => ({ status: 'success', logs: [], ...holes }) });
    await assert.rejects(send(build(), ASK, wallet), (error) => error instanceof SendUncertain && error.hash === '0x1');
    assert.equal(wallet.sent.length, 1);
  });
}

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
