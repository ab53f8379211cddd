// One paid call, step by step: the challenge, what is signed, the receipt.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { NotFound, PaymentRequired, type Quote, type Reply, type Send } from 'tickyard';
import type { Offer, Payer, Receipt, Store } from 'tickyard/pay';
import { client, later, offers, sandbox, useAsk, WaryClient, within } from './api';
import { day, exactUsd, tokens, usd } from './figures';
import { remember } from './memory';
import { Card, Choice, Code, Empty, Facts, Long, Said, Shown, useAct, useLong } from './parts';
import { asSigner, type Connected, useWallets } from './wallet';

const NETWORKS = [['eip155:4663', 'USDG on 4663'], ['eip155:8453', 'USDC on 8453']] as const;
type Network = (typeof NETWORKS)[number][0];

/** An entry of a challenge, as it is shown and as it is signed: whatever the table says is a part of it. */
type Entry = Omit<Offer, 'resource'>;
type Accepts = Omit<Entry, 'amountUsd'> & { amount: string };

const PAID = 'tickyard.payments';
const isHash = (found: unknown): found is string => /^0x[0-9a-f]{64}$/.test(String(found));
const earlier = (): string[] => {
  try {
    return (JSON.parse(localStorage.getItem(PAID) ?? '[]') as unknown[]).filter(isHash);
  } catch {
    return [];
  }
};

/** Payments whose end is not known stay in this browser, by wallet: after a reload they are presented before new money is. */
const kept = (address: string): Store => {
  const name = `tickyard.kept.${address.toLowerCase()}`;
  const store = stores.get(name) ?? {
    load: () => localStorage.getItem(name),
    save: (text: string) => localStorage.setItem(name, text),
    // Other pages have it too. Before an address of plain http a browser has no locks.
    lock: <T,>(work: () => Promise<T>) => (navigator.locks ? navigator.locks.request(name, work) : work()) as Promise<T>,
  };
  stores.set(name, store);
  return store;
};
// One for each wallet: whoever clears the storage while this page is open makes it forget no payment.
const stores = new Map<string, Store>();

const entry = ({ network, asset, payTo, amount, maxTimeoutSeconds }: Accepts): Entry => ({ network, asset, payTo, amountUsd: (Number(amount) / 1e6).toFixed(6), maxTimeoutSeconds });

// What stood on the screen when its owner said yes.
let agreed: Entry[] = [];

/** The service is asked anew for what is signed, and may ask for something else than it did. */
function mustBeShown(offer: Offer): void {
  const isShown = agreed.some((each) => (Object.keys(each) as (keyof Entry)[]).every((name) => each[name] === offer[name]));
  if (!isShown) throw new Error('The service asks for something else by now. Nothing was signed: ask again without paying, and look at it.');
}

/** A sandbox's clock can be moved; everybody else's is right. */
async function aheadS(): Promise<number> {
  if (!(await offers()).endpoints.includes('GET /sandbox')) return 0;
  return (Date.parse((await sandbox.readSandboxClock()).now) - Date.now()) / 1000;
}

/** What a quote costs. Whatever else comes of asking is told as of any call: a service that is away asks for no payment either. */
async function unpaid(symbol: string): Promise<Entry[]> {
  let asked: Reply | null = null;
  const pay = async (_: string, send: Send) => (asked = await send({}));
  try {
    await new WaryClient(location.origin, { retries: 1, timeoutMs: 15_000, payer: { pay } }).getQuote({ symbol, side: 'buy', amount: '100' });
  } catch (error) {
    if (!(error instanceof PaymentRequired)) throw error;
    const { accepts } = JSON.parse(asked!.text) as { accepts?: Accepts[] };
    if (accepts) return accepts.map(entry);
  }
  throw new Error('The route asks for no payment.');
}

interface Paid {
  /** What the wallet is asked to sign. */
  typed: unknown;
  answer: Quote | null;
  receipt: Receipt | null;
  error: Error | null;
  left: string | null;
  isUnderWay: boolean;
}

// The newest paid call, like the purse for the life of the page: it is shown by the view that is open, and whoever left it
// meanwhile finds it when they come back.
const NOTHING = { typed: null, answer: null, receipt: null, error: null };
let paid: Paid = { ...NOTHING, left: null, isUnderWay: false };
let show: (paid: Paid) => void = () => {};
const tell = (change: Partial<Paid>) => show((paid = { ...paid, ...change }));
// How often something else was begun: what is told of a call before that has no place on the screen.
let begun = 0;
/** What stood here is of another question, or of another payment. */
const clear = (change: Partial<Paid> = {}) => (begun++, tell({ ...NOTHING, ...change }));

/** What was allowed for a wallet and a network, as long as both are the same. */
interface Purse {
  key: string;
  payer: Payer;
  /** In base units. */
  limit: number;
  /** Its owner waits for it no longer: it signs nothing more. */
  isLeft: boolean;
}

// One limit for the life of the page: another network or wallet gets what those before have left of it.
const purses: Purse[] = [];
let open: Purse | null = null;
const micros = (dollars: string) => Math.round(Number(dollars) * 1e6);

async function purse(me: Connected, network: Network, limit: string): Promise<Payer> {
  const { Payer } = await within(later('src/pay.ts', () => import('tickyard/pay')));
  const key = `${me.name} ${me.address} ${network} ${limit}`;
  if (open?.key === key) return open.payer;
  const signed = purses.reduce((sum, { limit, payer }) => sum + limit - micros(payer.leftUsd), 0);
  const left = Math.max(0, micros(limit) - signed);
  const mustGoOn = () => {
    if (mine.isLeft) throw new Error('Nobody waited for the wallet any more: what it signed was not sent.');
  };
  const options = { limitUsd: (left / 1e6).toFixed(6), network, store: kept(me.address), aheadS, confirm: mustBeShown };
  const payer = new Payer(asSigner(me, (typed) => tell({ typed }), mustGoOn), options);
  const mine: Purse = { key, payer, limit: left, isLeft: false };
  purses.push((open = mine));
  return payer;
}

/** Waits no longer. A payment that was signed is kept, and presented again before that wallet pays anew. */
function leave(): void {
  if (open) open.isLeft = true;
  open = null;
  tell({ isUnderWay: false, error: new Error('You stopped waiting. What the wallet signs from now on is not sent; a payment that was sent is presented again first.') });
}

async function buy(me: Connected, network: Network, limit: string, symbol: string, challenge: Entry[]): Promise<void> {
  clear({ isUnderWay: true });
  agreed = challenge;
  const mine = begun;
  const tellOf = (change: Partial<Paid>) => mine === begun && tell(change);
  try {
    const from = await purse(me, network, limit);
    const before = from.lastReceipt;
    try {
      tellOf({ answer: await new WaryClient(location.origin, { payer: from }).getQuote({ symbol, side: 'buy', amount: '100' }), error: null });
    } finally {
      // What was paid is told, whatever was got for it.
      const { lastReceipt } = from;
      if (lastReceipt && lastReceipt !== before) {
        remember('localStorage', PAID, JSON.stringify([lastReceipt.transaction, ...earlier()].slice(0, 20)));
        tell(mine === begun ? { receipt: lastReceipt } : {});
      }
      tellOf({ left: from.leftUsd });
    }
  } catch (error) {
    tellOf({ error: (error ?? new Error()) as Error });
  } finally {
    tellOf({ isUnderWay: false });
  }
}

export function PayView(): JSX.Element {
  const { me } = useWallets();
  const [symbol, setSymbol] = useState('AAPL');
  const [network, setNetwork] = useState<Network>('eip155:4663');
  const [limit, setLimit] = useState('0.05');
  const [challenge, setChallenge] = useState<Entry[] | null>(null);
  const [{ typed, answer, receipt, error, left, isUnderWay }, setPaid] = useState(paid);
  const asking = useAct();
  const paying = useAct();
  const isLong = useLong(isUnderWay);
  useEffect(() => {
    show = setPaid;
    show(paid);
  }, []);
  const ask = () =>
    asking.act(async () => {
      clear();
      setChallenge(await unpaid(symbol));
    });
  const pay = () => paying.act(() => buy(me!, network, limit, symbol, challenge!));
  // A browser that keeps nothing has at least the newest.
  const mine = [...new Set([receipt?.transaction, ...earlier()].filter(isHash))];
  return (
    <>
      <div class="head"><h1>Pay per call</h1></div>
      <div class="columns">
        <div class="wide">
          <Card title="1  The challenge">
            <form class="row" onSubmit={(event) => (event.preventDefault(), void ask())}>
              <label>A quote for 100 USDG of<input value={symbol} disabled={isUnderWay} onInput={(event) => (setSymbol(event.currentTarget.value), setChallenge(null), clear())} maxLength={16} /></label>
              <button class={challenge ? '' : 'primary'} disabled={asking.busy || isUnderWay}>Ask without paying</button>
            </form>
            <Said error={asking.error} />
            {challenge ? (
              <table class="plain">
                <caption>402: pay one of these and ask again</caption>
                <thead><tr><th scope="col">Network</th><th scope="col">Amount</th><th scope="col">To</th><th scope="col">Valid</th></tr></thead>
                <tbody>
                  {challenge.map((each) => (
                    <tr key={each.network}><th scope="row">{NETWORKS.find(([id]) => id === each.network)?.[1] ?? each.network}</th><td class="figure">{exactUsd(each.amountUsd)}</td><td><Code>{each.payTo}</Code></td><td class="figure">{each.maxTimeoutSeconds} s</td></tr>
                  ))}
                </tbody>
              </table>
            ) : (
              <p class="legend">Five data routes have a paid twin, and this is one of them. An unpaid request costs nothing and is told the price.</p>
            )}
          </Card>
          <Card title="2  The signature">
            <div class="row">
              <div class="field">Pay with<Choice of={NETWORKS} value={network} onPick={setNetwork} label="Network to pay on" /></div>
              <label>Spend at most, USD<input value={limit} onInput={(event) => setLimit(event.currentTarget.value)} inputMode="decimal" pattern="[0-9]+(\.[0-9]{1,6})?" /></label>
              <button type="button" class={challenge ? 'primary' : ''} disabled={!me || !challenge || isUnderWay} onClick={() => void pay()}>{isUnderWay ? 'Paying…' : 'Sign and pay'}</button>
            </div>
            {!me && <p class="note">Connect a wallet (above, right) first.</p>}
            {left !== null && <p class="legend">May still be signed for: {exactUsd(left)}</p>}
            {isLong && <Long onLeave={leave}>If you stop, nothing that it signs after that is sent from here.</Long>}
            <Said error={error} />
            {typed !== null && (
              <details open><summary>What the wallet is asked to sign</summary><pre tabIndex={0} aria-label="What the wallet is asked to sign">{JSON.stringify(typed, (name, value: unknown) => (name === 'types' ? undefined : typeof value === 'bigint' ? value.toString() : value), 1)}</pre></details>
            )}
          </Card>
          {(answer || receipt) && (
            <Card title="3  The answer and its receipt">
              <Facts
                of={[
                  ...(answer ? ([['Quote', <span class="figure">{usd(answer.usdAmount)} buys {tokens(answer.tokenAmount)} {answer.symbol}</span>]] as [string, JSX.Element][]) : []),
                  ...(receipt ? ([['Transaction', <Code>{receipt.transaction}</Code>], ['Network', receipt.network], ['Payer', <Code>{receipt.payer}</Code>]] as [string, JSX.Element | string][]) : []),
                ]}
              />
            </Card>
          )}
        </div>
        <div class="side"><LookUp mine={mine} /></div>
      </div>
    </>
  );
}

function LookUp({ mine }: { mine: string[] }): JSX.Element {
  const [text, setText] = useState('');
  const [wanted, setWanted] = useState<string | null>(null);
  const found = useAsk(wanted && `payment ${wanted}`, (signal) => client.getPayment({ transaction: wanted! }, { signal }));
  // What was found is of the transaction that was typed, and of no other.
  const type = (hash: string, wanted: string | null) => (setText(hash), setWanted(wanted));
  return (
    <Card title="Earlier payments">
      <form class="row" onSubmit={(event) => (event.preventDefault(), setWanted(text.trim()))}>
        <label class="grow">Transaction<input value={text} onInput={(event) => type(event.currentTarget.value, null)} required pattern="0x[0-9a-fA-F]{64}" placeholder="0x…" spellcheck={false} /></label>
        <button>Look up</button>
      </form>
      {wanted && found.error instanceof NotFound ? (
        <div role="status"><Empty title="No payment of this transaction is known."><Code>{wanted}</Code></Empty></div>
      ) : wanted && (
        <Shown of={found} what="payment">
          {(payment) => <Facts of={[['Transaction', <Code>{wanted}</Code>], ['Paid', exactUsd(payment.amountUsd)], ['For', payment.route], ['On', payment.network], ['At', day(payment.settledAt)], ['State', payment.status]]} />}
        </Shown>
      )}
      {mine.length ? (
        <ul class="list">{mine.map((hash) => <li key={hash}><button type="button" class="link" onClick={() => type(hash, hash)}>{hash.slice(0, 18)}…</button></li>)}</ul>
      ) : (
        <Empty title="None from this browser." />
      )}
    </Card>
  );
}
