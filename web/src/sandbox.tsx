// The hands on a sandbox world.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Fault } from 'tickyard/sandbox';
import { sandbox, useAsk, useRoute } from './api';
import { day } from './figures';
import { Card, Choice, Code, Empty, Facts, Said, Shown, useAct } from './parts';

const MODES = [['ok', 'ok'], ['down', 'down'], ['slow', 'slow'], ['garbage', 'garbage'], ['throttle', 'throttle']] as const;

export function SandboxView(): JSX.Element {
  const exists = useRoute('GET /sandbox');
  if (exists === false) return <Empty title="This service is not a sandbox." />;
  return (
    <>
      <div class="head"><h1>Sandbox</h1></div>
      <div class="columns even">
        <Clock />
        <Price />
        <Fund />
        <Faults />
        <World />
      </div>
    </>
  );
}

/** What came of the newest try alone: a note of success goes when the next one begins. */
function useTry() {
  const [said, setSaid] = useState('');
  const { act, busy, error } = useAct();
  return { said, busy, error, attempt: (work: () => Promise<string>) => void act(async () => (setSaid(''), setSaid(await work()))) };
}

function Clock(): JSX.Element {
  const clock = useAsk('sandbox clock', (signal) => sandbox.readSandboxClock({ signal }), 2000);
  const { said, attempt, busy, error } = useTry();
  const moved = ({ now }: { now: string }) => (clock.reload(), `It is ${day(now)}.`);
  const move = (advanceSeconds: number) => attempt(async () => moved(await sandbox.moveSandboxClock({ advanceSeconds })));
  const to = (hour: number) =>
    attempt(async () => {
      const now = new Date((await sandbox.readSandboxClock()).now);
      const next = new Date(now);
      next.setUTCHours(hour, 0, 1, 0);
      if (next <= now) next.setUTCDate(next.getUTCDate() + 1);
      return moved(await sandbox.moveSandboxClock({ to: next.toISOString() }));
    });
  const tick = () =>
    attempt(async () => {
      const done = await sandbox.runSandboxTick();
      clock.reload();
      return `${done.sampled} tokens sampled at ${day(done.slot)}; ${done.fired} alerts fired, ${done.delivered} delivered.`;
    });
  return (
    <Card title="Clock">
      <Shown of={clock} what="clock" rows={1}>{({ now }) => <p class="big figure">{day(now)}</p>}</Shown>
      <div class="buttons">
        <button type="button" class="primary" disabled={busy} onClick={tick}>Next five minutes</button>
        <button type="button" disabled={busy} onClick={() => move(3600)}>+1 h</button>
        <button type="button" disabled={busy} onClick={() => to(23)}>To 23:00, snapshot</button>
        <button type="button" disabled={busy} onClick={() => to(0)}>To 00:00, claims</button>
      </div>
      {said && <p class="note" role="status">{said}</p>}
      <p class="legend">Time only moves forward. The page “Pay” goes by it; other payers go by their own clock: after more than 4 minutes they pay in USDC.</p>
      <Said error={error} />
    </Card>
  );
}

function Price(): JSX.Element {
  const [symbol, setSymbol] = useState('AAPL');
  const [level, setLevel] = useState('');
  const { said, attempt, busy, error } = useTry();
  const move = (event: Event) => {
    event.preventDefault();
    attempt(async () => {
      const moved = await sandbox.moveSandboxPrice({ symbol, price: level });
      return `${moved.symbol} trades at ${moved.price}.`;
    });
  };
  return (
    <Card title="Price">
      <form class="row" onSubmit={move}>
        <label>Symbol<input value={symbol} onInput={(event) => setSymbol(event.currentTarget.value)} maxLength={16} required /></label>
        <label>To<input value={level} onInput={(event) => setLevel(event.currentTarget.value)} inputMode="decimal" required placeholder="250" /></label>
        <button class="primary" disabled={busy}>Trade it there</button>
      </form>
      {said && <p class="note" role="status">{said}</p>}
      <Said error={error} />
    </Card>
  );
}

function Fund(): JSX.Element {
  const [address, setAddress] = useState('');
  const [asset, setAsset] = useState('USDG');
  const [amount, setAmount] = useState('1000');
  const { said, attempt, busy, error } = useTry();
  const fund = (event: Event) => {
    event.preventDefault();
    attempt(async () => {
      const done = await sandbox.fundSandboxWallet({ address, asset, amount });
      return `It holds ${done.balance} ${done.asset}.`;
    });
  };
  return (
    <Card title="Money">
      <form class="row" onSubmit={fund}>
        <label class="grow">Address<input value={address} onInput={(event) => setAddress(event.currentTarget.value)} required pattern="0x[0-9a-fA-F]{40}" placeholder="0x…" spellcheck={false} /></label>
        <label>Asset<input value={asset} onInput={(event) => setAsset(event.currentTarget.value)} required maxLength={16} /></label>
        <label>Amount<input value={amount} onInput={(event) => setAmount(event.currentTarget.value)} required inputMode="decimal" /></label>
        <button class="primary" disabled={busy}>Fund</button>
      </form>
      {said && <p class="note" role="status">{said}</p>}
      <p class="legend">ETH, USDG, USDC, SERVICE or a ticker.</p>
      <Said error={error} />
    </Card>
  );
}

function Faults(): JSX.Element {
  // Asked, not remembered: a fault outlives this page, and others set them too.
  const faults = useAsk('faults', (signal) => sandbox.readSandboxFaults({ signal }), 3000);
  const { act, error } = useAct();
  const set = (target: Fault['target'], mode: Fault['mode']) =>
    void act(async () => {
      await sandbox.setSandboxFault({ target, mode });
      faults.reload();
    });
  return (
    <Card title="Faults">
      <Shown of={faults} what="faults" rows={5}>
        {(data) =>
          data.faults.map(({ target, mode }) => (
            <div key={target} class="fault">
              <span>{target}</span>
              <Choice of={MODES} value={mode} onPick={(picked) => set(target, picked)} label={`What the ${target} does`} />
            </div>
          ))
        }
      </Shown>
      <Said error={error} />
    </Card>
  );
}

function World(): JSX.Element {
  const world = useAsk('world', (signal) => sandbox.showSandbox({ signal }));
  return (
    <Card title="World">
      <Shown of={world} what="world">
        {(data) => <Facts of={[['RPC', <Code>{data.rpcUrl}</Code>], ['Inbox', <Code>{data.inboxUrl}</Code>], ...data.wallets.slice(0, 4).map((wallet) => [wallet.name, <Code>{wallet.address}</Code>] as [string, JSX.Element])]} />}
      </Shown>
    </Card>
  );
}
