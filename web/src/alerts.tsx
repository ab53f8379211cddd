import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type AlertRecord, NotFound } from 'tickyard';
import { AlertForm } from './alert_form';
import { client, sandbox, useAsk, useRoute } from './api';
import { day, ordered } from './figures';
import { change, type MyAlert, myAlerts, onElsewhere, take } from './my_alerts';
import { Card, Empty, Said, Shown, useAct } from './parts';
import { Link } from './router';

export function AlertsView(): JSX.Element {
  const [mine, setMine] = useState(myAlerts);
  const isSandbox = useRoute('GET /sandbox');
  useEffect(() => onElsewhere(() => setMine(myAlerts())), []);
  return (
    <>
      <div class="head"><h1>Alerts</h1></div>
      <div class="columns">
        <div class="wide">
          <Card title="New alert"><AlertForm onCreated={() => setMine(myAlerts())} /></Card>
          <Card title="Mine" aside={<Carry mine={mine} onTaken={setMine} />}>
            {mine.length ? (
              <ul class="alerts">{mine.map((alert) => <Alert key={alert.id} alert={alert} count={mine.length} onForget={() => setMine(change((kept) => kept.filter(({ id }) => id !== alert.id)))} />)}</ul>
            ) : (
              <Empty title="No alert yet.">Set one above, or drag the line on a chart. An alert fires once, when the sampled price crosses it.</Empty>
            )}
            <p class="legend">Ids and secrets are kept in this browser only. An export holds the secrets: whoever has it can cancel your alerts.</p>
          </Card>
        </div>
        {isSandbox && <div class="side"><Inbox /></div>}
      </div>
    </>
  );
}

// A client has so many questions a minute for all that it asks: however many alerts there are, they take less than half of them.
const EACH_MS = 250;
// Nothing more becomes of these.
const isOver = (alert: AlertRecord | null) => alert?.status === 'cancelled' || alert?.status === 'expired' || alert?.delivery === 'delivered' || alert?.delivery === 'failed';

// Of which the service said that it has none with this id and secret.
const gone = new Set<string>();
const named = ({ id, secret }: MyAlert) => `${id} ${secret}`;

function Alert({ alert, count, onForget }: { alert: MyAlert; count: number; onForget: () => void }): JSX.Element {
  const pace = (told: AlertRecord | null) => (isOver(told) ? 0 : Math.max(3000, EACH_MS * count));
  const state = useAsk<AlertRecord>(`alert ${named(alert)}`, (signal) => client.getAlert({ id: alert.id, secret: alert.secret }, { signal }), pace);
  const { act, busy, error } = useAct();
  const now = state.data;
  useEffect(() => void (state.error instanceof NotFound ? gone.add(named(alert)) : state.error || !now || gone.delete(named(alert))), [now, state.error]);
  // What is kept here is a note of our own, or of whoever wrote an export; what fires is what the service has.
  const { symbol, condition, price: level } = now ?? alert;
  const cancel = () => act(async () => void (await client.cancelAlert({ id: alert.id, secret: alert.secret }), state.reload()));
  return (
    <li>
      <div>
        <Link to={`/asset/${encodeURIComponent(symbol)}`}><strong>{symbol}</strong></Link> {condition} <span class="figure">{ordered(level)}</span>{' '}
        {state.error instanceof NotFound ? <span class="mark warn">not found</span> : <span class={`mark ${now?.status === 'fired' ? 'good' : ''}`}>{now?.status ?? '…'}</span>}
        {now?.delivery && <span class={`mark ${now.delivery === 'delivered' ? 'good' : 'warn'}`}>{now.delivery}</span>}
      </div>
      <small>
        {state.error instanceof NotFound && 'The service has no alert with this id and secret. '}
        {now?.firedAt ? `fired ${day(now.firedAt)} at ${ordered(now.firedPrice)}` : now ? `until ${day(now.expiresAt)}` : ''} {now && `→ ${now.webhookUrl}`}
      </small>
      <div class="buttons">
        {now?.status === 'active' && <button type="button" class="quiet" disabled={busy} onClick={() => void cancel()}>Cancel</button>}
        {(now?.status !== 'active' || state.error) && <button type="button" class="quiet" onClick={onForget}>Forget</button>}
      </div>
      <Said error={error ?? (state.error instanceof NotFound ? null : state.error)} />
    </li>
  );
}

function Carry({ mine, onTaken }: { mine: MyAlert[]; onTaken: (alerts: MyAlert[]) => void }): JSX.Element {
  const { act, error } = useAct();
  const [said, setSaid] = useState('');
  const save = () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([JSON.stringify(mine, null, 1)], { type: 'application/json' }));
    link.download = 'tickyard-alerts.json';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const load = (event: Event) =>
    act(async () => {
      const chooser = event.currentTarget as HTMLInputElement;
      const [file] = chooser.files ?? [];
      // Else the same file, chosen again, is no change.
      chooser.value = '';
      if (!file) return;
      setSaid('');
      const text = await file.text().catch(() => {
        throw new Error('The file could not be read.');
      });
      const { alerts, said } = take(text, (alert) => gone.has(named(alert)));
      onTaken(alerts);
      setSaid(said);
    });
  return (
    <span class="buttons">
      <button type="button" class="quiet" disabled={!mine.length} onClick={save}>Export</button>
      <label class="button quiet">Import<input type="file" accept="application/json" class="out" onChange={(event) => void load(event)} /></label>
      {said && <p class="note" role="status">{said}</p>}
      <Said error={error} />
    </span>
  );
}

function Inbox(): JSX.Element {
  const inbox = useAsk('inbox', (signal) => sandbox.readSandboxInbox({}, { signal }), 3000);
  return (
    <Card title="Inbox of the sandbox">
      <Shown of={inbox} what="deliveries">
        {({ deliveries }) =>
          deliveries.length ? (
            <ul class="list">
              {deliveries.slice(-20).reverse().map((each, index) => (
                <li key={index}><strong>{each.method} {each.path}</strong> <small>{day(each.receivedAt)}</small><pre tabIndex={0} aria-label="Body of the webhook">{pretty(each.body)}</pre></li>
              ))}
            </ul>
          ) : (
            <Empty title="Nothing arrived yet.">Move a price and the clock under <Link to="/sandbox">Sandbox</Link>; a webhook that fires shows here.</Empty>
          )
        }
      </Shown>
    </Card>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 1);
  } catch {
    return text;
  }
}

