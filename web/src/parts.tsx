// What all views are made of: figures with their states, sparklines, forms.
import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Asked, inWords } from './api';
import { clock, percent, trend } from './figures';

/** A change: colour, sign and arrow say the same. Quiet: only the sign, where neither way is the good one. */
export function Change({ of, quiet }: { of: string | null | undefined; quiet?: boolean }): JSX.Element {
  const way = trend(of);
  return (
    <span class={`figure ${quiet ? '' : way > 0 ? 'up' : way < 0 ? 'down' : 'flat'}`}>
      {!quiet && way !== 0 && <span aria-hidden="true">{way > 0 ? '▲ ' : '▼ '}</span>}
      {percent(of)}
    </span>
  );
}

/** What there is, or why there is nothing: loading, failed, stale and empty are states with a look of their own. */
export function Shown<T>({ of, children, what, rows = 3 }: { of: Asked<T>; what: string; rows?: number; children: (data: T) => ComponentChildren }): JSX.Element {
  if (of.data === null) {
    if (of.error) return <Failed what={what} error={of.error} since={of.since} onRetry={of.reload} />;
    return (
      <div class="skeleton" role="status" aria-label={`Loading ${what}`}>
        {Array.from({ length: rows }, (_, index) => <i key={index} />)}
      </div>
    );
  }
  return (
    <>
      {of.error && (
        <p class="note stale" role="status">
          {inWords(of.error)} {what.charAt(0).toUpperCase() + what.slice(1)} below {/[^u]s$/.test(what) ? 'are' : 'is'} from {clock(of.at!)}.
        </p>
      )}
      <div class={of.error ? 'old' : undefined}>{children(of.data)}</div>
    </>
  );
}

export function Failed({ what, error, since, onRetry }: { what: string; error: Error; since?: number | null; onRetry?: () => void }): JSX.Element {
  return (
    <div class="state failed" role="alert">
      <strong>No {what}{since ? ` since ${clock(since)}` : ''}.</strong>
      <p>{inWords(error)}</p>
      {onRetry && <button type="button" onClick={onRetry}>Try again</button>}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="state">
      <strong>{title}</strong>
      {children && <p>{children}</p>}
    </div>
  );
}

export function Card({ title, children, aside, class: extra }: { title: string; children: ComponentChildren; aside?: ComponentChildren; class?: string }): JSX.Element {
  return (
    <section class={`card ${extra ?? ''}`}>
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

export function Facts({ of, class: extra }: { of: [string, ComponentChildren][]; class?: string }): JSX.Element {
  return (
    <dl class={`facts ${extra ?? ''}`}>
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Choice<T extends string>({ of, value, onPick, label }: { of: readonly (readonly [T, string])[]; value: T; onPick: (value: T) => void; label: string }): JSX.Element {
  return (
    <div class="choice" role="group" aria-label={label}>
      {of.map(([each, shown]) => (
        <button key={each} type="button" aria-pressed={each === value} onClick={() => onPick(each)}>
          {shown}
        </button>
      ))}
    </div>
  );
}

/** Something that takes a while and may fail: what it says stands below the button. */
export function useAct(): { busy: boolean; error: Error | null; act: (work: () => Promise<void>) => Promise<void>; clear: () => void; leave: () => void } {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const held = useRef<Element | null>(null);
  // How often it was left: what began before that is not listened to any more.
  const run = useRef(0);
  // A button that is disabled loses the focus, and a wallet's dialog gives it back to nobody.
  useEffect(() => {
    if (!busy && document.activeElement === document.body && held.current?.isConnected) (held.current as HTMLElement).focus();
  }, [busy]);
  const act = async (work: () => Promise<void>) => {
    const mine = run.current;
    held.current = document.activeElement;
    setBusy(true);
    setError(null);
    try {
      await work();
    } catch (failure) {
      // A wallet may refuse without a word: that is a failure too.
      if (mine === run.current) setError((failure ?? new Error()) as Error);
    }
    if (mine === run.current) setBusy(false);
  };
  // Waits no longer: whatever comes of it is not told here.
  const leave = () => (run.current++, setBusy(false));
  return { busy, error, act, clear: () => setError(null), leave };
}

const PATIENCE_MS = 60_000;

/** Whether it has been so for long. */
export function useLong(is: boolean): boolean {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    setLong(false);
    if (!is) return;
    const timer = setTimeout(() => setLong(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [is]);
  return is && isLong;
}

/** A wallet may never answer. Whoever leaves it is asked for nothing more of what it was given, however late it wakes up. */
export function Long({ children, onLeave }: { children: ComponentChildren; onLeave: () => void }): JSX.Element {
  return (
    <div class="waiting">
      <p class="note stale" role="status">Your wallet has not finished this within a minute. You may go on waiting. {children}</p>
      <button type="button" onClick={() => (onLeave(), document.getElementById('main')?.focus({ preventScroll: true }))}>Stop waiting</button>
    </div>
  );
}

/** For what takes the place of what had the focus: whoever goes by keyboard goes on from there. */
export function useArrival<T extends HTMLElement>(): { ref: RefObject<T | null>; tabIndex: number } {
  const ref = useRef<T>(null);
  useEffect(() => {
    if (document.activeElement === document.body) ref.current?.focus();
  }, []);
  return { ref, tabIndex: -1 };
}

export function Said({ error }: { error: Error | null }): JSX.Element | null {
  return error && <p class="note bad" role="alert">{inWords(error)}</p>;
}

export function Code({ children }: { children: string }): JSX.Element {
  return <code class="long">{children}</code>;
}
