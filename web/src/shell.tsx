// The frame: where one is, whether the service is there, who is connected.
import type { ComponentChildren, FunctionComponent, JSX } from 'preact';
import { useEffect, useErrorBoundary, useRef } from 'preact/hooks';
import { later, useAsk, useRoute } from './api';
import { clock } from './figures';
import { useMarket } from './live';
import { Markets } from './markets';
import { Empty } from './parts';
import { decoded, Link, usePath } from './router';
import { WalletButton } from './wallet_button';

type View = FunctionComponent<{ rest: string }>;

const VIEWS: Record<string, (signal: AbortSignal) => Promise<View>> = {
  asset: (signal) => later('src/asset.tsx', () => import('./asset'), signal).then((module) => module.AssetView),
  trade: (signal) => later('src/trade.tsx', () => import('./trade'), signal).then((module) => module.TradeView),
  portfolio: (signal) => later('src/portfolio.tsx', () => import('./portfolio'), signal).then((module) => module.PortfolioView),
  alerts: (signal) => later('src/alerts.tsx', () => import('./alerts'), signal).then((module) => module.AlertsView),
  pay: (signal) => later('src/pay.tsx', () => import('./pay'), signal).then((module) => module.PayView),
  earn: (signal) => later('src/earn.tsx', () => import('./earn'), signal).then((module) => module.EarnView),
  status: (signal) => later('src/status.tsx', () => import('./status'), signal).then((module) => module.StatusView),
  sandbox: (signal) => later('src/sandbox.tsx', () => import('./sandbox'), signal).then((module) => module.SandboxView),
};

const loaded = new Map<string, View>();

export function Shell(): JSX.Element {
  const path = usePath();
  const [, name = '', ...rest] = path.split('/');
  const isSandbox = useRoute('GET /sandbox');
  const hasEarn = useRoute('GET /v1/earn');
  const links: [string, string][] = [
    ['', 'Markets'],
    ['trade', 'Trade'],
    ['portfolio', 'Portfolio'],
    ['alerts', 'Alerts'],
    ['pay', 'Pay'],
    ...(hasEarn === false ? [] : ([['earn', 'Earn']] as [string, string][])),
    ['status', 'Status'],
    ...(isSandbox ? ([['sandbox', 'Sandbox']] as [string, string][]) : []),
  ];
  const isFirst = useRef(true);
  useEffect(() => {
    // A link that was followed is gone with its view: whoever goes by keyboard goes on in the new one.
    if (!isFirst.current && document.activeElement === document.body) document.getElementById('main')?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [path]);
  useEffect(() => {
    const title = links.find(([link]) => link === name)?.[1] ?? rest[0] ?? 'tickyard';
    // On a narrow screen the views do not all fit: the one that is open must be among those that are seen. By hand, because a
    // browser that is told to scroll something into view lets the keyboard begin there, behind the way past this menu.
    const open = document.querySelector<HTMLElement>('.bar nav [aria-current]');
    const menu = open?.parentElement;
    if (open && menu) menu.scrollLeft = open.offsetLeft - menu.offsetLeft - (menu.clientWidth - open.offsetWidth) / 2;
    document.title = `${name === 'asset' ? decoded(rest[0] ?? '') : title} · tickyard`;
  }, [path, isSandbox]);
  return (
    <>
      <a class="skip" href="#main">Skip to the content</a>
      <header class="bar">
        <Link to="/" class="brand" label="tickyard, all markets">
          <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M2 12l3.4-5 3.2 2.6L14 3.5" /></svg>
          tickyard
        </Link>
        <nav aria-label="Views">
          {links.map(([link, label]) => (
            <Link key={link} to={`/${link}`} current={name === link || (link === '' && name === 'asset')}>
              {label}
            </Link>
          ))}
        </nav>
        <WalletButton />
      </header>
      <div role="region" aria-label="Notices">
        {isSandbox && <p class="ribbon">Sandbox: made-up prices, no real money.</p>}
        <Connection />
      </div>
      <main id="main" tabIndex={-1}>
        <Kept path={path}>{name === '' ? <Markets /> : <Later name={name} rest={decoded(rest.join('/'))} />}</Kept>
      </main>
      <footer>
        <a href="/docs">API documentation</a>
        <a href="/openapi.json">OpenAPI</a>
        <span>Non-custodial: nothing here holds your keys.</span>
        <span>
          Charts by <a href="https://www.tradingview.com/" rel="noopener noreferrer" target="_blank">TradingView</a> Lightweight Charts™
        </span>
      </footer>
    </>
  );
}

/** Whether what one sees is alive. */
function Connection(): JSX.Element | null {
  const { trouble, at } = useMarket();
  if (!trouble) return null;
  return (
    <div class="banner" role="status" aria-live="polite">
      <strong>{trouble.title}</strong> {trouble.text}
      {at && ` The newest figures are from ${clock(at)}.`}
    </div>
  );
}

const AGAIN_MS = 5000;

/** A view that breaks, on whatever it was told, does not take the frame and the other views with it, and asks again by itself. */
function Kept({ path, children }: { path: string; children: ComponentChildren }): JSX.Element {
  const [error, again] = useErrorBoundary();
  useEffect(() => (error ? again() : undefined), [path]);
  useEffect(() => {
    if (!error) return;
    const timer = setInterval(() => document.hidden || again(), AGAIN_MS);
    return () => clearInterval(timer);
  }, [error]);
  if (!error) return <>{children}</>;
  return (
    <div class="state failed" role="alert">
      <strong>This page cannot be shown.</strong>
      <p>Something that it was told is not what it should be.</p>
      <button type="button" onClick={again}>Try again</button>
    </div>
  );
}

/** A view whose code comes when it is first opened. */
function Later({ name, rest }: { name: string; rest: string }): JSX.Element {
  const load = Object.hasOwn(VIEWS, name) ? VIEWS[name] : undefined;
  const View = loaded.get(name);
  // Asked for until it comes: who opens a view while the service is away gets it when it is back.
  const { error } = useAsk(load && !View ? `view ${name}` : null, async (signal) => void loaded.set(name, await load!(signal)));
  if (!load) return <Empty title="There is no such page."><Link to="/">All markets</Link></Empty>;
  if (error) {
    return (
      <div class="state failed" role="alert">
        <strong>This page could not be loaded.</strong>
        <p>The service may be away, or was renewed.</p>
        <button type="button" onClick={() => location.reload()}>Load again</button>
      </div>
    );
  }
  return View ? <View rest={rest} /> : <div class="skeleton" role="status" aria-label="Loading the page"><i /><i /><i /></div>;
}
