// Against a running sandbox (TICKYARD_BASE_URL): the real service, a real chain, real payments.
import assert from 'node:assert/strict';
import test from 'node:test';
import { createWalletClient, defineChain, http, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { Client, NoLiquidity, NotFound, PaymentRequired, verifyWebhook } from 'tickyard';
import { Payer } from 'tickyard/pay';
import { Sandbox } from 'tickyard/sandbox';
import { check, send } from 'tickyard/trade';

const base = process.env.TICKYARD_BASE_URL;
const client = new Client(base);
const sandbox = new Sandbox(base);
const world = await sandbox.showSandbox();
const account = privateKeyToAccount(world.wallets[0].privateKey);
const chain = defineChain({ id: 4663, name: 'sandbox', nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 }, rpcUrls: { default: { http: [world.rpcUrl] } } });
const wallet = createWalletClient({ account, chain, transport: http() }).extend(publicActions);

for (const network of ['eip155:4663', 'eip155:8453']) {
  test(`a quote is paid on ${network} and found again by its receipt`, async () => {
    const payer = new Payer(account, { limitUsd: '0.01', network });
    const quote = await new Client(base, { payer }).getQuote({ symbol: 'AAPL', side: 'buy', amount: '100' });
    assert.equal(quote.usdAmount, '100.000000');
    const found = await client.getPayment({ transaction: payer.lastReceipt.transaction });
    assert.deepEqual([found.network, found.amountUsd, found.payer], [network, '0.010000', account.address]);
    assert.equal(payer.leftUsd, '0.000000');
  });
}

test('a buyer who is told 402 after the money was taken is charged once and gets the answer', async () => {
  const balance = async () => {
    const data = `0x70a08231${account.address.slice(2).padStart(64, '0')}`;
    const call = { jsonrpc: '2.0', id: 1, method: 'eth_call', params: [{ to: world.contracts.usdc, data }, 'latest'] };
    const answer = await fetch(world.rpcUrl8453, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(call) });
    return BigInt((await answer.json()).result);
  };
  let lies = 1;
  const lying = async (url, init) => {
    const answer = await fetch(url, init);
    return answer.ok && init.headers['payment-signature'] && lies-- > 0 ? fetch(url) : answer;
  };
  const had = await balance();
  const payer = new Payer(account, { limitUsd: '0.05', network: 'eip155:8453' });
  const buyer = new Client(base, { payer, fetch: lying });
  const ask = { symbol: 'AAPL', side: 'buy', amount: '123' };
  await assert.rejects(buyer.getQuote(ask), PaymentRequired);
  assert.equal((await buyer.getQuote(ask)).usdAmount, '123.000000');
  assert.equal(had - (await balance()), 10_000n);
  assert.equal(payer.leftUsd, '0.040000');
});

for (const ask of [
  { symbol: 'AAPL', side: 'buy', amount: '250' },
  { symbol: 'AAPL', side: 'sell', amount: '0.1', denom: 'token' },
  { symbol: 'MSFT', side: 'buy', amount: '0.25', denom: 'token' },
  { symbol: 'MSFT', side: 'sell', amount: '20' },
]) {
  test(`${ask.side} ${ask.amount} ${ask.denom ?? 'usd'} of ${ask.symbol} is built, checked, sent, and moves what was quoted`, async () => {
    const whole = { ...ask, recipient: account.address, slippageBps: 30 };
    const build = await client.buildTrade(whole);
    check(build, whole);
    const { moved, receipts } = await send(build, whole, wallet);
    assert.equal(receipts.length, build.steps.length);
    const token = BigInt(build.quote.tokenAmount.replace(/^(\d+)(?:\.(\d+))?$/, (_, a, b = '') => a + b.padEnd(18, '0')));
    const usd = BigInt(build.quote.usdAmount.replace('.', ''));
    const sign = ask.side === 'buy' ? 1n : -1n;
    assert.equal(moved[build.tokenAddress.toLowerCase()], sign * token);
    assert.equal(moved[world.contracts.usdg.toLowerCase()], -sign * usd);
  });
}

test('the failures of the real service are the classes of the client', async () => {
  await assert.rejects(client.getPrice({ symbol: 'NOSUCH' }), NotFound);
  await assert.rejects(client.getQuote({ symbol: 'AAPL', side: 'buy', amount: '900000000' }), NoLiquidity);
  await assert.rejects(client.ask('GET', '/v1/none'), NotFound);
});

test('every operation that takes nothing answers', async () => {
  const { count, assets } = await client.listAssets();
  assert.ok(count > 150 && assets[0].symbol);
  assert.ok((await client.listStats()).stats.length === count);
  assert.ok((await client.listMarkets({ limit: 200 })).markets[0].depthUsd);
  assert.equal((await client.getStatus()).chainId, 4663);
  assert.equal((await client.getEarn()).payoutAsset.symbol, 'USDG');
  await client.listVotes();
});

test('an alert fires, and its webhook is genuine', async () => {
  const alert = await client.createAlert({ symbol: 'NVDA', condition: 'above', price: 900, webhookUrl: `${world.inboxUrl}/ts` });
  await sandbox.moveSandboxPrice({ symbol: 'NVDA', price: '950' });
  await sandbox.runSandboxTick();
  const { deliveries } = await sandbox.readSandboxInbox({ id: alert.id });
  const [received] = deliveries;
  const event = await verifyWebhook(alert.secret, received.headers, received.body, Number(received.headers['webhook-timestamp']));
  assert.deepEqual([event.symbol, event.threshold, event.id], ['NVDA', 900, alert.id]);
  assert.equal((await client.getAlert({ id: alert.id, secret: alert.secret })).delivery, 'delivered');
});

test('a quote is paid in USDG after the clock was moved', async () => {
  await sandbox.moveSandboxClock({ advanceSeconds: 3600 });
  const aheadS = async () => (Date.parse((await sandbox.readSandboxClock()).now) - Date.now()) / 1000;
  const payer = new Payer(account, { limitUsd: '0.01', network: 'eip155:4663', aheadS });
  assert.equal((await new Client(base, { payer }).getQuote({ symbol: 'AAPL', side: 'buy', amount: '101' })).symbol, 'AAPL');
  assert.equal(payer.lastReceipt.network, 'eip155:4663');
});
