// The market as it is now: one copy for all views, kept up by the stream where there is one, else by asking.
import { useEffect, useState } from 'preact/hooks';
import { type ManyStats, ServiceError, type Stats, type StreamEvent, TickyardError, Unreachable } from 'tickyard';
import { strange } from './answers';
import { client, inWords, LATE_MS, offers } from './api';
import { clock, inPlain } from './figures';

export interface Row {
  symbol: string;
  name: string;
  /** Null: hidden, because a source is down; never guessed. */
  price: string | null;
  equity: string | null;
  premium: string | null;
  change: string | null;
  depth: string | null;
  /** Of the largest pool: orders the rows until their depth is known. */
  tvl: number;
  halted: boolean;
  pending: string | null;
  error: string | null;
  /** Known by name, its figures still on their way. */
  isComing: boolean;
}

export interface Trouble {
  title: string;
  text: string;
  /** Who does not answer, by its name in the status; null when it is the service, or nobody in particular. */
  source: 'issuer' | 'node' | null;
}

export interface Market {
  rows: Row[] | null;
  /** When they were read, by this machine's clock. */
  at: number | null;
  trouble: Trouble | null;
  isStreaming: boolean;
}

const POLL_MS = 5000;
const SLOW_MS = 30_000;
// One heartbeat of the stream that did not come: nobody may be told for longer that what they see is live.
const QUIET_MS = 20_000;
const NAMES_AFTER_MS = 300;
const DEPTHS_WITHIN_MS = 250;
const DEPTHS_GOOD_MS = 120_000;
// The issuer's words for an action that is not over; of a word that is new nothing is claimed.
const TO_COME = new Set(['in progress', 'pending']);
let market: Market = { rows: null, at: null, trouble: null, isStreaming: false };
const listeners = new Set<(market: Market) => void>();
let since: number | null = null;
let ready = () => {};
let hurry = () => {};
const firstSlow = new Promise<void>((resolve) => (ready = resolve));
const depths = new Map<string, string>();
/** By how much the service's clock is ahead of this machine's, as its newest reading told; null until there is one. */
let aheadMs: number | null = null;
let depthsAt = 0;
// What the stream told since the reading that is under way was asked for: an answer may be older than that.
const told = new Map<string, Pick<Row, 'price' | 'premium'>>();
const halts = new Map<string, boolean>();
const pending = new Map<string, string>();

function tell(change: Partial<Market>): void {
  market = { ...market, ...change };
  for (const listener of listeners) listener(market);
}

/** The service's time, carried on while it is not told: this machine's may be wrong, and a sandbox's is moved. Null: never told. */
export function serviceNow(): number | null {
  return aheadMs === null ? null : Date.now() + aheadMs;
}

export function useMarket(): Market {
  const [state, setState] = useState(market);
  useEffect(() => {
    listeners.add(setState);
    setState(market);
    return () => void listeners.delete(setState);
  }, []);
  return state;
}

/** Begins at once, before anything is drawn: the figures are under way while the page is made. */
export function begin(): void {
  void forever(keepUp);
  void forever(keepSlow);
  void follow();
  setTimeout(() => void readNames(), NAMES_AFTER_MS);
}

/** Again and again. What one round fails on ends that round. */
async function forever(round: () => Promise<void>): Promise<never> {
  for (;;) await round().catch(() => someoneLooks(POLL_MS));
}

async function keepUp(): Promise<void> {
  // Armed before the reading: who calls meanwhile knows of something that this reading may have missed.
  const called = new Promise<void>((resolve) => (hurry = resolve));
  await readStats();
  await Promise.race([called, someoneLooks(market.isStreaming && !market.trouble ? SLOW_MS : market.trouble ? 2000 : POLL_MS)]);
}

async function follow(): Promise<void> {
  let index: Awaited<ReturnType<typeof offers>> | null;
  while (!(index = await offers().catch(() => null))) await someoneLooks(POLL_MS);
  if (index.endpoints.includes('GET /v1/stream')) void listen();
}

/** Names come at once; they stand alone where the figures take a moment longer. */
async function readNames(): Promise<void> {
  if (market.rows) return;
  const { assets } = await client.listAssets().catch(() => ({ assets: [] }));
  const rows = assets.map(({ symbol, name }) => ({ symbol, name, price: null, equity: null, premium: null, change: null, depth: null, tvl: 0, halted: false, pending: null, error: null, isComing: true }));
  if (!market.rows && rows.length) tell({ rows });
}

async function readStats(): Promise<void> {
  told.clear();
  // A network that swallows everything fails nothing for a long time: until there is an answer, nothing here is live.
  const late = setTimeout(() => {
    if (market.trouble) return;
    since ??= Date.now();
    tell({ trouble: { title: `No answer since ${clock(since)}.`, text: 'The service is slow, or away. This page goes on by itself.', source: null } });
  }, LATE_MS);
  try {
    const stats = await client.listStats().finally(() => clearTimeout(late));
    // Rows that stand in their order at once do not jump a moment later.
    if (market.at === null) await Promise.race([firstSlow, pause(DEPTHS_WITHIN_MS)]);
    const old = new Map(market.rows?.map((row) => [row.symbol, row]));
    const rows = stats.stats.map((item) => rowOf(item, old.get(item.symbol)));
    const failed = stats.stats.filter((item) => item.error);
    since = failed.length * 2 > rows.length ? (since ?? Date.now()) : null;
    const trouble = since === null ? null : await sourceTrouble(failed[0]!.error!.message);
    const ahead = Date.parse(stats.asOf) - Date.now();
    if (!Number.isNaN(ahead)) aheadMs = ahead;
    tell({ rows, at: trouble ? market.at : Date.now(), trouble });
  } catch (error) {
    since ??= Date.now();
    if (error instanceof Unreachable) {
      tell({ trouble: { title: `The service does not answer since ${clock(since)}.`, text: 'This page tries again by itself.', source: null } });
    } else {
      // Prices that cannot be confirmed are not shown. What nobody threw on purpose came of an answer that is none.
      const { message } = error instanceof TickyardError ? error : strange();
      tell({ trouble: await sourceTrouble(message), rows: market.rows?.map(hidden) ?? null });
    }
  }
}

/** Which source is down, and since when: as this page saw it, or, if it came too late, by the service's own record. */
async function sourceTrouble(message: string): Promise<Trouble> {
  const text = `${inWords(new TickyardError(message))} Prices are hidden, not guessed.`;
  const source = /issuer/.test(message) ? 'issuer' : /node/.test(message) ? 'node' : null;
  let down: number | string | null = since;
  if (market.at === null && source) {
    const status = await client.getStatus().catch(() => null);
    down = status?.upstreams.find(({ name }) => name === source)?.lastOkAt ?? down;
  }
  const when = down === null ? '' : ` since ${clock(down)}`;
  // Who asks too often, or meets a service that is stopping or crowded, is told that and not that a source is down.
  return { title: source ? `The ${source === 'node' ? 'chain node' : source} is down${when}.` : `No prices${when}.`, text, source };
}

function rowOf({ symbol, stats, error }: ManyStats['stats'][number], old?: Row): Row {
  const shown = { symbol, name: stats?.name ?? old?.name ?? '', depth: depths.get(symbol) ?? null, tvl: Math.max(0, ...(stats?.pools.map(({ tvlUsd }) => Number(tvlUsd)) ?? [])), halted: halts.get(symbol) ?? false, pending: pending.get(symbol) ?? null };
  return stats ? { ...shown, ...figures(stats), ...told.get(symbol), error: null, isComing: false } : { ...shown, price: null, equity: null, premium: null, change: null, error: error?.message ?? 'not known', isComing: false };
}

function figures({ price }: Stats): Pick<Row, 'price' | 'equity' | 'premium' | 'change'> {
  return { price: price.dexUsd, equity: price.equityTokenUsd, premium: price.dexPremiumPct, change: price.change24hPct };
}

function hidden(row: Row): Row {
  return { ...row, price: null, equity: null, premium: null, error: 'hidden while a source is down', isComing: false };
}

/** What changes slowly: depth, halts, corporate actions to come. */
async function keepSlow(): Promise<void> {
  await Promise.all([readDepths(), readHalts(), readPending()].map((work) => work.catch(() => {})));
  ready();
  // They stand there without a time: what could not be read for so long is not what it is now.
  if (Date.now() - depthsAt > DEPTHS_GOOD_MS) depths.clear();
  if (market.at !== null) tell({ rows: market.rows?.map((row) => ({ ...row, depth: depths.get(row.symbol) ?? null, halted: halts.get(row.symbol) ?? false, pending: pending.get(row.symbol) ?? null })) ?? null });
  await someoneLooks(market.trouble ? 5000 : SLOW_MS);
}

async function readDepths(): Promise<void> {
  const found = new Map<string, string>();
  for (let offset = 0; ; offset += 400) {
    // Two pages at a time: together they are the whole market, as a rule.
    const pages = await Promise.all([offset, offset + 200].map((from) => client.listMarkets({ limit: 200, offset: from })));
    // Deepest first: the first of a symbol is its deepest.
    for (const { symbol, depthUsd } of pages.flatMap(({ markets }) => markets)) if (!found.has(symbol)) found.set(symbol, depthUsd);
    // By what came, and not by a figure that may be any: whoever has no more sends less than was asked for.
    if (pages[1]!.markets.length < 200) break;
  }
  depths.clear();
  for (const [symbol, depth] of found) depths.set(symbol, depth);
  depthsAt = Date.now();
}

async function readHalts(): Promise<void> {
  for (const { symbol, price } of (await client.listPrices()).prices) halts.set(symbol, price?.halted ?? false);
}

async function readPending(): Promise<void> {
  const { corpActions } = await client.listCorporateActions();
  pending.clear();
  for (const action of corpActions) if (TO_COME.has(inPlain(action.status))) pending.set(action.symbol, `${inPlain(action.type)} ${action.processDate ?? ''}`.trim());
}

/** Over HTTP/1.1 a browser has six connections to a service, for all its tabs: only one that is looked at may hold one. */
async function listen(): Promise<void> {
  let rest = 0;
  for (;;) {
    await someoneLooks(rest);
    rest = 0;
    const gone = new AbortController();
    document.addEventListener('visibilitychange', () => document.hidden && gone.abort(), { signal: gone.signal });
    try {
      for await (const event of client.stream({ events: ['price'], signal: gone.signal, onState, quietMs: QUIET_MS })) apply(event);
    } catch (error) {
      gone.abort();
      // Refused for good: what is asked for now and then has to do.
      if (error instanceof ServiceError) return tell({ isStreaming: false });
      // An event that is none: the next connection may bring better ones.
      rest = POLL_MS;
      hurry();
    }
    tell({ isStreaming: false });
  }
}

function onState(state: 'open' | 'lost'): void {
  const wasStreaming = market.isStreaming;
  tell({ isStreaming: state === 'open' });
  // Whether the service is away is found out now, and not when the next slow reading is due.
  if (wasStreaming && state === 'lost') hurry();
}

function apply({ event, data }: StreamEvent): void {
  // A snapshot's prices are samples, minutes old, and what moved while nobody listened is told by none: asked anew.
  if (event === 'snapshot') hurry();
  if (event !== 'price') return;
  const { symbol, price, premiumPct: premium } = data;
  told.set(symbol, { price, premium });
  if (market.at === null || market.trouble) return;
  tell({ rows: market.rows?.map((row) => (row.symbol === symbol && !row.error ? { ...row, price, premium } : row)) ?? null, at: Date.now() });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function someoneLooks(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(() => {
      if (!document.hidden) return resolve();
      document.addEventListener('visibilitychange', () => resolve(), { once: true });
    }, ms);
  });
}
