import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import test from 'node:test';
import * as tickyard from 'tickyard';
import { failure, stand } from './stand.mjs';

const { Client, verifyWebhook } = tickyard;
const PRICE = { symbol: 'AAPL', token: { mid: '371.615' } };

test('an answer comes back as it was sent', async (t) => {
  const { url, asked } = await stand(t, { body: PRICE });
  assert.deepEqual(await new Client(`${url}/`).getPrice({ symbol: 'BRK/B ü' }), PRICE);
  assert.equal(asked[0].url, '/v1/prices/BRK%2FB%20%C3%BC');
});

for (const symbol of ['.', '..']) {
  test(`${symbol} is no value in a path: it would ask for another one`, async (t) => {
    const { url, asked } = await stand(t, { body: {} });
    const isRefused = (error) => error instanceof tickyard.TickyardError && /symbol/.test(error.message);
    await assert.rejects(new Client(url).getStats({ symbol }), isRefused);
    await assert.rejects(new Client(url).getPrice({ symbol }), isRefused);
    assert.deepEqual(asked, []);
  });
}

test('what is left out is not sent, and a body is JSON', async (t) => {
  const { url, asked } = await stand(t, { body: {} });
  const client = new Client(url);
  await client.getQuote({ symbol: 'AAPL', side: 'buy', amount: '100', denom: undefined });
  await client.buildTrade({ symbol: 'AAPL', side: 'buy', amount: '1', recipient: '0x1' });
  assert.equal(asked[0].url, '/v1/quote?symbol=AAPL&side=buy&amount=100');
  assert.deepEqual(JSON.parse(asked[1].body), { symbol: 'AAPL', side: 'buy', amount: '1', recipient: '0x1' });
  assert.equal(asked[1].headers['content-type'], 'application/json');
});

test('a secret never stands in an address', async (t) => {
  const { url, asked } = await stand(t, { body: {} });
  await new Client(url).getAlert({ id: 'a1', secret: 'top secret' });
  assert.equal(asked[0].url, '/v1/alerts/a1');
  assert.equal(asked[0].headers['x-svc-alert-secret'], 'top secret');
});

for (const [status, code, kind] of [
  [400, 'bad_request', 'BadRequest'],
  [404, 'not_found', 'NotFound'],
  [405, 'bad_request', 'BadRequest'],
  [422, 'no_liquidity', 'NoLiquidity'],
  [429, 'bad_request', 'TooManyRequests'],
  [500, 'internal_error', 'InternalError'],
  [502, 'upstream_error', 'UpstreamError'],
]) {
  test(`${status} ${code} is ${kind}`, async (t) => {
    const { url } = await stand(t, failure(status, code, { 'retry-after': '99' }));
    await assert.rejects(new Client(url, { retries: 0 }).getPrice({ symbol: 'A' }), (error) => {
      assert.ok(error instanceof tickyard[kind] && error instanceof tickyard.ServiceError);
      assert.deepEqual([error.name, error.code, error.status, error.requestId, error.retryAfterS], [kind, code, status, 'r-1', 99]);
      assert.equal(error.message, `${code} it is`);
      return true;
    });
  });
}

test('a read is tried again after a failure that may pass', async (t) => {
  const { url, asked } = await stand(t, 'hang up', failure(502, 'upstream_error'), { body: PRICE });
  assert.deepEqual(await new Client(url).getPrice({ symbol: 'AAPL' }), PRICE);
  assert.equal(asked.length, 3);
});

test('a wrong request is not tried again', async (t) => {
  const { url, asked } = await stand(t, failure(400, 'bad_request'));
  await assert.rejects(new Client(url).getPrice({ symbol: 'A' }), tickyard.BadRequest);
  assert.equal(asked.length, 1);
});

for (const [name, call] of [
  ['createAlert', (c) => c.createAlert({ symbol: 'A', condition: 'above', price: 1, webhookUrl: 'https://x.example' })],
  ['cancelAlert', (c) => c.cancelAlert({ id: 'a', secret: 's' })],
  ['claimEarn', (c) => c.claimEarn({ address: '0x1', epoch: 1, signature: '0x' })],
]) {
  test(`${name} changes something and is sent once, whatever happens`, async (t) => {
    for (const answer of ['hang up', failure(502, 'upstream_error'), failure(429, 'bad_request')]) {
      const { url, asked } = await stand(t, answer);
      await assert.rejects(call(new Client(url)), tickyard.TickyardError);
      assert.equal(asked.length, 1);
    }
  });
}

test('a build changes nothing and is tried again', async (t) => {
  const { url, asked } = await stand(t, failure(502, 'upstream_error'), { body: {} });
  await new Client(url).buildTrade({ symbol: 'A', side: 'buy', amount: '1', recipient: '0x1' });
  assert.equal(asked.length, 2);
});

test('a wait that is longer than ten seconds is left to the caller', async (t) => {
  const { url, asked } = await stand(t, failure(429, 'bad_request', { 'retry-after': '11' }));
  await assert.rejects(new Client(url).getPrice({ symbol: 'A' }), (error) => error.retryAfterS === 11);
  assert.equal(asked.length, 1);
});

test('nobody there is Unreachable, and so is a page of somebody else', async (t) => {
  await assert.rejects(new Client('http://127.0.0.1:9', { retries: 0 }).getEarn(), tickyard.Unreachable);
  for (const answer of [{ body: '<html>', headers: { 'content-type': 'text/html' } }, { body: '{"cut' }, { status: 302, headers: { location: '/x' }, body: '' }]) {
    const { url } = await stand(t, answer);
    await assert.rejects(new Client(url, { retries: 0 }).getEarn(), tickyard.Unreachable);
  }
});

test('an answer that does not come is given up', async (t) => {
  const { url } = await stand(t, () => {});
  await assert.rejects(new Client(url, { retries: 0, timeoutMs: 50 }).getEarn(), tickyard.Unreachable);
  const giveUp = new AbortController();
  const call = new Client(url).getEarn({ signal: giveUp.signal });
  giveUp.abort(new Error('enough'));
  await assert.rejects(call, /enough/);
});

test('a challenge without a payer is PaymentRequired with its reason', async (t) => {
  const { url } = await stand(t, { status: 402, body: { x402Version: 2, error: 'no payment', accepts: [] } });
  await assert.rejects(new Client(url).getEarn(), (error) => error instanceof tickyard.PaymentRequired && error.message === 'no payment');
});

// ---- the stream

const events = (text) => (_, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(text);
};

test('the stream is read frame by frame, resumed after its last id, and not told twice', async (t) => {
  const { url, asked } = await stand(
    t,
    events('event: snapshot\ndata: {"n":1}\n\n: heartbeat\n\nid: 7\r\nevent: sample\r\ndata: {"n":\r\ndata: 2}\r\n\r\nid: 8\nevent: sample\ndata: {"cut'),
    events('id: 8\nevent: sample\ndata: {"n":3}\n\n'),
    () => {},
  );
  const stop = new AbortController();
  const states = [];
  const seen = [];
  const options = { symbols: ['AAPL', 'MSFT'], events: ['sample'], signal: stop.signal, onState: (state) => states.push(state) };
  for await (const event of new Client(url).stream(options)) {
    seen.push(event);
    if (event.id === '8') stop.abort();
  }
  assert.deepEqual(seen, [
    { event: 'snapshot', data: { n: 1 } },
    { event: 'sample', data: { n: 2 }, id: '7' },
    { event: 'sample', data: { n: 3 }, id: '8' },
  ]);
  assert.equal(asked[0].url, '/v1/stream?symbols=AAPL%2CMSFT&events=sample');
  assert.equal(asked[0].headers['last-event-id'], undefined);
  assert.equal(asked[1].headers['last-event-id'], '7');
  assert.deepEqual(states.slice(0, 2), ['open', 'lost']);
});

test('an event that came damaged is asked for once more', async (t) => {
  const { url, asked } = await stand(t, events('id: 7\ndata: 1\n\nid: 8\ndata: {"n":\n\n'), events('id: 8\ndata: 2\n\n'), () => {});
  const stream = new Client(url).stream();
  assert.equal((await stream.next()).value.data, 1);
  assert.deepEqual((await stream.next()).value, { event: 'message', data: 2, id: '8' });
  assert.equal(asked[1].headers['last-event-id'], '7');
  await stream.return();
});

test('a page of a gateway is no open stream', async (t) => {
  const page = (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>\n\ndata: 7\n\n</html>');
  const { url } = await stand(t, page, events('data: 1\n\n'), () => {});
  const states = [];
  const stream = new Client(url).stream({ onState: (state) => states.push(state) });
  assert.equal((await stream.next()).value.data, 1);
  assert.deepEqual(states, ['lost', 'open']);
  await stream.return();
});

test('a service without a stream says so at once', async (t) => {
  const { url, asked } = await stand(t, failure(404, 'not_found'));
  await assert.rejects(new Client(url).stream().next(), tickyard.NotFound);
  assert.equal(asked.length, 1);
});

test('a stream that drips and never brings anything whole is lost', { timeout: 30_000 }, async (t) => {
  const drip = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const timer = setInterval(() => response.write('x'), 10);
    response.on('close', () => clearInterval(timer));
  };
  const { url } = await stand(t, drip, events('data: 1\n\n'), () => {});
  const states = [];
  const stream = new Client(url).stream({ quietMs: 200, onState: (state) => states.push(state) });
  assert.deepEqual((await stream.next()).value, { event: 'message', data: 1 });
  assert.deepEqual(states, ['open', 'lost', 'open']);
  await stream.return();
});

test('a stream that is down for a moment is asked again', async (t) => {
  const { url } = await stand(t, 'hang up', failure(503, 'upstream_error'), events('data: 1\n\n'), () => {});
  const stream = new Client(url).stream();
  assert.deepEqual((await stream.next()).value, { event: 'message', data: 1 });
  await stream.return();
});

for (const [what, answer] of [['without data', 'id: 1\n\n: heartbeat\n\n'], ['of broken JSON', 'data: {"n":\n\n']]) {
  test(`a stream that brings only frames ${what} is asked again ever more seldom`, { timeout: 30_000 }, async (t) => {
    let fifth;
    const asked = [];
    const reached = new Promise((resolve) => (fifth = resolve));
    const { url } = await stand(t, (request, response) => {
      if (asked.push(performance.now()) === 5) fifth();
      events(answer)(request, response);
    });
    const stop = new AbortController();
    t.after(() => stop.abort());
    void new Client(url).stream({ signal: stop.signal }).next();
    await reached;
    // Half of 250, 500, 1000 and 2000 ms at least; four times the first pause would be 1500 at most.
    assert.ok(asked[4] - asked[0] > 1800, `${asked[4] - asked[0]} ms`);
  });
}

for (const [what, far] of [['of its own', events('retry: 99999999999\n\n')], ['of a refusal', (_, response) => response.writeHead(503, { 'retry-after': '99999999999' }).end()]]) {
  test(`a pause ${what} that no timer can hold is not none`, async (t) => {
    const { url, asked } = await stand(t, (request, response) => (request.url === '/v1/stream' ? far(request, response) : response.end('{}')));
    const stop = new AbortController();
    t.after(() => stop.abort());
    const client = new Client(url);
    const lost = new Promise((resolve) => client.stream({ signal: stop.signal, onState: (state) => state === 'lost' && resolve() }).next());
    await lost;
    for (let trip = 0; trip < 20; trip++) await client.getEarn();
    assert.equal(asked.filter((each) => each.url === '/v1/stream').length, 1);
  });
}

test('a frame split anywhere, in the middle of a letter too, is one frame', async (t) => {
  const bytes = Buffer.from('id: 1\r\nevent: action\r\ndata: {"name":"Ökonomie €"}\r\n\r\n');
  for (let cut = 1; cut < bytes.length; cut += 3) {
    const { url } = await stand(t, async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(bytes.subarray(0, cut));
      await new Promise((resolve) => setImmediate(resolve));
      response.write(bytes.subarray(cut));
    });
    const stream = new Client(url).stream();
    assert.deepEqual((await stream.next()).value, { event: 'action', data: { name: 'Ökonomie €' }, id: '1' });
    await stream.return();
  }
});

// ---- webhooks

const KEY = Buffer.alloc(32, 7);
const SECRET = KEY.toString('base64url');
const BODY = JSON.stringify({ type: 'price_alert', id: 'a1', symbol: 'AAPL', condition: 'above', threshold: 1, price: 2, source: 's', firedAt: 'z' });

function signed(body = BODY, at = 1000, id = 'a1', key = KEY) {
  const signature = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64');
  return { 'Webhook-Id': id, 'webhook-timestamp': String(at), 'webhook-signature': `v1,bm9uZQ== v1,${signature}`, 'x-svc-alert-secret': SECRET };
}

test('a genuine webhook gives its event', async () => {
  const bytes = new TextEncoder().encode(`${BODY} `).subarray(0, -1);
  for (const body of [BODY, bytes, Buffer.from(BODY), bytes.slice().buffer, new DataView(bytes.buffer, 0, bytes.length)]) {
    assert.equal((await verifyWebhook(SECRET, signed(), body, 1100)).price, 2);
  }
  assert.equal((await verifyWebhook(SECRET, new Headers(signed()), BODY, 1100)).id, 'a1');
});

for (const [what, headers, body, now] of [
  ['an old one', signed(), BODY, 1301],
  ['one from the future', signed(), BODY, 699],
  ['one with another key', signed(BODY, 1000, 'a1', Buffer.alloc(32, 8)), BODY, 1000],
  ['one whose body was changed', signed(), BODY.replace('2', '3'), 1000],
  ["one with another alert's secret", { ...signed(), 'x-svc-alert-secret': 'other' }, BODY, 1000],
  ['one without a signature', { ...signed(), 'webhook-signature': '' }, BODY, 1000],
  ['one with a broken time', { ...signed(), 'webhook-timestamp': '1e3' }, BODY, 1000],
  ['one without headers', {}, BODY, 1000],
  ['one of another alert', signed(BODY, 1000, 'a2'), BODY, 1000],
  ['one that is no alert', signed('[]'), '[]', 1000],
  ['one whose age cannot be told', signed(), BODY, NaN],
]) {
  test(`${what} is refused`, () => assert.rejects(verifyWebhook(SECRET, headers, body, now), tickyard.WebhookRefused));
}

for (const [what, body] of [['parsed', JSON.parse(BODY)], ['null', null], ['missing', undefined], ['a number', 7], ['a list', [...Buffer.from(BODY)]]]) {
  test(`a body that is ${what} is refused in words that say what is wanted`, () =>
    assert.rejects(verifyWebhook(SECRET, signed(), body, 1000), (error) => error instanceof tickyard.WebhookRefused && /raw body.*not the parsed one/.test(error.message)));
}
