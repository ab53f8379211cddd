// A ticket: quoted while one types, built, decoded, signed by the user's own wallet, followed to its end.
import type { JSX, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { BuildTradeAsk, Quote, TradeBuild, TradeCheck } from 'tickyard';
import { type Approval, BuildRefused, check, eachOnce, encode, movedFor, send, SendUncertain, type Swap, USDG, wholeReceipt } from 'tickyard/trade';
import { client, useAsk } from './api';
import { clock, day, fromUnits, percent, price, shortAddress, tokens, usd } from './figures';
import { useMarket } from './live';
import { Card, Change, Choice, Code, Empty, Facts, Long, Said, useAct, useArrival, useLong } from './parts';
import { go, Link, useKept } from './router';
import { begin, end, useUnderWay } from './under_way';
import { asTrader, onChain, sendTogether, useWallets } from './wallet';

type Side = 'buy' | 'sell';
type Denom = 'usd' | 'token';

export function TradeView({ rest }: { rest: string }): JSX.Element {
  const symbol = (rest || 'AAPL').toUpperCase();
  const { rows } = useMarket();
  const row = rows?.find((each) => each.symbol === symbol);
  const [text, setText] = useState(symbol);
  useEffect(() => setText(symbol), [symbol]);
  return (
    <>
      <div class="head">
        <h1>Trade</h1>
        <form class="pick" onSubmit={(event) => (event.preventDefault(), go(`/trade/${encodeURIComponent(text.trim().toUpperCase())}`))}>
          <input aria-label="Symbol" list="symbols" value={text} onInput={(event) => setText(event.currentTarget.value)} maxLength={16} />
          <datalist id="symbols">{rows?.map((each) => <option key={each.symbol} value={each.symbol}>{each.name}</option>)}</datalist>
          <button>Choose</button>
        </form>
        {row && <span class="name">{row.name}</span>}
        {row && <strong class="big figure">{row.error ? <span class="hidden">hidden</span> : price(row.price)}</strong>}
        {row && <Change of={row.premium} quiet />}
        {row?.halted && <span class="mark warn">halted</span>}
      </div>
      {rows && !row ? <Empty title={`There is no token called ${symbol}.`}><Link to="/">All markets</Link></Empty> : <Ticket key={symbol} symbol={symbol} />}
    </>
  );
}

/** The service knows no figure that begins or ends with its dot; people type them. */
const plain = (amount: string) => amount.replace(/^(?=\.\d)/, '0').replace(/\.$/, '');

interface Reviewed {
  ask: BuildTradeAsk;
  build: TradeBuild;
  steps: (Approval | Swap)[];
  found: TradeCheck;
}

function Ticket({ symbol }: { symbol: string }): JSX.Element {
  const { me } = useWallets();
  const [side, setSide] = useKept<Side>('side', 'buy');
  const [denom, setDenom] = useKept<Denom>('denom', 'usd');
  const [amount, setAmount] = useKept<string>('amount', '100');
  const [slippage, setSlippage] = useKept<string>('slippage', '0.5');
  const [typed, setTyped] = useState(amount);
  const wanted = plain(typed);
  const [reviewed, setReviewed] = useState<Reviewed | null>(null);
  const [done, setDone] = useState<Result | null>(null);
  const { act, busy, error, clear } = useAct();
  // Of the ticket, not of what it shows: what is before the wallet stays on the screen until its end.
  const sending = useAct();
  const isLong = useLong(sending.busy);
  const [left, setLeft] = useState(0);
  const underWay = useUnderWay();
  useEffect(() => {
    const timer = setTimeout(() => setTyped(amount), 250);
    return () => clearTimeout(timer);
  }, [amount]);
  // Whatever is changed makes what was reviewed another trade.
  useEffect(() => (setReviewed(null), setDone(null), clear(), sending.clear()), [symbol, side, denom, amount, slippage, me?.address.toLowerCase()]);
  const isAmount = /^\d+(\.\d+)?$/.test(wanted) && Number(wanted) > 0;
  const quote = useAsk<Quote>(isAmount ? `quote ${symbol} ${side} ${wanted} ${denom}` : null, (signal) => client.getQuote({ symbol, side, amount: wanted, denom }, { signal }), 3000);
  // What is shown now; an answer to an earlier ticket comes too late.
  const latest = useRef('');
  latest.current = [symbol, side, denom, amount, slippage, me?.address.toLowerCase(), left].join(' ');
  useEffect(() => () => void (latest.current = ''), []);
  const review = () =>
    act(async () => {
      const asked = latest.current;
      sending.clear();
      // The same trade once more is another one: the end of the last is not its review, and the last review must not
      // be signed while the new one takes its place on the screen.
      setDone(null);
      setReviewed(null);
      const ask: BuildTradeAsk = { symbol, side, amount: plain(amount), denom, recipient: me!.address, slippageBps: Math.round(Number(slippage) * 100) };
      const found = await client.checkTrade(ask);
      if (asked === latest.current) setReviewed({ ask, build: found.build, steps: check(found.build, ask), found });
    });
  return (
    <div class="columns">
      <div class="ticket">
        <Card title="Ticket">
          <form onSubmit={(event) => (event.preventDefault(), void review())} aria-label="Ticket"><fieldset disabled={sending.busy}>
            <Choice of={[['buy', 'Buy'], ['sell', 'Sell']] as const} value={side} onPick={setSide} label="Side" />
            <div class="field">
              <label for="amount">Amount</label>
              <span class="unit">
                <input id="amount" value={amount} onInput={(event) => setAmount(event.currentTarget.value.trim())} inputMode="decimal" autocomplete="off" aria-invalid={!isAmount} />
                <Choice of={[['usd', 'USDG'], ['token', symbol]] as const} value={denom} onPick={setDenom} label="Unit" />
              </span>
            </div>
            <QuoteBox asked={quote} side={side} symbol={symbol} isAmount={isAmount} />
            <label>
              Slippage, %
              <input value={slippage} onInput={(event) => setSlippage(event.currentTarget.value)} inputMode="decimal" required pattern="[0-9]*\.?[0-9]{1,2}" />
            </label>
            {underWay && !sending.busy ? <Open what={underWay} /> : me ? <button class="primary" disabled={busy || !isAmount || !quote.data}>{busy ? 'Building…' : 'Review'}</button> : <p class="note">Connect a wallet (above, right) to go on. Nothing is sent without your signature.</p>}
            <Said error={error} />
            {!reviewed && <Said error={sending.error} />}
          </fieldset></form>
          {isLong && <Long onLeave={() => (setLeft(left + 1), setReviewed(null), sending.leave())}>If you stop, no further step is sent from here, and what it was given is yours to look up.</Long>}
        </Card>
      </div>
      <div class="wide">
        {done ? <Outcome of={done} /> : reviewed && me ? <Review key={reviewed.build.steps.at(-1)?.data} of={reviewed} sending={sending} isOpen={underWay !== null} latest={latest} onDone={(result) => (setDone(result), setReviewed(null))} /> : (
          <Card title="What happens">
            <ol class="steps">
              <li>The amount is quoted on every fee tier while you type; the best fill wins.</li>
              <li>A build is made, decoded here, word by word, and compared with what you asked for.</li>
              <li>Your wallet signs what was decoded; an approval is for exactly this trade.</li>
              <li>The transaction is followed, and what really moved is shown.</li>
            </ol>
          </Card>
        )}
      </div>
    </div>
  );
}

function QuoteBox({ asked, side, symbol, isAmount }: { asked: ReturnType<typeof useAsk<Quote>>; side: Side; symbol: string; isAmount: boolean }): JSX.Element {
  const row = useMarket().rows?.find((each) => each.symbol === symbol);
  const quote = asked.data;
  if (!isAmount) return <p class="note">Type an amount.</p>;
  if (!quote) return asked.error ? <Said error={asked.error} /> : <div class="skeleton" role="status" aria-label="Quoting"><i /><i /></div>;
  const over = row?.equity && quote.effectivePricePerToken ? percent(((Number(quote.effectivePricePerToken) / Number(row.equity) - 1) * 100).toFixed(4)) : '–';
  return (
    <div class="quote" aria-live="polite">
      <Facts
        class={asked.error ? 'old' : ''}
        of={[
          [side === 'buy' ? 'You pay' : 'You get', <span class="figure">{usd(quote.usdAmount)}</span>],
          [side === 'buy' ? 'You get' : 'You pay', <span class="figure" data-testid="tokens">{tokens(quote.tokenAmount)} {symbol}</span>],
          ['Price per token', <span class="figure">{price(quote.effectivePricePerToken)}</span>],
          ['Against the equity quote', <span class="figure">{over}</span>],
          ['Pool fee', <span class="figure">{(quote.feeTier / 10_000).toFixed(2)} %</span>],
          ['As of', clock(quote.asOf)],
        ]}
      />
      <Said error={asked.error} />
    </div>
  );
}

/** Whatever may have left is not sent again: what it did comes first. */
function Open({ what }: { what: string }): JSX.Element {
  return (
    <>
      <p class="note stale" role="status"><strong>{what}</strong> was given to a wallet. Something of it was sent, or may have been. Look at it in your wallet first: until then nothing else is sent from here.</p>
      {/* It goes with its sentence, and must not take the focus along. */}
      <button type="button" onClick={() => (end(), document.getElementById('amount')?.focus())}>I have looked</button>
    </>
  );
}

interface Result {
  hashes: string[];
  moved: Record<string, bigint>;
  build: TradeBuild;
}

const NOTES = { error: 'bad', warning: 'stale', info: '' };

function Review({ of, sending, isOpen, latest, onDone }: { of: Reviewed; sending: ReturnType<typeof useAct>; isOpen: boolean; latest: RefObject<string>; onDone: (result: Result) => void }): JSX.Element {
  const { me } = useWallets();
  const { act, busy, error } = sending;
  const [stage, setStage] = useState('');
  const { build, steps, ask, found } = of;
  // The note says the issues once more, the warnings among them as such.
  const note = found.issues.reduce((rest, { message }) => rest.replace(`Warning: ${message}`, '').replace(message, ''), build.note).trim();
  const sign = () =>
    act(async () => {
      const shown = latest.current;
      const isShown = () => shown === latest.current;
      // A wallet may take minutes for an answer: what it is given next must still be what its owner sees.
      const stillShown = () => {
        if (!isShown()) throw new BuildRefused('the ticket or the account was changed: the steps that are left were not sent');
      };
      if (me!.address.toLowerCase() !== ask.recipient.toLowerCase()) throw new BuildRefused('the wallet is not the recipient: review the trade again');
      await onChain(me!.provider);
      // Whichever way it is sent: a signature with years to live waits for a price to its signer's harm.
      check(build, ask, Number((await asTrader(me!).getBlock()).timestamp));
      stillShown();
      setStage('Waiting for your wallet…');
      const finish = await begin(inShort(of));
      let hasLeft = false;
      const onStep = (_: unknown, index: number, hash: string | null) => {
        hasLeft ||= index > 0 || hash !== null;
        if (hash === null) stillShown();
        setStage(hash ? `Step ${index + 1}: sent, waiting for its block…` : `Step ${index + 1} of ${steps.length}: waiting for your wallet…`);
      };
      const trade = async () => {
        const together = steps.length > 1 ? await sendTogether(me!, steps.map(encode), stillShown, () => (hasLeft = true)) : null;
        return together ? { receipts: together, moved: movedFor(me!.address, together.map(wholeReceipt)) } : send(build, ask, asTrader(me!), { onStep });
      };
      const { receipts, moved } = await trade().catch((failure: unknown) => {
        if (!hasLeft && !(failure instanceof SendUncertain)) finish();
        throw failure;
      });
      // Whoever has left sees no outcome: they are told to look when they come back.
      if (!isShown()) return;
      // A wallet may call a batch done that is half done: where neither token of the trade moved, its end was not seen.
      if (!moved[USDG] && !moved[build.tokenAddress.toLowerCase()]) throw new Error('By its receipts nothing was traded: what became of it is uncertain. Look at it in your wallet.');
      finish();
      onDone({ hashes: eachOnce(receipts).map(({ transactionHash }) => transactionHash), moved, build });
    });
  return (
    <Card title="Review">
      {found.issues.map((issue) => <p key={issue.code} class={`note ${NOTES[issue.severity]}`}><strong>{issue.code.replaceAll('_', ' ')}</strong> {issue.message}</p>)}
      {found.simulation?.steps.map((step, index) => !step.success && <p key={index} class="note bad"><strong>would fail</strong> {step.description} {step.reason?.message}</p>)}
      {found.simulationNote && <p class="note stale"><strong>not tried</strong> {found.simulationNote}</p>}
      <p class="lead">{note}</p>
      <ol class="decoded">{steps.map((step, index) => <li key={index}><Decoded step={step} symbol={build.symbol} token={build.tokenAddress} /></li>)}</ol>
      <button type="button" class="primary" disabled={busy || isOpen} onClick={() => void sign()}>{busy ? stage || 'Sending…' : `Sign and send ${steps.length === 1 ? 'it' : `${steps.length} steps`}`}</button>
      <p class="legend">What is signed is made from the figures above, not from the bytes that were received.</p>
      <Said error={error} />
    </Card>
  );
}

/** A trade in a line, for whoever comes back to it. */
function inShort({ ask: { side, amount, denom, recipient }, build: { symbol, deadline } }: Reviewed): string {
  return `${side === 'buy' ? 'Buy' : 'Sell'} ${amount} ${denom === 'token' ? symbol : `USDG of ${symbol}`} for ${shortAddress(recipient)}, good until ${day(deadline * 1000)},`;
}

function Decoded({ step, symbol, token }: { step: Approval | Swap; symbol: string; token: string }): JSX.Element {
  const named = (address: string, amount: bigint) => (address === token.toLowerCase() ? `${fromUnits(amount, 18)} ${symbol}` : `${fromUnits(amount, 6)} USDG`);
  if (step.kind === 'approval') {
    return <Facts of={[['Allow', <span class="figure">{named(step.token, step.amount)}</span>], ['to be taken by', <Code>{step.spender}</Code>]]} />;
  }
  const isIn = step.kind === 'exactIn';
  const stock = step.tokenIn === token.toLowerCase() ? step.tokenIn : step.tokenOut;
  return (
    <Facts
      of={[
        [isIn ? 'Pay exactly' : 'Pay at most', <span class="figure">{named(step.tokenIn, isIn ? step.amount : step.bound)}</span>],
        [isIn ? 'Get at least' : 'Get exactly', <span class="figure">{named(step.tokenOut, isIn ? step.bound : step.amount)}</span>],
        [`${symbol} is the token`, <Code>{stock}</Code>],
        ['To', <Code>{step.recipient}</Code>],
        ['Pool fee', <span class="figure">{(step.fee / 10_000).toFixed(2)} %</span>],
        ['Through', <Code>{step.router}</Code>],
        ['Not after', day(step.deadline * 1000)],
      ]}
    />
  );
}

function Outcome({ of: { moved, hashes, build } }: { of: Result }): JSX.Element {
  const { me } = useWallets();
  // A wallet may take its fee in a coin of its own: of that nothing is known but its base units.
  const named = (token: string, amount: bigint) => {
    const sign = amount > 0n ? '+' : '';
    if (token === build.tokenAddress.toLowerCase()) return `${sign}${fromUnits(amount, 18)} ${build.symbol}`;
    return token === USDG ? `${sign}${fromUnits(amount, 6)} USDG` : `${sign}${amount} base units of ${token}`.replace('-', '−');
  };
  return (
    <Card title="Done">
      <p class="note good" role="status" {...useArrival<HTMLParagraphElement>()}>Mined. This is what really moved:</p>
      <Facts
        of={Object.entries(moved).map(([token, amount]) => [amount > 0n ? 'Received' : 'Paid', <span class="figure">{named(token, amount)}</span>] as [string, JSX.Element])}
      />
      {hashes.map((hash) => <p key={hash} class="legend">Transaction <Code>{hash}</Code></p>)}
      {me && <Link to={`/portfolio/${me.address}`} class="button">Portfolio of {shortAddress(me.address)}</Link>}
    </Card>
  );
}
