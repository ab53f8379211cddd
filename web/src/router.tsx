// Every view has its address below /app; back and forward work, and so does opening one in a new tab.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

const BASE = '/app';
const listeners = new Set<() => void>();

export function here(): string {
  return location.pathname.startsWith(BASE) ? location.pathname.slice(BASE.length) || '/' : '/';
}

/** A part of an address; one that was cut in the middle of a character is taken as it stands. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Where a view is, as the browser knows it. */
export function address(path: string): string {
  return BASE + (path === '/' ? '' : path);
}

/** To an address that the service opens too, when it is asked anew: it knows none that ends in a slash. */
export function go(path: string, replace = false): void {
  const target = new URL(address(path), location.href).pathname.replace(/\/+$/, '');
  if (target !== location.pathname) {
    history[replace ? 'replaceState' : 'pushState'](null, '', target);
    scrollTo(0, 0);
  }
  for (const tell of listeners) tell();
}

addEventListener('popstate', () => listeners.forEach((tell) => tell()));

export function usePath(): string {
  const [path, setPath] = useState(here);
  useEffect(() => {
    const tell = () => setPath(here());
    listeners.add(tell);
    return () => void listeners.delete(tell);
  }, []);
  return path;
}

/** A field that outlives a reload and the way back: it is kept with its entry of the browser's history. */
export function useKept<T extends string>(name: string, first: T): [T, (value: T) => void] {
  const [value, setValue] = useState<T>(() => (history.state?.[name] as T | undefined) ?? first);
  // At once, and not after the next painting: a reload does not wait for that.
  const keep = (next: T) => (setValue(next), history.replaceState({ ...history.state, [name]: next }, ''));
  return [value, keep];
}

export function Link(props: { to: string; children: ComponentChildren; class?: string; current?: boolean; title?: string; label?: string }): JSX.Element {
  const follow = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    go(props.to);
  };
  return (
    <a href={address(props.to)} class={props.class} title={props.title} aria-label={props.label} aria-current={props.current ? 'page' : undefined} onClick={follow}>
      {props.children}
    </a>
  );
}
