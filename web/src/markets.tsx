// Every token at a glance.
import { Component, createRef, type JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { client } from './api';
import { percent, price, short, trend } from './figures';
import { type Row, serviceNow, useMarket } from './live';
import { Empty } from './parts';
import { address, go } from './router';
import { type Point, sparkline } from './sparkline';

type Column = 'symbol' | 'price' | 'premium' | 'change' | 'depth';
const COLUMNS: [Column, string, string][] = [
  ['symbol', 'Token', ''],
  ['price', 'Price', 'Dollars in the deepest pool'],
  ['premium', 'Premium', 'Pool price over the equity quote'],
  ['change', '24 h', 'Change of the sampled price'],
  ['depth', 'Depth', 'USDG that moves the price by 1 %'],
];

const SCREENFUL = 40;
// Names without figures are all shown only where these take long: to draw them twice is for nobody.
const NAMES_ALONE_MS = 2000;

export function Markets(): JSX.Element {
  const { rows, at, trouble, isStreaming } = useMarket();
  // Names alone, or figures of before, are not what it is now.
  const pace = trouble ? 'waiting' : at === null ? 'loading' : isStreaming ? 'live' : 'every 5 s';
  const [text, setText] = useState('');
  const [sort, setSort] = useState<[Column, 1 | -1]>(['depth', -1]);
  const search = useRef<HTMLInputElement>(null);
  const table = useRef<HTMLTableElement>(null);
  const [most, setMost] = useState(rows === null ? SCREENFUL : Infinity);
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
  // What fits on a screen stands there first; the rest follows when that is painted, and the lines after all of it.
  useEffect(() => {
    if (rows === null) return;
    if (rows[0]?.isComing) return afterPaint(() => setMost(Infinity), NAMES_ALONE_MS);
    if (most < rows.length) return afterPaint(() => setMost(Infinity));
    if (!performance.getEntriesByName('filled').length) performance.mark('filled');
    return afterPaint(() => watchLines(table.current));
  }, [shown, most]);
  return (
    <>
      <div class="head">
        <h1>Markets</h1>
        <input ref={search} type="search" placeholder="Symbol or name  ( / )" aria-label="Search by symbol or name" value={text} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={(event) => event.key === 'Enter' && shown[0] && go(assetPath(shown[0].symbol))} />
        <span class="live" data-live={pace === 'live'}>{pace}</span>
        <span class="count">{rows ? `${shown.length} of ${rows.length}` : ''}</span>
      </div>
      {rows === null ? (
        <div class="skeleton tall" role="status" aria-label="Loading markets">{Array.from({ length: 14 }, (_, index) => <i key={index} />)}</div>
      ) : shown.length === 0 ? (
        <Empty title={`Nothing is called “${text}”.`}>Try a ticker such as AAPL, or a part of a company's name.</Empty>
      ) : (
        <table ref={table} class="markets" onKeyDown={walk} onClick={open}>
          <thead>
            <tr>
              {COLUMNS.map(([column, label, title]) => (
                <th key={column} scope="col" aria-sort={sort[0] === column ? (sort[1] > 0 ? 'ascending' : 'descending') : 'none'} class={column}>
                  <button type="button" title={title} onClick={() => setSort(([old, way]) => [column, old === column ? ((-way) as 1 | -1) : column === 'symbol' ? 1 : -1])}>
                    {label}
                    <span aria-hidden="true">{sort[0] === column ? (sort[1] > 0 ? '\u00a0↑' : '\u00a0↓') : ''}</span>
                  </button>
                </th>
              ))}
              <th scope="col" class="line">Day</th>
            </tr>
          </thead>
          <tbody>{shown.slice(0, most).map((row) => <MarketRow key={row.symbol} {...row} />)}</tbody>
        </table>
      )}
    </>
  );
}

/** Drawn again only when one of its figures changed. As few elements as will do: there are 194 of them. */
class MarketRow extends Component<Row> {
  line = createRef<HTMLTableCellElement>();

  override shouldComponentUpdate(next: Row): boolean {
    return (Object.keys(next) as (keyof Row)[]).some((name) => next[name] !== this.props[name]);
  }

  override render(row: Row): JSX.Element {
    const way = trend(row.change);
    return (
      <tr>
        <th scope="row" class="symbol">
          <a href={address(assetPath(row.symbol))}>{row.symbol}</a>
          {row.halted && <span class="mark warn" title="Trading of the stock is halted">halted</span>}
          {row.pending && <span class="mark" title={`Corporate action: ${row.pending}`}>pending</span>}
          <small>{row.name}</small>
        </th>
        <td class="price">{row.isComing ? <span class="coming"><span class="out">loading</span></span> : row.error ? <span class="hidden" title={row.error}>hidden</span> : row.price === null ? <span class="none">no pool</span> : price(row.price)}</td>
        <td class="premium">{percent(row.premium)}</td>
        <td class={`change ${way > 0 ? 'up' : way < 0 ? 'down' : 'flat'}`}>{percent(row.change)}</td>
        <td class="depth">{short(row.depth)}</td>
        <td ref={this.line} class="line" data-symbol={row.symbol} data-change={row.change} />
      </tr>
    );
  }

  override componentDidUpdate(): void {
    if (this.line.current?.firstChild) draw(this.line.current);
  }
}

function assetPath(symbol: string): string {
  return `/asset/${encodeURIComponent(symbol)}`;
}

/** A click anywhere in a row opens its token: one listener for all rows. */
function open(event: MouseEvent): void {
  const target = event.target as Element;
  const link = target.closest('tbody tr')?.querySelector('a');
  // The browser's own ways with a link, such as a new tab, stay its own.
  if (!link || ((event.metaKey || event.ctrlKey || event.shiftKey || event.button) && target.closest('a'))) return;
  event.preventDefault();
  go(link.pathname.slice(address('').length));
}

function order(rows: Row[], text: string, [column, way]: [Column, 1 | -1]): Row[] {
  const wanted = text.trim().toLowerCase();
  const found = rows.filter((row) => !wanted || row.symbol.toLowerCase().includes(wanted) || row.name.toLowerCase().includes(wanted));
  const rank = (row: Row) => (wanted && row.symbol.toLowerCase().startsWith(wanted) ? 0 : 1);
  return found.sort((a, b) => {
    if (wanted && rank(a) !== rank(b)) return rank(a) - rank(b);
    if (column === 'symbol') return a.symbol < b.symbol ? -way : way;
    // What is unknown comes last, whichever way one sorts.
    if (a[column] === null && b[column] === null) return b.tvl - a.tvl;
    if (a[column] === null || b[column] === null) return Number(a[column] === null) - Number(b[column] === null);
    return way * (Number(a[column]) - Number(b[column]));
  });
}

function afterPaint(work: () => void, ms = 0): () => void {
  let timer = 0;
  const frame = requestAnimationFrame(() => (timer = setTimeout(work, ms)));
  return () => (cancelAnimationFrame(frame), clearTimeout(timer));
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

// A day of closes, asked for when its row comes into view; a few at a time. Drawn by hand into a cell that is otherwise
// left alone, so that a line that comes in costs one cell and not a table.
const days = new Map<string, Point[]>();
// When a line may be asked for again: a page is open for longer than a day is what it was.
const due = new Map<string, number>();
const DAY_GOOD_MS = 600_000;
const ASK_AGAIN_MS = 30_000;
const isDue = (cell: HTMLElement) => Date.now() >= (due.get(cell.dataset.symbol!) ?? 0);
const waiting: HTMLElement[] = [];
let running = 0;
const watch = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      watch.unobserve(target);
      waiting.push(target as HTMLElement);
    }
    pump();
  },
  { rootMargin: '200px' },
);

function watchLines(table: HTMLElement | null): void {
  table?.querySelectorAll<HTMLElement>('td.line').forEach((cell) => (!cell.firstChild || isDue(cell)) && watch.observe(cell));
}

function pump(): void {
  // Until it is known what time it is nothing has a place; the next reading looks at all cells again.
  if (serviceNow() === null) waiting.length = 0;
  while (running < 3 && waiting.length) {
    const cell = waiting.shift()!;
    if (!cell.isConnected || (cell.firstChild && !isDue(cell))) continue;
    running++;
    line(cell)
      .catch(() => {})
      .finally(() => {
        running--;
        pump();
      });
  }
}

async function line(cell: HTMLElement): Promise<void> {
  const symbol = cell.dataset.symbol!;
  if (isDue(cell)) {
    due.set(symbol, Date.now() + ASK_AGAIN_MS);
    const { candles } = await client.getHistory({ symbol, interval: '1h', limit: 25 });
    days.set(symbol, candles.map(({ t, close }) => [Date.parse(t), close]));
    due.set(symbol, Date.now() + DAY_GOOD_MS);
  }
  draw(cell);
}

function draw(cell: HTMLElement): void {
  const symbol = cell.dataset.symbol!;
  const day = days.get(symbol);
  const now = serviceNow();
  if (day && now !== null) cell.replaceChildren(sparkline(day, cell.dataset.change ?? null, now, symbol));
}
