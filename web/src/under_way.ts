// The trade that was given to a wallet and whose end nobody has seen: it outlives its view, the page and the tab.
import { useEffect, useState } from 'preact/hooks';
import { recall, remember } from './memory';

const KEY = 'tickyard.underway';
const listeners = new Set<() => void>();
let held = recall('localStorage', KEY);

function hold(what: string | null): void {
  held = what;
  listeners.forEach((tell) => tell());
}

addEventListener('storage', ({ key, newValue }) => (key === KEY || key === null) && hold(newValue));

/** Before the wallet hears of it: whoever leaves in the next moment is told of it when they come back. */
export function begin(what: string): void {
  // By what is kept now: another tab may have begun since this one was told of anything.
  if (recall('localStorage', KEY) || held) throw new Error('Another trade is under way. Nothing was sent.');
  remember('localStorage', KEY, what);
  hold(what);
}

/** Its end was shown, or its owner has looked. */
export function end(): void {
  remember('localStorage', KEY, '');
  hold(null);
}

/** What is under way, in words. */
export function useUnderWay(): string | null {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listener = () => redraw((count) => count + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return held || null;
}
