// Payments whose end is not known: they come first, they pay for nothing else, and new money comes last.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Client, NoLiquidity, PaymentRequired, Unreachable, UpstreamError } from 'tickyard';
import { Payer } from 'tickyard/pay';
import { challenge, paid, payment, quote, SIGNER, USDC } from './money.mjs';
import { failure, stand } from './stand.mjs';

const DOWN = failure(502, 'upstream_error');
const DRY = failure(422, 'no_liquidity');
const presented = (asked) => asked.map(payment).filter(Boolean);
const different = (asked) => new Set(presented(asked)).size;

/** A payer, a client without retries, and a clock that the test moves. */
function buyer(url, options = {}) {
  const wall = { aheadMs: 0 };
  const payer = new Payer(SIGNER, { limitUsd: '0.05', now: () => Date.now() + wall.aheadMs, ...options });
  return { payer, wall, client: new Client(url, { payer, retries: 0 }) };
}

/** Text, somewhere. */
const shelf = (text = null) => {
  const mine = { text, load: () => Promise.resolve(mine.text), save: (now) => Promise.resolve(void (mine.text = now)) };
  return mine;
};

test('a payment that was refused is presented again, and not a new one signed', async (t) => {
  const { url, asked } = await stand(t, challenge(USDC), challenge(USDC), paid);
  const { client, payer } = buyer(url);
  await assert.rejects(quote(client), (error) => {
    assert.ok(error instanceof PaymentRequired);
    assert.match(error.message, /^payment required; .*repeat the call.* the same payment .*only after \d{4}-.*Z$/);
    return true;
  });
  assert.equal(payer.spentUsd, '0.010000');
  await quote(client);
  assert.deepEqual([asked.length, different(asked)], [3, 1]);
  assert.equal(payer.spentUsd, '0.010000');
});

test('new money is signed when the old payment has run out and was refused then', async (t) => {
  const { url, asked } = await stand(t, challenge(USDC), challenge(USDC), challenge(USDC), challenge(USDC), challenge(USDC), paid);
  const { client, payer, wall } = buyer(url);
  await assert.rejects(quote(client), PaymentRequired);
  // Past its deadline, but clocks and blocks differ.
  wall.aheadMs = 355_000;
  await assert.rejects(quote(client), PaymentRequired);
  assert.equal(different(asked), 1);
  wall.aheadMs = 361_000;
  await quote(client);
  assert.deepEqual(asked.map((each) => !!payment(each)), [false, true, true, true, false, true]);
  assert.equal(different(asked), 2);
  assert.deepEqual([payer.spentUsd, payer.leftUsd], ['0.010000', '0.030000']);
});

test('a payment that has run out is still presented before a new one', async (t) => {
  const { url, asked } = await stand(t, challenge(USDC), DOWN, paid);
  const { client, wall } = buyer(url);
  await assert.rejects(quote(client), UpstreamError);
  wall.aheadMs = 3_600_000;
  await quote(client);
  assert.deepEqual([asked.length, different(asked)], [3, 1]);
});

for (const [what, answer] of [
  ['a 402', challenge(USDC)],
  ['a 502', DOWN],
  ['a 500', failure(500, 'internal_error')],
  ['a 408', failure(408, 'bad_request')],
  ['a 425', failure(425, 'bad_request')],
  ['a cut connection', 'hang up'],
  ['an answer of somebody else', { body: '<html>', headers: { 'content-type': 'text/html' } }],
]) {
  test(`after ${what} a payment never pays for another request`, async (t) => {
    const { url, asked } = await stand(t, challenge(USDC), answer, DRY, challenge(USDC), paid);
    const { client, payer } = buyer(url);
    await assert.rejects(quote(client));
    await assert.rejects(quote(client), NoLiquidity);
    assert.equal(payer.spentUsd, '0.010000');
    await quote(client, '200');
    assert.equal(different(asked), 2);
    await quote(client);
    assert.deepEqual([different(asked), presented(asked).at(-1)], [2, presented(asked)[0]]);
  });
}

test('a doubt within the tries of one call counts', async (t) => {
  const { url, asked } = await stand(t, challenge(USDC), DOWN, DRY, challenge(USDC), paid);
  const payer = new Payer(SIGNER, { limitUsd: '0.05' });
  const client = new Client(url, { payer, retries: 1 });
  await assert.rejects(quote(client), NoLiquidity);
  await quote(client, '200');
  assert.equal(different(asked), 2);
});

test('too many requests says nothing about a payment', async (t) => {
  const { url, asked } = await stand(t, challenge(USDC), failure(429, 'bad_request'), DRY, challenge(USDC), paid);
  const { client } = buyer(url);
  await assert.rejects(quote(client));
  await assert.rejects(quote(client), NoLiquidity);
  await quote(client, '200');
  assert.deepEqual([asked.length, different(asked)], [5, 1]);
});

test('equal calls at the same time: every payment stays known', async (t) => {
  let isUp = false;
  const { url, asked } = await stand(t, (request, response) => {
    const { status = 200, headers, body } = !payment(request) ? challenge(USDC) : isUp ? paid : DOWN;
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  });
  const { client, payer } = buyer(url);
  const ends = await Promise.allSettled([quote(client), quote(client), quote(client)]);
  assert.ok(ends.every(({ reason }) => reason instanceof UpstreamError));
  const signed = new Set(presented(asked));
  isUp = true;
  for (let call = 0; call < signed.size; call++) await quote(client);
  assert.deepEqual(new Set(presented(asked).slice(-signed.size)), signed);
  assert.equal(payer.leftUsd, `0.0${5 - signed.size}0000`);
});

test('when one of several is refused the next is presented', async (t) => {
  let good;
  const { url, asked } = await stand(t, (request, response) => {
    const mine = payment(request);
    const { status = 200, headers, body } = !mine ? challenge(USDC) : good === undefined ? DOWN : mine === good ? paid : challenge(USDC);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  });
  const { client } = buyer(url);
  await Promise.allSettled([quote(client), quote(client)]);
  const signed = [...new Set(presented(asked))];
  assert.equal(signed.length, 2);
  good = signed[1];
  await quote(client);
  await assert.rejects(quote(client), PaymentRequired);
  assert.equal(different(asked), 2);
});

test('a payment that another call still presents is not spare', async (t) => {
  let free;
  const held = new Promise((resolve) => (free = resolve));
  let arrived;
  const first = new Promise((resolve) => (arrived = resolve));
  let count = 0;
  const { url, asked } = await stand(t, async (request, response) => {
    const number = payment(request) ? ++count : 0;
    if (number === 1) (arrived(), await held);
    const { status = 200, headers, body } = number === 0 ? challenge(USDC) : number === 2 ? DRY : paid;
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  });
  const { client, payer } = buyer(url);
  const slow = quote(client);
  await first;
  await assert.rejects(quote(client), NoLiquidity);
  await quote(client, '200');
  free();
  await slow;
  assert.equal(different(asked), 2);
  assert.equal(payer.spentUsd, '0.020000');
});

test('a payment that another page presents meanwhile is not spare', async (t) => {
  const gates = [];
  const answers = [DRY, DOWN, paid, paid];
  const { url, asked } = await stand(t, async (request, response) => {
    const number = payment(request) ? gates.length : -1;
    if (number >= 0) await new Promise((go) => (gates.push(go), number > 1 && go()));
    const { status = 200, headers, body } = number < 0 ? challenge(USDC) : answers[number];
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  });
  const arrived = async (count) => {
    while (gates.length < count) await new Promise((go) => setTimeout(go, 5));
  };
  const store = shelf();
  const [one, other] = [buyer(url, { store }), buyer(url, { store })];
  const first = quote(one.client);
  await arrived(1);
  const second = quote(other.client);
  await arrived(2);
  gates[0]();
  await assert.rejects(first, NoLiquidity);
  gates[1]();
  await assert.rejects(second, UpstreamError);
  await quote(one.client, '200');
  await quote(other.client);
  const [mine, again, theirs, last] = presented(asked);
  assert.deepEqual([again, last], [mine, mine]);
  assert.notEqual(theirs, mine);
});

test('a payment in doubt is presented when the store is full', async (t) => {
  const { url, asked } = await stand(t, challenge(USDC), DOWN, paid);
  const store = shelf();
  await assert.rejects(quote(buyer(url, { store }).client), UpstreamError);
  await quote(buyer(url, { store: { load: store.load, save: () => Promise.reject(new Error('full')) } }).client);
  assert.deepEqual([asked.length, different(asked)], [3, 1]);
});

test('a payment in doubt is presented when the store was cleared meanwhile', async (t) => {
  const store = shelf();
  const { url, asked } = await stand(t, challenge(USDC), 'hang up', 'hang up', paid);
  await assert.rejects(quote(buyer(url, { store }).client), Unreachable);
  store.text = null;
  const { client } = buyer(url, { store });
  await assert.rejects(quote(client), Unreachable);
  assert.equal(JSON.parse(store.text).length, 1);
  store.text = null;
  await quote(client);
  assert.deepEqual([asked.length, different(asked), JSON.parse(store.text ?? '[]').length], [4, 1, 0]);
});

test('a payment that is kept for one service is not shown to another', async (t) => {
  const one = await stand(t, challenge(USDC), DOWN);
  const other = await stand(t, challenge(USDC), paid);
  const { client, payer } = buyer(one.url);
  await assert.rejects(quote(client), UpstreamError);
  await quote(new Client(other.url, { payer }));
  assert.notEqual(presented(one.asked)[0], presented(other.asked)[0]);
});

test('an answer that cannot be read leaves its payment', async (t) => {
  const { url, asked } = await stand(t, challenge(USDC), { body: 'welcome to this café', headers: { 'content-type': 'text/html' } }, paid);
  const { client } = buyer(url);
  await assert.rejects(quote(client), Unreachable);
  await quote(client);
  assert.deepEqual([asked.length, different(asked)], [3, 1]);
});

test('an answer is not lost because its receipt cannot be read', async (t) => {
  const { url } = await stand(t, challenge(USDC), { ...paid, headers: { 'payment-response': '%%%' } });
  const { client, payer } = buyer(url);
  assert.equal((await quote(client)).symbol, 'AAPL');
  assert.equal(payer.lastReceipt, null);
});

test('a restarted program presents what it had kept', async (t) => {
  const store = shelf();
  let isStoredFirst = false;
  const { url, asked } = await stand(
    t,
    challenge(USDC),
    (request) => {
      isStoredFirst = store.text.includes(payment(request));
      request.socket.destroy();
    },
    DRY,
    challenge(USDC),
    paid,
    paid,
    challenge(USDC),
    paid,
  );
  await assert.rejects(quote(buyer(url, { store }).client), Unreachable);
  assert.ok(isStoredFirst);
  const { client, payer } = buyer(url, { store });
  await assert.rejects(quote(client), NoLiquidity);
  assert.deepEqual([payer.spentUsd, payer.leftUsd], ['0.000000', '0.050000']);
  await quote(client, '200');
  await quote(client);
  assert.deepEqual([different(asked), payer.spentUsd, payer.leftUsd], [2, '0.020000', '0.040000']);
  assert.equal(JSON.parse(store.text).length, 0);
  await quote(buyer(url, { store }).client);
  assert.equal(different(asked), 3);
});

test('a restarted program that is refused after the deadline has spent nothing', async (t) => {
  const store = shelf();
  const { url } = await stand(t, challenge(USDC), 'hang up', challenge(USDC), challenge(USDC), paid);
  await assert.rejects(quote(buyer(url, { store }).client), Unreachable);
  const { client, payer, wall } = buyer(url, { store });
  wall.aheadMs = 361_000;
  await quote(client);
  assert.equal(payer.spentUsd, '0.010000');
});

test('two pages with one store know of each other', async (t) => {
  const store = shelf();
  const { url, asked } = await stand(t, challenge(USDC), paid, challenge(USDC), DOWN, challenge(USDC), DOWN, paid, paid);
  const [one, other] = [buyer(url, { store }).client, buyer(url, { store }).client];
  await quote(one);
  await assert.rejects(quote(other, '1'), UpstreamError);
  await assert.rejects(quote(one, '2'), UpstreamError);
  await quote(one, '1');
  await quote(other, '2');
  assert.deepEqual([asked.length, presented(asked).length, different(asked)], [8, 5, 3]);
});

test('two pages that write at the same moment forget nothing', async (t) => {
  const answer = (request) => (request.headers['payment-signature'] ? DOWN : challenge(USDC));
  const { url, asked } = await stand(t, (request, response) => {
    const { status, headers, body } = answer(request);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  });
  const store = shelf();
  let turn = Promise.resolve();
  const slow = {
    load: () => new Promise((told) => setTimeout(told, 20, store.text)),
    save: store.save,
    lock: (work) => (turn = turn.then(work, work)),
  };
  const pages = [1, 2, 3].map(() => buyer(url, { store: slow }).client);
  for (let time = 0; time < 2; time++) {
    await Promise.all(pages.map((page, n) => assert.rejects(quote(page, String(n + 1)), UpstreamError)));
  }
  assert.deepEqual([JSON.parse(store.text).length, different(asked)], [3, 3]);
});

for (const [what, store] of [
  ['cannot be read', { ...shelf(), load: () => Promise.reject(new Error('no such drawer')) }],
  ['holds something else', shelf('{"hello": 1}')],
  ['holds no text', shelf('hello')],
  ['cannot be written', { ...shelf(), save: () => Promise.reject(new Error('full')) }],
]) {
  test(`nothing is sent while the store ${what}`, async (t) => {
    const { url, asked } = await stand(t, challenge(USDC), paid);
    const { client, payer } = buyer(url, { store });
    await assert.rejects(quote(client), /drawer|payments|full/);
    assert.deepEqual([presented(asked).length, payer.leftUsd], [0, '0.050000']);
  });
}

test('an answer is not lost because the store is full by then', async (t) => {
  const store = shelf();
  const { url } = await stand(t, challenge(USDC), (_, response) => {
    store.save = () => Promise.reject(new Error('full'));
    response.writeHead(200, { 'content-type': 'application/json', ...paid.headers }).end(JSON.stringify(paid.body));
  });
  assert.equal((await quote(buyer(url, { store }).client)).symbol, 'AAPL');
});

test('what is answered is not presented again because the store is full by then', async (t) => {
  const store = shelf();
  const { save } = store;
  const full = () => Promise.reject(new Error('full'));
  const fill = (_, response) => {
    store.save = full;
    response.writeHead(200, { 'content-type': 'application/json', ...paid.headers }).end(JSON.stringify(paid.body));
  };
  const { url, asked } = await stand(t, challenge(USDC), DOWN, challenge(USDC), fill, challenge(USDC), paid, challenge(USDC), paid);
  const { client, payer } = buyer(url, { store });
  await assert.rejects(quote(client, '1'), UpstreamError);
  await quote(client, '2');
  // The service would give the old answer once more, and a day later still.
  await assert.rejects(quote(client, '2'), /full/);
  assert.equal(presented(asked).length, 2);
  // What is in doubt is presented all the same.
  await quote(client, '1');
  assert.deepEqual([presented(asked).length, different(asked)], [3, 2]);
  store.save = save;
  await quote(client, '2');
  assert.deepEqual([presented(asked).length, different(asked)], [4, 3]);
  assert.deepEqual([payer.spentUsd, store.text], ['0.030000', '[]']);
});

test('what nobody asks for any more leaves the store', async (t) => {
  const store = shelf();
  const { url } = await stand(t, challenge(USDC), DRY, challenge(USDC), DOWN, challenge(USDC), DOWN);
  const { client, wall } = buyer(url, { store });
  await assert.rejects(quote(client, '1'), NoLiquidity);
  wall.aheadMs = 400_000;
  await assert.rejects(quote(client, '2'), UpstreamError);
  // The spare one has run out; the other may have been paid for, and its answer is kept for a day.
  assert.equal(JSON.parse(store.text).length, 1);
  wall.aheadMs = 3 * 86_400_000;
  await assert.rejects(quote(client, '3'), UpstreamError);
  assert.equal(JSON.parse(store.text).length, 1);
});
