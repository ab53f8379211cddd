import assert from 'node:assert/strict';
import test from 'node:test';
import { BuildRefused, check, decode, encode, send } from 'tickyard/trade';
import { approve, ASK, build, ME, other, PaperWallet, ROUTER, step, swapData, TOKEN, USDG } from './paper.mjs';

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

test('a check that is told the time refuses such a deadline as well', () => {
  assert.equal(check(build(), { ...ASK, limit: '0.995' }, 1_799_999_500).length, 2);
  for (const now of [1_800_000_000, 1_799_913_599]) assert.throws(() => check(build(), ASK, now), /deadline/);
});
