// The reward day: when things happen, what there is, what is mine, and books that anybody can check.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Claimed, Earn, EpochBooks, WalletStatus } from 'tickyard';
import { client, useAsk } from './api';
import { type Finding, verify } from './books';
import { clock, day, exactUsd, short, shortAddress, tokens } from './figures';
import { Card, Code, Empty, Facts, Said, Shown, useAct } from './parts';
import { signText, useWallets } from './wallet';

export function EarnView(): JSX.Element {
  const earn = useAsk<Earn>('earn', (signal) => client.getEarn({ signal }), 5000);
  const { me } = useWallets();
  // Of another wallet nothing is true that was found out before, and one that never answers holds up no other.
  const wallet = me && `${me.name} ${me.address}`;
  const status = useAsk('now', (signal) => client.getStatus({ signal }), 5000);
  return (
    <>
      <div class="head"><h1>Earn</h1></div>
      <Shown of={earn} what="rewards" rows={6}>
        {(data) => (
          <div class="columns">
            <div class="wide">
              <Card title="The day, UTC" aside={status.data && <small>now {clock(status.data.asOf)}</small>}>
                <Timeline earn={data} now={status.data?.asOf ?? null} />
              </Card>
              <Mine key={`${wallet} ${data.epoch?.id}`} earn={data} now={status.data?.asOf ?? null} />
              {data.epoch && <Books key={`${wallet} ${data.epoch.id}`} id={data.epoch.id} />}
            </div>
            <div class="side">
              <Card title={`Accruing: ${data.accruing.epoch}`}>
                <p class="big figure">{exactUsd((Number(data.accruing.revenueUsd) + Number(data.accruing.rolloverUsd)).toFixed(6))}</p>
                <Facts of={[['Paid calls', <span class="figure">{data.accruing.calls}</span>], ['From calls', exactUsd(data.accruing.revenueUsd)], ['Rolled over', exactUsd(data.accruing.rolloverUsd)]]} />
              </Card>
              {data.epoch && (
                <Card title={`Epoch ${data.epoch.id}`} aside={<span class={`mark ${data.epoch.claimOpen ? 'good' : ''}`}>{data.epoch.claimOpen ? 'open' : 'not open'}</span>}>
                  <p class="big figure">{data.epoch.poolUsd === null ? 'not sealed' : exactUsd(data.epoch.poolUsd)}</p>
                  <Facts of={[['Eligible wallets', <span class="figure">{data.epoch.eligibleWallets}</span>], ['Claimed', <span class="figure">{data.epoch.claimedWallets} · {exactUsd(data.epoch.claimedUsd)}</span>], ['Window', `${day(data.epoch.claimOpenAt).replace(' UTC', '')} – ${clock(data.epoch.claimCloseAt)}`]]} />
                </Card>
              )}
              <ReservesCard />
            </div>
          </div>
        )}
      </Shown>
    </>
  );
}

/** Twenty-five hours from one snapshot to the end of the claims. */
function Timeline({ earn, now }: { earn: Earn; now: string | null }): JSX.Element {
  const hour = now === null ? null : new Date(now).getUTCHours() + new Date(now).getUTCMinutes() / 60;
  const at = (value: number) => ({ '--at': `${(value / 24) * 100}%` }) as Record<string, string>;
  return (
    <>
      <div class="day" role="img" aria-label={`Claims from ${earn.schedule.claimOpenUtc} to ${earn.schedule.claimCloseUtc}, snapshot at ${earn.schedule.snapshotUtc}`}>
        <i class="window" style={{ width: `${100 / 24}%` }} />
        <i class="tick" style={at(23)} />
        {hour !== null && <i class="now" style={at(hour)} />}
        {[0, 6, 12, 18, 24].map((each) => <span key={each} style={at(each)}>{String(each % 24).padStart(2, '0')}</span>)}
      </div>
      <ol class="steps">
        <li><strong>00:00 – 01:00</strong> claims for yesterday are open; what is not claimed rolls over.</li>
        <li><strong>all day</strong> paid calls fill the pool.</li>
        <li><strong>23:00</strong> snapshot: whoever holds at least {short(earn.thresholdTokens)} {earn.token.symbol} takes part. Next at {day(earn.schedule.nextSnapshotAt)}.</li>
      </ol>
    </>
  );
}

function Mine({ earn, now }: { earn: Earn; now: string | null }): JSX.Element {
  const { me } = useWallets();
  const mine = useAsk(me && `earn ${me.address}`, (signal) => client.getEarnStatus({ address: me!.address }, { signal }), 5000);
  const { act, busy, error } = useAct();
  const [told, setTold] = useState<(Claimed & { at: number }) | null>(null);
  const claim = (epoch: number, message: string) =>
    act(async () => {
      const signature = await signText(me!, message);
      setTold(null);
      try {
        setTold({ ...(await client.claimEarn({ epoch, address: me!.address, signature })), at: Date.now() });
      } catch (failure) {
        // A claim without an answer may be reserved, and then what becomes of it is told below: no failure stays beside it.
        const found = await client.getEarnStatus({ address: me!.address }).catch(() => null);
        if (found?.epoch.id !== epoch || !found.epoch.claimed) throw failure;
      } finally {
        mine.reload();
      }
    });
  // Whatever was asked for after it knows better: a transaction is replaced by another, and a payout may fail.
  const answer = told && told.at >= (mine.at ?? 0) ? told : null;
  // By its day: the standing goes on to the next one a moment before the rest of the page does.
  const lastClaimed = useRef<number | null>(null);
  if (mine.data?.epoch.claimed) lastClaimed.current = mine.data.epoch.id;
  if (answer) lastClaimed.current = answer.epoch;
  if (!me) return <Card title="My share"><Empty title="Connect a wallet to see your share.">Looking costs nothing; a claim is a signature, and the service pays the gas.</Empty></Card>;
  return (
    <Card title="My share" aside={<small>{shortAddress(me.address)}</small>}>
      <Shown of={mine} what="share">
        {({ balanceTokens, eligibleNow, epoch }) => (
          <>
            <Facts
              of={[
                [`Balance of ${earn.token.symbol}`, <span class="figure">{tokens(balanceTokens)}</span>],
                ['Eligible now', eligibleNow ? 'yes' : 'no'],
                [`In the snapshot of ${epoch.id}`, epoch.inSnapshot ? 'yes' : 'no'],
                ['Claimable', <span class="figure" data-testid="claimable">{claimable(epoch, now)}</span>],
              ]}
            />
            {epoch.claimOpen && epoch.inSnapshot && !epoch.claimed && !Number(epoch.claimableUsd) && <p class="legend">There is nothing to claim: your share of this pool is less than a millionth of a dollar.</p>}
            {epoch.claimOpen && epoch.inSnapshot && !epoch.claimed && Number(epoch.claimableUsd) > 0 && (
              <>
                <details><summary>What you sign</summary><pre tabIndex={0} aria-label="What you sign">{epoch.message}</pre></details>
                <button type="button" class="primary" disabled={busy} onClick={() => void claim(epoch.id, epoch.message)}>{busy ? 'Claiming…' : `Claim ${exactUsd(epoch.claimableUsd)}`}</button>
              </>
            )}
            <Payout tx={answer?.tx ?? epoch.claimTx} isClaimed={answer !== null || epoch.claimed} wasClaimed={lastClaimed.current === epoch.id} told={told?.epoch === epoch.id ? told : null} />
          </>
        )}
      </Shown>
      <Said error={error} />
    </Card>
  );
}

/** A share is claimable for an hour; before it and after it the figure is the same, and nobody can have it. */
function claimable({ claimed, claimOpen, claimableUsd, claimCloseAt }: WalletStatus['epoch'], now: string | null): string {
  if (claimed) return 'claimed';
  if (claimOpen || !Number(claimableUsd)) return exactUsd(claimableUsd);
  const isOver = now !== null && Date.parse(now) >= Date.parse(claimCloseAt);
  // Nobody claimed it, or its payout failed: which of the two is not told here.
  return isOver ? `nothing: the hour for ${exactUsd(claimableUsd)} is over` : `${exactUsd(claimableUsd)} when claims open`;
}

/** What was sent is not yet paid: only a payout that is final is called so. */
function Payout({ tx, isClaimed, wasClaimed, told }: { tx: string | null; isClaimed: boolean; wasClaimed: boolean; told: Claimed | null }): JSX.Element | null {
  if (!isClaimed) return wasClaimed ? <p class="note bad" role="status">The payout failed on the chain: nothing was paid.</p> : null;
  if (!tx) return <p class="note" role="status">Your claim is reserved and will be paid. Its transaction is not known yet.</p>;
  return <p class="note good" role="status">{told?.status === 'confirmed' ? 'Paid' : 'Sent'}{told ? ` ${exactUsd(told.amountUsd)}` : ''}. Transaction <Code>{tx}</Code></p>;
}

function Books({ id }: { id: number }): JSX.Element {
  const { me } = useWallets();
  const books = useAsk<EpochBooks>(`books ${id}`, (signal) => client.getEpochBooks({ id }, { signal }), 15_000);
  const [findings, setFindings] = useState<Finding[] | null>(null);
  const { act, busy, error } = useAct();
  const look = () =>
    act(async () => {
      setFindings(null);
      setFindings(await verify(id, await client.getEpochBooks({ id }), await client.getEarn(), me?.provider ?? null));
    });
  return (
    <Card title={`Books of ${id}`} aside={<button type="button" disabled={busy} onClick={() => void look()}>{busy ? 'Checking…' : 'Check them here'}</button>}>
      <Shown of={books} what="books">
        {(data) => (
          <Facts of={[['State', data.state], ['Snapshot at block', <span class="figure">{data.blockNumber ?? '–'}</span>], ['Wallets', <span class="figure">{data.eligibleWallets}</span>], ['Pool', exactUsd(data.poolUsd)], ['Paid', exactUsd(data.paidUsd)], ['Rolled over', exactUsd(data.rolledOverUsd)]]} />
        )}
      </Shown>
      <div role="status">
        {findings && (
          <ul class="findings" aria-label="What the check found">
            {findings.map(({ ok, text }) => <li key={text} data-ok={ok}><span role="img" aria-label={ok ? 'right' : ok === null ? 'not looked at' : 'wrong'}>{ok ? '✓' : ok === null ? '·' : '✗'}</span> {text}</li>)}
          </ul>
        )}
      </div>
      <Said error={error} />
    </Card>
  );
}

function ReservesCard(): JSX.Element {
  const found = useAsk('reserves', (signal) => client.getEarnReserves({ signal }), 15_000);
  return (
    <Card title="Reserves">
      <Shown of={found} what="reserves">
        {(data) => (
          <Facts of={[['Held to pay with', exactUsd(data.payer.usdg)], ['Sealed', exactUsd(data.sealedUsd)], ['Owed', exactUsd(data.owedUsd)], ['Paid in all', exactUsd(data.paidUsd)], ['Desk', <Code>{data.desk}</Code>], ['At block', <span class="figure">{data.blockNumber}</span>]]} />
        )}
      </Shown>
    </Card>
  );
}
