// Every token at a glance.
import { Component, type JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { client } from './api';
import { price, short } from './figures';
import { type Row, useMarket } from './live';
import { Change, Empty, Sparkline } from './parts';
import { go, Link } from './router';

type Column = 'symbol' | 'price' | 'premium' | 'change' | 'depth';
const COLUMNS: [Column, string, string][] = [
  ['symbol', 'Token', ''],
  ['price', 'Price', 'Dollars in the deepest pool'],
  ['premium', 'Premium', 'Pool price over the equity quote'],
  ['change', '24 h', 'Change of the sampled price'],
  ['depth', 'Depth', 'USDG that moves the price by 1 %'],
];

export function Markets(): JSX.Element {
  const { rows, trouble, isStreaming } = useMarket();
  const [text, setText] = useState('');
  const [sort, setSort] = useState<[Column, 1 | -1]>(['depth', -1]);
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (event.key !== '/' || /INPUT|TEXTAREA|SELECT/.test((event.target as Element).tagName)) return;
      event.preventDefault();
      search.current?.focus();
    };
    addEventListener('keydown', focus);
    return () => removeEventListener('keydown', focus);
  }, []);
  const shown = useMemo(() => order(rows ?? [], text, sort), [rows, text, sort]);
  return (
    <>
      <div class="head">
        <h1>Markets</h1>
        <input ref={search} type="search" placeholder="Symbol or name  ( / )" aria-label="Search by symbol or name" value={text} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={(event) => event.key === 'Enter' && shown[0] && go(`/asset/${encodeURIComponent(shown[0].symbol)}`)} />
        <span class="live" data-live={isStreaming}>{trouble ? 'waiting' : isStreaming ? 'live' : 'every 5 s'}</span>
        <span class="count">{rows ? `${shown.length} of ${rows.length}` : ''}</span>
      </div>
      {rows === null ? (
        <div class="skeleton tall" role="status" aria-label="Loading markets">{Array.from({ length: 14 }, (_, index) => <i key={index} />)}</div>
      ) : shown.length === 0 ? (
        <Empty title={`Nothing is called “${text}”.`}>Try a ticker such as AAPL, or a part of a company's name.</Empty>
      ) : (
        <table class="markets" onKeyDown={walk}>
          <thead>
            <tr>
              {COLUMNS.map(([column, label, title]) => (
                <th key={column} scope="col" aria-sort={sort[0] === column ? (sort[1] > 0 ? 'ascending' : 'descending') : 'none'} class={column}>
                  <button type="button" title={title} onClick={() => setSort(([old, way]) => [column, old === column ? ((-way) as 1 | -1) : column === 'symbol' ? 1 : -1])}>
                    {label}
                    <span aria-hidden="true">{sort[0] === column ? (sort[1] > 0 ? ' ↑' : ' ↓') : ''}</span>
                  </button>
                </th>
              ))}
              <th scope="col" class="line">Day</th>
            </tr>
          </thead>
          <tbody>{shown.map((row) => <MarketRow key={row.symbol} {...row} />)}</tbody>
        </table>
      )}
    </>
  );
}

/** Drawn again only when one of its figures changed. */
class MarketRow extends Component<Row> {
  override shouldComponentUpdate(next: Row): boolean {
    return (Object.keys(next) as (keyof Row)[]).some((name) => next[name] !== this.props[name]);
  }

  override render(row: Row): JSX.Element {
    return <Cells {...row} />;
  }
}

function Cells(row: Row): JSX.Element {
  const to = `/asset/${encodeURIComponent(row.symbol)}`;
  return (
    <tr onClick={(event) => (event.target as Element).closest('a') || go(to)}>
      <th scope="row" class="symbol">
        <Link to={to}>{row.symbol}</Link>
        {row.halted && <span class="mark warn" title="Trading of the stock is halted">halted</span>}
        {row.pending && <span class="mark" title={`Corporate action: ${row.pending}`}>pending</span>}
        <small>{row.name}</small>
      </th>
      <td class="price figure">{row.isComing ? <span class="coming"><span class="out">loading</span></span> : row.error ? <span class="hidden" title={row.error}>hidden</span> : row.price === null ? <span class="none">no pool</span> : price(row.price)}</td>
      <td class="premium"><Change of={row.premium} quiet /></td>
      <td class="change"><Change of={row.change} /></td>
      <td class="depth figure">{short(row.depth)}</td>
      <td class="line"><Day symbol={row.symbol} /></td>
    </tr>
  );
}

function order(rows: Row[], text: string, [column, way]: [Column, 1 | -1]): Row[] {
  const wanted = text.trim().toLowerCase();
  const found = rows.filter((row) => !wanted || row.symbol.toLowerCase().includes(wanted) || row.name.toLowerCase().includes(wanted));
  const rank = (row: Row) => (wanted && row.symbol.toLowerCase().startsWith(wanted) ? 0 : 1);
  return found.sort((a, b) => {
    if (wanted && rank(a) !== rank(b)) return rank(a) - rank(b);
    if (column === 'symbol') return way * a.symbol.localeCompare(b.symbol);
    // What is unknown comes last, whichever way one sorts.
    if (a[column] === null && b[column] === null) return b.tvl - a.tvl;
    if (a[column] === null || b[column] === null) return Number(a[column] === null) - Number(b[column] === null);
    return way * (Number(a[column]) - Number(b[column]));
  });
}

/** Up and down walk through the rows. */
function walk(event: KeyboardEvent): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const row = (event.target as Element).closest('tbody tr');
  const next = event.key === 'ArrowDown' ? row?.nextElementSibling : row?.previousElementSibling;
  const link = next?.querySelector('a');
  if (link) {
    event.preventDefault();
    link.focus();
  }
}

// A day of closes, asked for when its row comes into view; a few at a time.
const days = new Map<string, number[]>();
const waiting: (() => Promise<void>)[] = [];
let running = 0;
const seen = new WeakMap<Element, () => void>();
// One observer for all rows.
const watch = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      watch.unobserve(target);
      seen.get(target)?.();
    }
  },
  { rootMargin: '200px' },
);

function Day({ symbol }: { symbol: string }): JSX.Element {
  const [closes, setCloses] = useState(days.get(symbol));
  const box = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (closes || !box.current) return;
    const element = box.current;
    seen.set(element, () => {
      waiting.push(async () => {
        const { candles } = await client.getHistory({ symbol, interval: '1h', limit: 24 });
        const found = candles.map(({ close }) => close);
        days.set(symbol, found);
        setCloses(found);
      });
      pump();
    });
    watch.observe(element);
    return () => watch.unobserve(element);
  }, []);
  return <span ref={box}>{closes ? <Sparkline of={closes} label={`${symbol}, one day`} /> : <svg class="spark" viewBox="0 0 100 28" aria-hidden="true" />}</span>;
}

function pump(): void {
  while (running < 3 && waiting.length) {
    running++;
    waiting
      .shift()!()
      .catch(() => {})
      .finally(() => {
        running--;
        pump();
      });
  }
}
