// The public API through the TypeScript client, and how views read from it.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Client, ServiceError, TickyardError, Unreachable } from 'tickyard';
import { Sandbox } from 'tickyard/sandbox';
import { answerTo, type Index } from './answers';

type Call = Parameters<Client['call']>;

/** A client that takes nothing for an answer that is not like one: here every answer comes in. */
export class WaryClient extends Client {
  override async call<T>(...call: Call): Promise<T> {
    return answerTo(call[0], call[1], await super.call<T>(...call));
  }
}

class WarySandbox extends Sandbox {
  override async call<T>(...call: Call): Promise<T> {
    return answerTo(call[0], call[1], await super.call<T>(...call));
  }
}

export const client = new WaryClient(location.origin, { retries: 1, timeoutMs: 15_000 });
export const sandbox = new WarySandbox(location.origin, { retries: 0 });

/** After so long without an answer what is shown is no longer called what it is now. */
export const LATE_MS = 8000;

let index: Promise<Index> | undefined;

/** What this service offers; asked once. */
export function offers(): Promise<Index> {
  index ??= client.ask<Index>('GET', '/').catch((error: unknown) => {
    index = undefined;
    throw error;
  });
  return index;
}

export interface Asked<T> {
  data: T | null;
  error: Error | null;
  /** When the data came, by this machine's clock. */
  at: number | null;
  /** Since when it fails. */
  since: number | null;
  reload: () => void;
}

/**
 * Asks, keeps what came, asks again every so often while somebody looks, and goes on after a failure. How often may hang on the
 * answer, and may change: that alone asks nothing.
 */
export function useAsk<T>(key: string | null, ask: (signal: AbortSignal) => Promise<T>, everyMs: number | ((data: T | null) => number) = 0): Asked<T> {
  const [state, setState] = useState<Omit<Asked<T>, 'reload'> & { key: string | null }>({ key, data: null, error: null, at: null, since: null });
  const latest = useRef({ ask, everyMs });
  latest.current = { ask, everyMs };
  const again = useRef<() => void>(() => {});
  useEffect(() => {
    if (key === null) return;
    const stop = new AbortController();
    let timer = 0;
    let failures = 0;
    let current = new AbortController();
    const fail = (why: (before: Error | null) => Error) =>
      setState((old) => {
        const { data, at, error, since } = old.key === key ? old : { data: null, at: null, error: null, since: null };
        return { key, data, at, error: why(error), since: since ?? Date.now() };
      });
    const run = async () => {
      clearTimeout(timer);
      current.abort();
      // The newest question is the one that counts: an answer to one before it comes too late, and asks nothing anew.
      const mine = (current = new AbortController());
      const isOver = () => stop.signal.aborted || mine !== current;
      // Why it failed before says more than that it is silent now.
      const late = setTimeout(() => !isOver() && fail((before) => before ?? new TickyardError('no answer yet')), LATE_MS);
      let data: T | null = null;
      try {
        data = await latest.current.ask(AbortSignal.any([stop.signal, mine.signal])).finally(() => clearTimeout(late));
        if (isOver()) return;
        failures = 0;
        setState({ key, data, error: null, at: Date.now(), since: null });
      } catch (error) {
        if (isOver()) return;
        // What is wrong with the question stays wrong.
        if (error instanceof ServiceError && error.status < 500 && error.status !== 429) failures = 0;
        else failures++;
        fail(() => error as Error);
      }
      const { everyMs: pace } = latest.current;
      const wait = failures ? Math.min(2000 * failures, 10_000) : typeof pace === 'number' ? pace : pace(data);
      if (wait) timer = setTimeout(() => (document.hidden ? wake() : run()), wait);
    };
    // A page in the background asks nothing; it catches up when somebody looks again.
    const wake = () => document.addEventListener('visibilitychange', () => void run(), { once: true, signal: stop.signal });
    again.current = () => void run();
    void run();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key]);
  const reload = useCallback(() => again.current(), []);
  return state.key === key ? { ...state, reload } : { data: null, error: null, at: null, since: null, reload };
}

const FILES = JSON.parse(document.querySelector<HTMLMetaElement>('meta[name=code]')?.content ?? '{}') as Record<string, string[]>;

/**
 * Code that comes when it is first needed, by its source as the build names it. An import that failed fails for as long as the page
 * lives, without a request: so its files are fetched before, which can be tried again, and it takes them from what the browser keeps.
 */
export async function later<T>(source: string, load: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const come = async (file: string) => {
    const answer = await fetch(`/app/files/${file}`, { signal: signal ?? null });
    if (!answer.ok) throw new Unreachable('a part of this page did not come');
    await answer.arrayBuffer();
  };
  await Promise.all((FILES[source] ?? []).map(come));
  return load();
}

/** Of code that a line swallows nobody is told otherwise. */
export function within<T>(code: Promise<T>, ms = 15_000): Promise<T> {
  return new Promise((resolve, reject) => {
    setTimeout(() => reject(new Unreachable('a part of this page did not come')), ms);
    code.then(resolve, reject);
  });
}

/** Whether the service has a route, such as `GET /v1/stream`. */
export function useRoute(line: string): boolean | null {
  const { data } = useAsk('index', offers);
  return data && data.endpoints.includes(line);
}

/** A failure in the words of the page. */
export function inWords(error: unknown): string {
  if (error instanceof Unreachable) return 'The service does not answer.';
  if (error instanceof ServiceError || error instanceof TickyardError) return sentence(error.message);
  const message = (error as { shortMessage?: string; message?: string } | null)?.shortMessage ?? (error as Error | null)?.message;
  return sentence(message || 'Something went wrong.');
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
