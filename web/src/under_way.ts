// The trade that was given to a wallet and whose end nobody has seen: it outlives its view, the page and the tab.
import { useEffect, useState } from 'preact/hooks';
import { recall, remember } from './memory';

const KEY = 'tickyard.underway';
const listeners = new Set<() => void>();
let held = recall('localStorage', KEY);
let letGo = () => {};

function hold(what: string | null): void {
  held = what;
  if (!what) {
    letGo();
    letGo = () => {};
  }
  listeners.forEach((tell) => tell());
}

addEventListener('storage', ({ key, newValue }) => {
  if (key === KEY) hold(newValue);
  // Another tab has cleared all that is kept: nobody has looked at the trade for that.
  else if (key === null && held) remember('localStorage', KEY, held);
});

/**
 * Before the wallet hears of it: whoever leaves in the next moment is told of it when they come back, and where that cannot be
 * nothing begins. Gives what ends it, and nothing that was begun since.
 */
export async function begin(what: string): Promise<() => void> {
  // What one tab writes, another reads a moment later: two that begin at once would see nothing of each other.
  const mine = await alone();
  // By what is kept now: another tab may have begun since this one was told of anything.
  if (!mine || recall('localStorage', KEY) || held) {
    mine?.();
    throw new Error('Another trade is under way. Nothing was sent.');
  }
  if (!remember('localStorage', KEY, what)) {
    mine();
    throw new Error('This browser keeps nothing for this page: its storage is forbidden, or full. A reload would forget a trade that is under way. Nothing was sent.');
  }
  letGo = mine;
  hold(what);
  return () => letGo === mine && end();
}

/** The one lock of all tabs, held until what this gives is called, or the tab is closed. Null: another tab has it. */
function alone(): Promise<(() => void) | null> {
  // Only a page that came encrypted, or from this machine, has locks.
  if (!navigator.locks) return Promise.resolve(() => {});
  return new Promise((resolve) => {
    const held = (lock: Lock | null) => (lock ? new Promise<void>((done) => resolve(done)) : resolve(null));
    // A browser that forbids storage forbids them too, and works on.
    navigator.locks.request(KEY, { ifAvailable: true }, held).catch(() => resolve(() => {}));
  });
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
