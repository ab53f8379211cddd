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

const HOUR_MS = 3_600_000;

for (const [what, leadMs, leapMs, lateMs] of [
  ["is ahead of the service's", 600_000, 0, 600_000],
  ["is behind the service's", -600_000, 0, 0],
  ['is a month ahead', 720 * HOUR_MS, 0, 24 * HOUR_MS],
  ['leaps an hour ahead', 0, HOUR_MS, HOUR_MS],
  ['cannot be compared', NaN, 0, 0],
]) {
  test(`a clock that ${what} ends no payment before its time`, async (t) => {
    let now = Date.now();
    let lead = leadMs;
    const offered = (_, response) => {
      const issuedAt = Number.isNaN(lead) ? 'yesterday' : new Date(now - lead).toISOString();
      const { status, headers, body } = offering({ 'sign-in-with-x': { info: { issuedAt } } }, USDC);
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
    };
    const { url, asked } = await stand(t, offered, offered, offered, offered, offered, paid);
    const payer = new Payer(SIGNER, { limitUsd: '0.05', now: () => now });
    const client = new Client(url, { payer, retries: 0 });
    await assert.rejects(quote(client), PaymentRequired);
    now += leapMs;
    lead += leapMs;
    // By the service's clock it has ten seconds to go.
    now += lateMs - leapMs + 350_000;
    await assert.rejects(quote(client), PaymentRequired);
    now += 15_000;
    await quote(client);
    const sent = asked.map(payment);
    assert.deepEqual(sent.map(Boolean), [false, true, true, true, false, true]);
    assert.equal(new Set(sent.slice(1, 4)).size, 1);
    assert.notEqual(sent[5], sent[1]);
  });
}
