import assert from 'node:assert/strict';
import test from 'node:test';
import { TickyardError } from 'tickyard';
import { eachOnce, movedFor, wholeReceipt } from 'tickyard/trade';
import { ME, other, TOKEN, USDG } from './paper.mjs';

test('an event that only looks like a transfer moved nothing', () => {
  const topics = ['0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef', `0x${'0'.repeat(24)}${ME.slice(2)}`, `0x${'0'.repeat(64)}`];
  assert.deepEqual(movedFor(ME, [{ logs: [{ address: USDG, topics, data: '0x' }] }]), {});
});

test('what moved is the sum of the transfers of the account', () => {
  const topic = (address) => '0x' + address.slice(2).padStart(64, '0');
  const transfer = (token, from, to, amount) => ({ address: token, topics: ['0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef', topic(from), topic(to)], data: '0x' + amount.toString(16) });
  const logs = [transfer(USDG, ME, other, 100n), transfer(TOKEN, other, ME, 7n), transfer(TOKEN, other, other, 9n), { address: TOKEN, topics: ['0x00'], data: '0x' }];
  assert.deepEqual(movedFor(ME.toUpperCase().replace('0X', '0x'), [{ logs }]), { [USDG]: -100n, [TOKEN]: 7n });
  const loud = logs.map((log) => ({ ...log, topics: log.topics.map((each) => `0x${each.slice(2).toUpperCase()}`) }));
  assert.deepEqual(movedFor(ME, [{ logs: loud }]), { [USDG]: -100n, [TOKEN]: 7n });
});

for (const [what, holes] of [
  ['nothing', { transactionHash: undefined, status: undefined, logs: undefined }],
  ['no outcome', { status: null }],
  ['of no transaction', { transactionHash: null }],
  ['no logs', { logs: undefined }],
  ['a log of nothing', { logs: [null] }],
  ['a log without topics', { logs: [{ address: USDG, data: '0x' }] }],
  ['topics that are none', { logs: [{ address: USDG, data: '0x', topics: [null] }] }],
]) {
  test(`a receipt that says ${what} is not whole, and that is told in words`, () => {
    const whole = { status: 'success', transactionHash: '0x1', logs: [{ address: USDG, data: '0x', topics: [] }] };
    assert.equal(wholeReceipt(whole), whole);
    assert.throws(() => wholeReceipt({ ...whole, ...holes }), (error) => error instanceof TickyardError && /is not whole/.test(error.message));
  });
}

const topic = (address) => '0x' + address.slice(2).padStart(64, '0');
const transfer = (token, from, to, amount, more = {}) => ({ address: token, topics: ['0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef', topic(from), topic(to)], data: '0x' + amount.toString(16), ...more });
const mined = (logs, transactionHash = '0xAB') => ({ status: 'success', transactionHash, blockNumber: 1n, gasUsed: 1n, logs });
const paid = transfer(USDG, ME, other, 100n);
const got = transfer(TOKEN, other, ME, 7n);
const at = (log, logIndex) => ({ ...log, logIndex });

for (const [what, receipts, moved] of [
  ['that comes once for each call', [mined([paid, got]), mined([paid, got], '0xab')], { [USDG]: -100n, [TOKEN]: 7n }],
  ['of which each receipt has the part of its call', [mined([paid]), mined([got])], { [USDG]: -100n, [TOKEN]: 7n }],
  ['of which one receipt has all', [mined([at(paid, 3)]), mined([at(paid, '0x3'), at(got, '0x4')])], { [USDG]: -100n, [TOKEN]: 7n }],
  ['that moved the same twice, by their places', [mined([at(paid, 3)]), mined([at(paid, 4)])], { [USDG]: -200n }],
  ['that moved the same twice, in one receipt', [mined([paid, paid]), mined([paid, paid])], { [USDG]: -200n }],
  ['and another one', [mined([paid]), mined([paid], '0xcd')], { [USDG]: -200n }],
]) {
  test(`a transaction ${what} counts once`, () => {
    assert.deepEqual(movedFor(ME, receipts), moved);
    const hashes = eachOnce(receipts).map(({ transactionHash }) => transactionHash.toLowerCase());
    assert.deepEqual(hashes, [...new Set(hashes)]);
  });
}
