import assert from 'node:assert/strict';
import test from 'node:test';
import { Client, PaymentRequired, SpendingLimit, UpstreamError, NoLiquidity } from 'tickyard';
import { Payer } from 'tickyard/pay';
import { challenge, paid, OTHER_SIGNER, payment, quote, RECEIPT, SIGNER, USDC } from './money.mjs';
import { failure, stand } from './stand.mjs';

test('a call is paid, and its receipt kept', async (t) => {
  const { url, asked } = await stand(t, challenge(USDC), paid);
  const shown = [];
  const payer = new Payer(SIGNER, { limitUsd: '0.05', confirm: (offer) => void shown.push(offer) });
  await quote(new Client(url, { payer }));
  assert.ok(asked.every((each) => each.url.startsWith('/v1/x402/quote?')));
  const sent = JSON.parse(Buffer.from(payment(asked[1]), 'base64'));
  assert.deepEqual([sent.accepted.amount, sent.payload.authorization.to], ['10000', USDC.payTo]);
  assert.deepEqual([payer.spentUsd, payer.leftUsd, payer.lastReceipt], ['0.010000', '0.040000', RECEIPT]);
  const { network, asset, payTo, maxTimeoutSeconds } = USDC;
  assert.deepEqual(shown, [{ network, asset, payTo, maxTimeoutSeconds, amountUsd: '0.010000', resource: 'http://x/v1/x402/quote' }]);
  // The name that opens the answer to its payer, wherever they ask from.
  assert.match(sent.extensions['payment-identifier'].info.id, /^[0-9a-f]{32}$/);
});

test('nothing is signed beyond the limit', async (t) => {
  const { url, asked } = await stand(t, challenge(USDC), paid, challenge(USDC));
  const client = new Client(url, { payer: new Payer(SIGNER, { limitUsd: '0.019999' }) });
  await quote(client);
  await assert.rejects(quote(client), SpendingLimit);
  assert.equal(asked.filter(payment).length, 1);
});

test('an uncertain payment is carried again, and not a new one signed', async (t) => {
  const { url, asked } = await stand(t, challenge(USDC), failure(502, 'upstream_error'), 'hang up', paid);
  const payer = new Payer(SIGNER, { limitUsd: '0.05' });
  const client = new Client(url, { payer, retries: 0 });
  await assert.rejects(quote(client), UpstreamError);
  await assert.rejects(quote(client), /did not answer/);
  await quote(client);
  assert.equal(new Set(asked.map(payment).filter(Boolean)).size, 1);
  assert.equal(payer.spentUsd, '0.010000');
});

test('an uncertain payment pays for no other request', async (t) => {
  const { url, asked } = await stand(t, challenge(USDC), failure(502, 'upstream_error'), challenge(USDC), paid);
  const client = new Client(url, { payer: new Payer(SIGNER, { limitUsd: '0.05' }), retries: 0 });
  await assert.rejects(quote(client), UpstreamError);
  await quote(client, '200');
  assert.equal(new Set(asked.map(payment).filter(Boolean)).size, 2);
});

test('a payment that was not taken pays for the next call on the same terms', async (t) => {
  const { url, asked } = await stand(t, challenge(USDC), failure(422, 'no_liquidity'), challenge(USDC), paid);
  const payer = new Payer(SIGNER, { limitUsd: '0.01' });
  const client = new Client(url, { payer });
  await assert.rejects(quote(client), NoLiquidity);
  assert.equal(payer.spentUsd, '0.000000');
  await quote(client, '200');
  assert.equal(new Set(asked.map(payment).filter(Boolean)).size, 1);
  assert.equal(payer.spentUsd, '0.010000');
});

for (const [what, answer] of [
  ['a firewall\'s page', { status: 403, body: '<html>blocked</html>' }],
  ['a gateway\'s error', { status: 404, body: { message: 'no such place' } }],
  ['a bare 402', { status: 402, body: '<html>buy a day of wifi</html>' }],
  ['an answer without a receipt', { body: { symbol: 'AAPL' } }],
]) {
  test(`${what} is not the service's word: the payment stays with its request`, async (t) => {
    const { url, asked } = await stand(t, challenge(USDC), answer, answer, paid);
    let now = Date.now();
    const payer = new Payer(SIGNER, { limitUsd: '0.05', now: () => now });
    const client = new Client(url, { payer, retries: 0 });
    await assert.rejects(quote(client));
    now += 400_000;
    await assert.rejects(quote(client));
    await quote(client);
    assert.deepEqual(asked.map(payment).map(Boolean), [false, true, true, true]);
    assert.equal(new Set(asked.map(payment).filter(Boolean)).size, 1);
    assert.equal(payer.spentUsd, '0.010000');
  });
}

for (const [what, offer] of [
  ['another coin', { ...USDC, asset: `0x${'33'.repeat(20)}` }],
  ['another chain', { ...USDC, network: 'eip155:1' }],
  ['another scheme', { ...USDC, scheme: 'upto' }],
  ['a negative amount', { ...USDC, amount: '-1' }],
  ['no amount', { ...USDC, amount: '0' }],
  ['a time limit of years', { ...USDC, maxTimeoutSeconds: 1e9 }],
  ['a time limit in words', { ...USDC, maxTimeoutSeconds: '300' }],
  ['no time', { ...USDC, maxTimeoutSeconds: 0 }],
  ['nothing', null],
]) {
  test(`an offer of ${what} is not signed`, async (t) => {
    const { url, asked } = await stand(t, challenge(offer));
    await assert.rejects(quote(new Client(url, { payer: new Payer(SIGNER, { limitUsd: '9' }) })), PaymentRequired);
    assert.equal(asked.filter(payment).length, 0);
  });
}

test('what one wallet signed pays for no call of another', async (t) => {
  const { url, asked } = await stand(t, challenge(USDC), failure(422, 'no_liquidity'), challenge(USDC), paid);
  let kept = null;
  const store = { load: () => kept, save: (text) => void (kept = text) };
  const [client, other] = [SIGNER, OTHER_SIGNER].map(
    (signer) => new Client(url, { payer: new Payer(signer, { limitUsd: '0.05', store }) }),
  );
  await assert.rejects(quote(client), NoLiquidity);
  await quote(other, '200');
  const payers = asked.filter(payment).map((each) => JSON.parse(Buffer.from(payment(each), 'base64')).payload.authorization.from);
  assert.deepEqual(payers, [SIGNER.address, OTHER_SIGNER.address]);
});

test('a person who says no has paid nothing', async (t) => {
  const { url } = await stand(t, challenge(USDC));
  const payer = new Payer(SIGNER, { limitUsd: '9', confirm: () => Promise.reject(new Error('no')) });
  await assert.rejects(quote(new Client(url, { payer })), /no/);
  assert.equal(payer.leftUsd, '9.000000');
});
