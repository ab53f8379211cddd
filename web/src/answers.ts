// What an answer must be like before the page believes it: a gateway's `null` or `{}` with a 200 is no answer of the service.
import { type AlertRecord, type AssetDetail, type Assets, type Claimed, type CorporateActions, type CreatedAlert, type Depth, type Earn, type EpochBooks, type Explanation, type Financials, type History, type ManyStats, type Markets, type Portfolio, type PriceRecord, type Prices, type Quote, type Research, type Reserves, type Route, type SettledPayment, type Stats, type Status, TickyardError, type TradeCheck, type VotePower, type WalletStatus } from 'tickyard';
import type { ClockReading, Faults, InboxContents, SandboxInfo } from 'tickyard/sandbox';

export interface Index {
  description: string;
  endpoints: string[];
}

/** A part of T by example, one item for a list. What may be null or left out has no place in it. */
type Like<T> = T extends string ? string : T extends readonly (infer Item)[] ? [Like<Item>] : T extends object ? { [Name in keyof T as null extends T[Name] ? never : Name]?: Like<T[Name]> } : T;

const like = <T>(example: Like<T>): unknown => example;
const move = { movePct: '', usdg: '' };
const period = { periodEnd: '', revenue: {}, netIncome: {} };
const alert = { symbol: '', condition: '', price: 0, status: '', expiresAt: '', webhookUrl: '' };
const clock = like<ClockReading>({ now: '' });
const why = { candidates: [{}] as [object] };

// What the views read without asking whether it is there. A route that is not named here answers with an object.
const ANSWERS: Record<string, unknown> = {
  'GET /': like<Index>({ endpoints: [''] }),
  'GET /v1/status': like<Status>({ asOf: '', upstreams: [{ name: '' }], coverage24h: [{ symbol: '', samples: 0 }] }),
  'GET /v1/assets': like<Assets>({ assets: [{ symbol: '', name: '' }] }),
  'GET /v1/assets/{symbol}': like<AssetDetail>({ symbol: '' }),
  'GET /v1/prices': like<Prices>({ prices: [{ symbol: '' }] }),
  'GET /v1/prices/{symbol}': like<PriceRecord>({ halted: false }),
  'GET /v1/stats': like<ManyStats>({ stats: [{ symbol: '' }] }),
  'GET /v1/stats/{symbol}': like<Stats>({ name: '', price: { equityTokenUsd: '' }, supply: {}, pools: [{ pool: '' }] }),
  'GET /v1/markets': like<Markets>({ markets: [{ symbol: '', depthUsd: '' }] }),
  'GET /v1/history/{symbol}': like<History>({ candles: [{ t: '', open: 0, high: 0, low: 0, close: 0 }] }),
  'GET /v1/depth/{symbol}': like<Depth>({ all: { up: [move], down: [move] } }),
  'GET /v1/corporate-actions': like<CorporateActions>({ corpActions: [{ symbol: '', type: '', status: '' }] }),
  'GET /v1/research/{symbol}': like<Research>({ facts: {}, sources: [''] }),
  'GET /v1/research/{symbol}/explain': like<Explanation>({ facts: { revenue: why, netIncome: why, sharesOutstanding: why, marketCap: why } }),
  'GET /v1/research/{symbol}/financials': like<Financials>({ annual: [period], quarterly: [period], ratios: { priceToEarnings: {}, priceToSales: {} } }),
  'GET /v1/quote': like<Quote>({ symbol: '', usdAmount: '', tokenAmount: '', feeTier: 0, asOf: '' }),
  'POST /v1/trade/check': like<TradeCheck>({ build: { symbol: '' }, issues: [{ code: '', severity: '', message: '' }] }),
  'GET /v1/portfolio/{address}': like<Portfolio>({ address: '', positions: [{ symbol: '', balance: '' }], totalUsdValue: '', asOf: '' }),
  'GET /v1/votes/power/{address}': like<VotePower>({ totalShareEquivalent: '' }),
  'POST /v1/alerts': like<CreatedAlert>({ id: '', secret: '', symbol: '', condition: '', price: 0 }),
  'GET /v1/alerts/{id}': like<AlertRecord>(alert),
  'DELETE /v1/alerts/{id}': like<AlertRecord>(alert),
  'GET /v1/earn': like<Earn>({ token: { symbol: '' }, thresholdTokens: '', schedule: { nextSnapshotAt: '' }, accruing: { epoch: 0, revenueUsd: '' } }),
  'GET /v1/earn/status/{address}': like<WalletStatus>({ balanceTokens: '', epoch: { id: 0 } }),
  'POST /v1/earn/claim': like<Claimed>({ epoch: 0, amountUsd: '', tx: '' }),
  'GET /v1/earn/epochs/{id}': like<EpochBooks>({ id: 0, state: '' }),
  'GET /v1/earn/reserves': like<Reserves>({ payer: { usdg: '' }, desk: '' }),
  'GET /v1/payments/{transaction}': like<SettledPayment>({ amountUsd: '', route: '', settledAt: '' }),
  'GET /sandbox': like<SandboxInfo>({ rpcUrl: '', inboxUrl: '', wallets: [{ name: '', address: '' }] }),
  'GET /sandbox/clock': clock,
  'POST /sandbox/clock': clock,
  'GET /sandbox/fault': like<Faults>({ faults: [{ target: '', mode: '' }] }),
  'GET /sandbox/inbox': like<InboxContents>({ deliveries: [{ path: '', body: '' }] }),
};

// What an answer says again of what was asked for, where it carries it.
const ECHOED = ['symbol', 'address', 'id', 'side', 'condition', 'interval', 'epoch', 'transaction'];

/** The answer as it came. Whatever is none, or is about something else, is a failure of the service, as if it had not answered. */
export function answerTo<T>([method, path]: Route, asked: object, answer: T): T {
  if (isLike(answer, ANSWERS[`${method} ${path}`] ?? {}) && isAbout(answer, asked)) return answer;
  throw strange();
}

export function strange(): TickyardError {
  return new TickyardError('the service answered something else than expected');
}

function isLike(found: unknown, example: unknown): boolean {
  if (Array.isArray(example)) return Array.isArray(found) && found.every((each) => isLike(each, example[0]));
  if (typeof found !== typeof example || found === null) return false;
  return typeof example !== 'object' || Object.entries(example!).every(([name, each]) => isLike((found as Record<string, unknown>)[name], each));
}

function isAbout(answer: unknown, asked: object): boolean {
  const values = asked as Record<string, unknown>;
  const { corpActions } = answer as Partial<CorporateActions>;
  const told = [answer, ...(corpActions ?? [])] as Record<string, unknown>[];
  return ECHOED.every((name) => values[name] == null || told.every((each) => each[name] === undefined || folded(each[name]) === folded(values[name])));
}

/** As the service reads symbols and addresses: in any letter case, and only plain letters have two. */
function folded(value: unknown): string {
  return String(value).replace(/[a-z]/g, (letter) => letter.toUpperCase());
}
