// A key on this machine: what it signs once is sent until the chain has it, and nothing is signed twice.
import assert from 'node:assert/strict';
import test from 'node:test';
import { createWalletClient, custom, keccak256, parseTransaction, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { BuildRefused, NodeBehind, send, SendUncertain, StepsLeft } from 'tickyard/trade';
import { ASK, build, PaperWallet, ROUTER, USDG } from './paper.mjs';

const account = privateKeyToAccount('0x' + '6b'.repeat(32));
const ask = { ...ASK, recipient: account.address };
const trade = (changes = {}) => build({ swap: { recipient: account.address }, ...changes });
const refusal = (message) => Object.assign(new Error(message), { code: -32000 });

/** A chain of one account; `onSend` is what its node does with bytes, and mines them unless it throws or says no. */
class PaperNode {
  sent = [];
  mined = new Map();
  held = 10n ** 18n;
  now = 1_799_999_500;
  onSend = () => true;
  wallet = createWalletClient({ account, transport: custom({ request: (ask) => this.request(ask) }, { retryCount: 0 }) }).extend(publicActions);

  async request({ method, params }) {
    const nonce = `0x${(40 + this.mined.size).toString(16)}`;
    const [first] = params ?? [];
    const receipt = () => ({ status: '0x1', transactionHash: first, blockNumber: '0x7', gasUsed: '0x9', logs: [], type: '0x2' });
    const answers = {
      eth_chainId: () => '0x1237',
      eth_getTransactionCount: () => nonce,
      eth_getBalance: () => `0x${this.held.toString(16)}`,
      eth_getBlockByNumber: () => ({ timestamp: `0x${this.now.toString(16)}`, baseFeePerGas: '0x1', number: '0x1', transactions: [] }),
      eth_estimateGas: () => '0x10000',
      eth_maxPriorityFeePerGas: () => '0x1',
      eth_sendRawTransaction: () => this.take(first),
      eth_getTransactionReceipt: () => (this.mined.has(first) ? receipt() : null),
      eth_getTransactionByHash: () => (this.mined.has(first) ? { hash: first, blockNumber: '0x7', nonce: '0x1' } : null),
    };
    return answers[method]();
  }

  take(raw) {
    this.sent.push(raw);
    if (this.mined.has(keccak256(raw))) throw refusal('nonce too low');
    // A node may lose its voice after it has done what was asked.
    const said = this.onSend(raw, this.sent.length);
    if (said) this.mined.set(keccak256(raw), raw);
    if (said instanceof Error) throw said;
    return keccak256(raw);
  }
}

const steps = (node) => [...node.mined.values()].map((raw) => parseTransaction(raw)).map(({ to, nonce }) => [to, nonce]);
const BOTH = [[USDG, 40], [ROUTER, 41]];

test('an answer that is lost ends no trade: the transaction is found, and nothing is signed anew', async () => {
  const node = new PaperNode();
  node.onSend = () => new Error('socket closed');
  const told = [];
  const done = await send(trade(), ask, node.wallet, { onStep: (_, index, hash) => hash && told.push([index, hash]) });
  assert.deepEqual([steps(node), node.sent.length, done.receipts.length], [BOTH, 2, 2]);
  assert.deepEqual(told, [...node.mined.keys()].map((hash, index) => [index, hash]));
});

test('what a node forgot, or never got, is sent again: the very same bytes', async () => {
  for (const lost of [() => false, () => { throw new Error('socket closed'); }]) {
    const node = new PaperNode();
    node.onSend = (_, count) => count > 1 || lost();
    await send(trade({ approval: null }), ask, node.wallet);
    assert.deepEqual([steps(node), node.sent.length, new Set(node.sent).size], [[[ROUTER, 40]], 2, 1]);
  }
});

test('what a node will not have stays open, with the bytes to go on with', async () => {
  const node = new PaperNode();
  node.onSend = (_, count) => { if (count > 1) throw refusal('the pool is full'); return true; };
  const signed = [];
  const stopped = send(trade(), ask, node.wallet, { onSigned: (step) => void signed.push({ step, before: node.sent.length }) });
  const uncertain = await stopped.catch((error) => error);
  assert.ok(uncertain instanceof SendUncertain && /the pool is full/.test(uncertain.message), String(uncertain));
  assert.deepEqual([uncertain.nonce, uncertain.sent], [41, signed.map(({ step }) => step)]);
  assert.deepEqual(signed.map(({ before }) => before), [0, 1]);
  // What is out is followed to its end, also when its deadline has passed meanwhile.
  Object.assign(node, { onSend: () => true, now: 1_800_000_100 });
  const done = await send(trade(), ask, node.wallet, { sent: uncertain.sent, onSigned: () => assert.fail('signed anew') });
  assert.deepEqual([steps(node), done.receipts.length, new Set(node.sent).size], [BOTH, 2, 2]);
});

test('a process that ended after the first step goes on with the second', async () => {
  const node = new PaperNode();
  const signed = [];
  node.wallet.getTransactionCount = async () => 40;
  const behind = await send(trade(), ask, node.wallet, { waitMs: 10, onSigned: (step) => void signed.push(step) }).catch((error) => error);
  assert.ok(behind instanceof NodeBehind);
  assert.deepEqual(behind.sent, signed);
  node.wallet.getTransactionCount = async () => 40 + node.mined.size;
  await send(trade(), ask, node.wallet, { sent: signed });
  assert.deepEqual(steps(node), BOTH);
});

test('a node that fails between two steps leaves the second, and the first is not signed anew', async () => {
  for (const question of ['getChainId', 'getBlock', 'getTransactionCount', 'estimateGas']) {
    const node = new PaperNode();
    const answer = node.wallet[question];
    node.wallet[question] = (...asked) => (node.mined.size ? Promise.reject(new Error('limit exceeded')) : answer(...asked));
    const left = await send(trade(), ask, node.wallet).catch((error) => error);
    assert.ok(left instanceof StepsLeft && /step 2 was not sent: limit exceeded/.test(left.message), `${question}: ${left}`);
    assert.deepEqual([left.receipts.length, left.sent.length], [1, 1]);
    node.wallet[question] = answer;
    await send(trade(), ask, node.wallet, { sent: left.sent });
    assert.deepEqual([steps(node), new Set(node.sent).size], [BOTH, 2], question);
  }
});

test('a nonce that another transaction has used leaves the trade open at once', async () => {
  const node = new PaperNode();
  node.onSend = (raw) => {
    if (node.mined.size) throw refusal('nonce too low');
    node.mined.set('0x' + 'ee'.repeat(32), raw);
    throw refusal('nonce too low');
  };
  await assert.rejects(send(trade(), ask, node.wallet), (error) => error instanceof SendUncertain && /another one/.test(error.message));
  assert.equal(node.sent.length, 1);
});

test('bytes that are no step of this build are not sent, nor by a wallet that signs elsewhere', async () => {
  const node = new PaperNode();
  const signed = [];
  await send(trade(), ask, node.wallet, { onSigned: (step) => void signed.push(step) });
  const [approval, swap] = signed;
  const fresh = new PaperNode();
  for (const sent of [[swap], [swap, approval], [approval, swap, swap], [{ ...approval, nonce: 41 }], [{ ...approval, hash: swap.hash }], [{ ...approval, raw: '0x02' }]]) {
    await assert.rejects(send(trade(), ask, fresh.wallet, { sent }), BuildRefused);
  }
  await assert.rejects(send(build(), ASK, new PaperWallet(), { sent: [approval] }), BuildRefused);
  assert.deepEqual(fresh.sent, []);
});

test('an account that cannot pay for the gas signs nothing', async () => {
  const node = Object.assign(new PaperNode(), { held: 10n });
  await assert.rejects(send(trade(), ask, node.wallet, { onSigned: () => assert.fail('signed') }), (error) => error instanceof BuildRefused && /holds 10 wei/.test(error.message));
  const bare = Object.assign(new PaperWallet(), { account: { address: ASK.recipient, type: 'local' } });
  await assert.rejects(send(build(), ASK, bare), /public actions/);
  assert.deepEqual([node.sent, bare.sent], [[], []]);
});
