import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { CreatedAlert } from 'tickyard';
import { client, sandbox, useAsk, useRoute } from './api';
import { ordered } from './figures';
import { change, type Condition, makeRoom } from './my_alerts';
import { Choice, Said, useAct, useArrival } from './parts';
import { Link } from './router';

// The service's own words; the compiler asks for one that is new.
const WORDS: Record<Condition, string> = { above: 'above', below: 'below' };
const SIDES = Object.entries(WORDS) as [Condition, string][];

/** Where an alert goes: a webhook of one's own; in the sandbox the inbox stands ready. */
export function AlertForm(props: { symbol?: string; condition?: Condition; price?: number; onClose?: () => void; onCreated: (alert: CreatedAlert) => void }): JSX.Element {
  const isSandbox = useRoute('GET /sandbox');
  const world = useAsk(isSandbox ? 'world' : null, () => sandbox.showSandbox());
  const [symbol, setSymbol] = useState(props.symbol ?? '');
  const [condition, setCondition] = useState<Condition>(props.condition ?? 'above');
  const [level, setLevel] = useState(props.price ? String(props.price) : '');
  const [url, setUrl] = useState('');
  const [answer, setAnswer] = useState<CreatedAlert | null>(null);
  const { act, busy, error } = useAct();
  // With the line alone: while somebody looks at the form a new last price may cross it, and that turns no alert around.
  useEffect(() => {
    if (props.price !== undefined) setLevel(String(props.price));
    if (props.condition !== undefined) setCondition(props.condition);
  }, [props.price]);
  useEffect(() => {
    if (world.data && !url) setUrl(`${world.data.inboxUrl}/from-the-app`);
  }, [world.data]);
  const create = (event: Event) => {
    event.preventDefault();
    void act(async () => {
      setAnswer(null);
      makeRoom();
      const alert = await client.createAlert({ symbol, condition, price: Number(level), webhookUrl: url });
      change((mine) => [{ id: alert.id, secret: alert.secret, symbol: alert.symbol, condition: alert.condition, price: alert.price }, ...mine]);
      setAnswer(alert);
      props.onCreated(alert);
    });
  };
  return (
    <form class="row" onSubmit={create} aria-label="New alert">
      {props.symbol === undefined && (
        <label>Symbol<input value={symbol} onInput={(event) => setSymbol(event.currentTarget.value)} required maxLength={16} placeholder="AAPL" autocapitalize="characters" /></label>
      )}
      <div class="field">When<Choice of={SIDES} value={condition} onPick={setCondition} label="Direction" /></div>
      <label>Price<input value={level} onInput={(event) => setLevel(event.currentTarget.value)} required inputMode="decimal" pattern="[0-9]*\.?[0-9]+" placeholder="250" /></label>
      <label class="grow">Webhook<input type="url" value={url} onInput={(event) => setUrl(event.currentTarget.value)} required placeholder="https://…" /></label>
      <button class="primary" disabled={busy}>{busy ? 'Setting…' : 'Set alert'}</button>
      {props.onClose && <button type="button" class="quiet" onClick={props.onClose}>Not now</button>}
      {/* It is there before it says anything: only then is it read out. */}
      <p class={answer ? 'note good' : 'out'} role="status">{answer && inShort(answer)}</p>
      <Said error={error} />
    </form>
  );
}

const inShort = ({ symbol, condition, price }: CreatedAlert) => `Set: ${symbol} ${condition} ${ordered(price)}.`;

/** What became of an order, in the words of the answer: the fields and the line it came from may say something else by now. */
export function AlertSet({ of, onClose }: { of: CreatedAlert; onClose: () => void }): JSX.Element {
  return (
    <p class="note good" role="status" {...useArrival<HTMLParagraphElement>()}>
      {inShort(of)} <Link to="/alerts">My alerts</Link> <button type="button" class="quiet" onClick={onClose}>Close</button>
    </p>
  );
}
