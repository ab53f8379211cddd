// A sandbox's clock may be ahead of the wall: what is signed for its chain goes by its clock.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Client, PaymentRequired } from 'tickyard';
import { Payer } from 'tickyard/pay';
import { challenge, offering, paid, payment, quote, SIGNER, USDC, USDG } from './money.mjs';
import { stand } from './stand.mjs';

for (const [network, offer, aheadS, movedS] of [
  ['4663', USDG, 7200, 7200],
  ['4663', USDG, () => Promise.resolve(7200), 7200],
  ['4663', USDG, -7200, 0],
  ['8453', USDC, 7200, 0],
]) {
  test(`on ${network} a clock that is ahead by ${aheadS} moves what is signed by ${movedS} s`, async (t) => {
    const { url, asked } = await stand(t, challenge(offer), paid);
    await quote(new Client(url, { payer: new Payer(SIGNER, { limitUsd: '0.05', aheadS }) }));
    const { accepted, payload } = JSON.parse(Buffer.from(payment(asked[1]), 'base64'));
    const deadline = Number(payload.permit2Authorization?.deadline ?? payload.authorization.validBefore);
    const wanted = Date.now() / 1000 + offer.maxTimeoutSeconds + movedS;
    assert.ok(Math.abs(deadline - wanted) < 10, `${deadline - wanted}`);
    assert.deepEqual(accepted, offer);
  });
}

test('a clock that cannot be read stops a payment before it is signed', async (t) => {
  const { url, asked } = await stand(t, challenge(USDG), paid);
  const payer = new Payer(SIGNER, { limitUsd: '0.05', aheadS: () => Promise.resolve(NaN) });
  await assert.rejects(quote(new Client(url, { payer })), TypeError);
  assert.deepEqual([asked.filter(payment).length, payer.leftUsd], [0, '0.050000']);
});

for (const [what, issuedAt, behindS] of [
  ['is ahead of the service\'s', () => new Date(Date.now() - 600_000).toISOString(), 600],
  ['is behind the service\'s', () => new Date(Date.now() + 600_000).toISOString(), 0],
  ['is a month ahead', () => new Date(Date.now() - 30 * 86_400_000).toISOString(), 86_400],
  ['cannot be compared', () => 'yesterday', 0],
]) {
  test(`a clock that ${what} ends no payment before its time`, async (t) => {
    const offered = offering({ 'sign-in-with-x': { info: { issuedAt: issuedAt() } } }, USDC);
    const { url, asked } = await stand(t, offered, offered, offered, offered, offered, paid);
    let now = Date.now();
    const payer = new Payer(SIGNER, { limitUsd: '0.05', now: () => now });
    const client = new Client(url, { payer, retries: 0 });
    await assert.rejects(quote(client), PaymentRequired);
    // By the service's clock it has ten seconds to go.
    now += (behindS + 350) * 1000;
    await assert.rejects(quote(client), PaymentRequired);
    now += 15_000;
    await quote(client);
    const sent = asked.map(payment);
    assert.deepEqual(sent.map(Boolean), [false, true, true, true, false, true]);
    assert.equal(new Set(sent.slice(1, 4)).size, 1);
    assert.notEqual(sent[5], sent[1]);
  });
}
