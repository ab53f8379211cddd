// One token: candles against the equity quote, pools and depth, research with its sources.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { CorporateAction, CreatedAlert, History, Stats } from 'tickyard';
import { AlertForm, AlertSet } from './alert_form';
import { client, inWords, later, useAsk } from './api';
import type { Chart, Interval } from './chart';
import { DepthChart } from './depth';
import { clock, inPlain, ordered, percent, price, shortAddress, short, tokens, usd } from './figures';
import { useMarket } from './live';
import { Card, Change, Choice, Code, Empty, Facts, Failed, Shown } from './parts';
import { Research } from './research';
import { Link } from './router';

const INTERVALS = [['5m', '5 m'], ['15m', '15 m'], ['1h', '1 h'], ['4h', '4 h'], ['1d', '1 d']] as const;

export function AssetView({ rest }: { rest: string }): JSX.Element {
  const symbol = rest.toUpperCase();
  const [interval, setInterval] = useState<Interval>('15m');
  const { rows, trouble } = useMarket();
  const row = rows?.find((each) => each.symbol === symbol);
  // What is not listed is not asked for; when the list itself is away, the service must say it.
  const about = (what: string) => (row || (!rows && trouble) ? `${what} ${symbol}` : null);
  const stats = useAsk<Stats>(about('stats'), (signal) => client.getStats({ symbol }, { signal }), 5000);
  const quote = useAsk(about('price'), (signal) => client.getPrice({ symbol }, { signal }), 10_000);
  const asset = useAsk(about('asset'), (signal) => client.getAsset({ symbol }, { signal }), 60_000);
  const history = useAsk<History>(about(`history ${interval}`), (signal) => client.getHistory({ symbol, interval, limit: 300 }, { signal }), 15_000);
  const actions = useAsk(about('actions'), (signal) => client.listCorporateActions({ symbol }, { signal }), 60_000);
  if (rows && !row) {
    return <Empty title={`There is no token called ${symbol}.`}><Link to="/">All markets</Link></Empty>;
  }
  // What cannot be confirmed stands below with its time, and nowhere else.
  const shown = stats.error ? undefined : stats.data?.price;
  const live = row && !row.error && !row.isComing && !trouble ? row.price : shown?.dexUsd;
  return (
    <>
      <div class="head asset">
        <h1>{symbol}</h1>
        <span class="name">{stats.data?.name ?? row?.name}</span>
        <strong class="big figure">{stats.error ? <span class="hidden">hidden</span> : price(live)}</strong>
        <Change of={shown?.change24hPct} />
        {quote.data?.halted && <span class="mark warn">halted</span>}
        {row?.pending && <span class="mark" title={`Corporate action: ${row.pending}`}>pending</span>}
        <Link to={`/trade/${encodeURIComponent(symbol)}`} class="button primary">Trade</Link>
      </div>
      <div class="columns">
        <div class="wide">
          <Card title="Price" aside={<Choice of={INTERVALS} value={interval} onPick={setInterval} label="Length of a candle" />}>
            {history.error && !history.data ? (
              <Failed what="history" error={history.error} since={history.since} onRetry={history.reload} />
            ) : history.data && !history.data.candles.length ? (
              <Empty title="No sample yet.">The price is sampled every five minutes; the first candle appears then.</Empty>
            ) : (
              <>
                {history.error && <p class="note stale" role="status">{inWords(history.error)} The candles below are from {clock(history.at!)}.</p>}
                <Candles key={symbol} symbol={symbol} history={history.data} interval={interval} equity={shown ? Number(shown.equityTokenUsd) : null} pool={shown?.dexUsd ? Number(shown.dexUsd) : null} actions={actions.data?.corpActions ?? []} />
              </>
            )}
          </Card>
          {about('') !== null && <Research symbol={symbol} />}
        </div>
        <div class="side">
          <Card title="Now">
            <Shown of={stats} what="prices" rows={5}>
              {(data) => (
                <Facts
                  of={[
                    ['Pool price', <span class="figure">{usd(data.price.dexUsd)}</span>],
                    ['Equity quote × multiplier', <span class="figure">{usd(data.price.equityTokenUsd)}</span>],
                    ['Premium', <Change of={data.price.dexPremiumPct} quiet />],
                    ['24 h', data.price.change24hPct === null ? 'no sample a day ago' : <Change of={data.price.change24hPct} />],
                    ['Underlying', <span class="figure">{usd(data.price.underlyingMidUsd)}</span>],
                    ...(quote.data?.dailyLow && quote.data.dailyHigh ? [['Its day range', <span class="figure">{price(quote.data.dailyLow)} – {price(quote.data.dailyHigh)}</span>] as [string, JSX.Element]] : []),
                    ['Shares per token', <span class="figure">{tokens(data.price.multiplier)}</span>],
                    ...(asset.data?.pendingMultiplier ? [['Shares per token, soon', <span class="figure">{tokens(asset.data.pendingMultiplier)}</span>] as [string, JSX.Element]] : []),
                    ['Supply', <span class="figure">{short(data.supply.totalTokens)} · {usd(data.supply.valueUsd)}</span>],
                    ['Contract', data.tokenAddress ? <Code>{data.tokenAddress}</Code> : 'none on the chain'],
                  ]}
                />
              )}
            </Shown>
          </Card>
          {about('') !== null && <DepthChart symbol={symbol} />}
          <Card title="Pools">
            <Shown of={stats} what="pools" rows={2}>
              {(data) =>
                data.pools.length ? (
                  <table class="plain">
                    <thead><tr><th scope="col">Pool</th><th scope="col">Fee</th><th scope="col">Price</th><th scope="col">TVL</th></tr></thead>
                    <tbody>
                      {data.pools.map((pool) => (
                        <tr key={pool.pool}>
                          <td title={pool.pool}>{shortAddress(pool.pool)}</td>
                          <td class="figure">{(pool.feeTier / 10_000).toFixed(2)} %</td>
                          <td class="figure">{price(pool.price)}</td>
                          <td class="figure">${short(pool.tvlUsd)}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                ) : (
                  <Empty title="No pool trades this token." />
                )
              }
            </Shown>
          </Card>
          <Actions of={actions.data?.corpActions ?? []} />
        </div>
      </div>
    </>
  );
}

function Actions({ of }: { of: CorporateAction[] }): JSX.Element | null {
  if (!of.length) return null;
  return (
    <Card title="Corporate actions">
      <ul class="list">
        {of.map((action) => (
          <li key={action.id}><strong>{inPlain(action.type)}</strong> {action.processDate ?? 'no date yet'} <span class="mark">{inPlain(action.status)}</span></li>
        ))}
      </ul>
    </Card>
  );
}

/** Where the label of the line stands. With an arrow up or down the line itself is off the picture, that way. */
interface Place {
  y: number;
  mark: '↑' | '↕' | '↓';
}

/** The chart, with a line on it that becomes an alert where it is dropped. */
function Candles(props: { symbol: string; history: History | null; interval: Interval; equity: number | null; pool: number | null; actions: CorporateAction[] }): JSX.Element {
  const { symbol, history, interval, equity, pool, actions } = props;
  const box = useRef<HTMLDivElement>(null);
  const [chart, setChart] = useState<Chart | null>(null);
  const code = useAsk('chart', (signal) => later('src/chart.ts', () => import('./chart'), signal));
  const [level, setLevel] = useState<number | null>(null);
  const [place, setPlace] = useState<Place | null>(null);
  /** Which finger or mouse has the line. */
  const [dragging, setDragging] = useState<number | null>(null);
  const [dropped, setDropped] = useState(false);
  const [answer, setAnswer] = useState<CreatedAlert | null>(null);
  // Whoever touches the line has another alert in mind than the one that was set.
  const touch = () => setAnswer(null);
  const moveTo = (price: number) => (touch(), setLevel(round(price)));
  const drop = () => (touch(), setDropped(true));
  useEffect(() => {
    if (!code.data || !box.current) return;
    const mounted = code.data.mount(box.current);
    setChart(mounted);
    return () => mounted.destroy();
  }, [code.data]);
  useEffect(() => {
    if (chart && history) chart.draw({ candles: history.candles, interval, equity, pool, actions });
  }, [chart, history, interval, equity, pool, actions]);
  // While other candles are on their way the last price is still what it was.
  const before = useRef<number | null>(null);
  const last = (before.current = history?.candles.at(-1)?.close ?? before.current);
  const [start, setStart] = useState<number | null>(null);
  const at = level ?? start;
  // It begins where one sees it, not far above the picture.
  useEffect(() => {
    if (!chart || !history || start !== null) return;
    const timer = setTimeout(() => setStart(round(chart.priceAt((box.current?.clientHeight ?? 300) * 0.16) ?? last ?? 1)), 120);
    return () => clearTimeout(timer);
  }, [chart, history, start]);
  useEffect(() => {
    if (!chart || at === null) return;
    const highest = 14;
    const look = () => {
      const found = chart.yOf(at);
      const lowest = (box.current?.clientHeight ?? 300) - 40;
      setPlace(found === null ? null : found < highest ? { y: highest, mark: '↑' } : found > lowest ? { y: lowest, mark: '↓' } : { y: found, mark: '↕' });
    };
    chart.onMove(look);
    look();
    const timer = setTimeout(look, 150);
    return () => clearTimeout(timer);
  }, [chart, at, history]);
  const move = (event: PointerEvent) => {
    if (dragging !== event.pointerId || !chart || !box.current) return;
    const found = chart.priceAt(event.clientY - box.current.getBoundingClientRect().top);
    if (found !== null && found > 0) moveTo(found);
  };
  // The system took it over, for a scroll or a menu: nothing was dropped.
  const lose = (event: PointerEvent) => dragging === event.pointerId && setDragging(null);
  const step = (event: KeyboardEvent) => {
    if (at === null) return;
    const way = event.key === 'ArrowUp' ? 1 : event.key === 'ArrowDown' ? -1 : 0;
    if (way) {
      event.preventDefault();
      moveTo(at * (1 + way * (event.shiftKey ? 0.01 : 0.001)));
    } else if (event.key === 'Enter') drop();
  };
  if (code.error) return <Empty title="The chart could not be loaded.">The figures beside it are complete.</Empty>;
  const side = at !== null && last !== null && at < last ? 'below' : 'above';
  return (
    <>
      <div class="chart" onPointerMove={move} onPointerUp={(event) => dragging === event.pointerId && (setDragging(null), drop())}>
        <div ref={box} class="canvas" role="img" aria-label={`Candles of ${symbol}, ${interval}; the last price is ${price(last)}`} />
        {(!chart || !history) && <div class="skeleton over" role="status" aria-label="Loading the chart"><i /></div>}
        {place && at !== null && (
          <div class="level" data-off={place.mark !== '↕'} style={{ transform: `translateY(${place.y}px)` }}>
            <button
              type="button"
              role="slider"
              aria-orientation="vertical"
              aria-label="Alert price: drag, or use the arrow keys and press Enter"
              aria-valuenow={at}
              aria-valuetext={`${side} ${ordered(at)}`}
              onPointerDown={(event) => !event.button && (event.currentTarget.setPointerCapture(event.pointerId), setDragging(event.pointerId), touch())}
              onPointerCancel={lose}
              onLostPointerCapture={lose}
              onKeyDown={step}
            >
              {place.mark} alert {side} {ordered(at)}
            </button>
          </div>
        )}
      </div>
      <p class="legend">
        {interval === '5m' ? <span class="dash">one sample every 5 minutes</span> : <><span class="hollow">hollow: rising</span> <span class="solid">filled: falling</span></>}
        {equity !== null && <span class="dash">equity quote {price(equity)}</span>}
        {equity !== null && pool !== null && <span class="shade">premium {percent(((pool / equity - 1) * 100).toFixed(4))}</span>}
        {history && <span>{history.source}</span>}
      </p>
      {answer && <AlertSet of={answer} onClose={touch} />}
      {dropped && at !== null && <AlertForm symbol={symbol} condition={side} price={at} onClose={() => setDropped(false)} onCreated={(alert) => (setAnswer(alert), setDropped(false))} />}
    </>
  );
}

function round(value: number): number {
  return Number(value.toPrecision(value >= 1000 ? 6 : 5));
}

