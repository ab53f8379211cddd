// My alerts: their ids and secrets stay in this browser.
import type { CreateAlertAsk } from 'tickyard';

export type Condition = CreateAlertAsk['condition'];

export interface MyAlert {
  id: string;
  secret: string;
  symbol: string;
  condition: Condition;
  price: number;
}

const KEY = 'tickyard.alerts';
const NO_ROOM = 'This browser keeps nothing for this page (its storage is full or forbidden)';

export function myAlerts(): MyAlert[] {
  try {
    return read(localStorage.getItem(KEY) ?? '[]');
  } catch {
    return [];
  }
}

/** Changes what is kept by now: another tab may have put its own there since this one looked. */
export function change(make: (alerts: MyAlert[]) => MyAlert[]): MyAlert[] {
  const alerts = make(myAlerts());
  try {
    localStorage.setItem(KEY, JSON.stringify(alerts));
  } catch {
    throw new Error(`${NO_ROOM}.`);
  }
  return alerts;
}

/** Before an alert is set: its secret is told once, and one that cannot be kept is lost. */
export function makeRoom(): void {
  try {
    localStorage.setItem(`${KEY}.room`, ' '.repeat(2000));
    localStorage.removeItem(`${KEY}.room`);
  } catch {
    throw new Error(`${NO_ROOM}, and the secret of an alert would be lost. Nothing was set.`);
  }
}

/** Tells when another tab has changed them. */
export function onElsewhere(tell: () => void): () => void {
  const listener = ({ key }: StorageEvent) => (key === KEY || key === null) && tell();
  addEventListener('storage', listener);
  return () => removeEventListener('storage', listener);
}

/** Out of an export; whatever is not an alert is left out. */
function read(text: string): MyAlert[] {
  return entries(text).filter(isAlert);
}

/** Takes over what an export has and this browser has not. Whatever is kept stays, because its secret is told once, unless it is gone. */
export function take(text: string, isGone: (alert: MyAlert) => boolean): { alerts: MyAlert[]; said: string } {
  const all = entries(text);
  const found = all.filter(isAlert);
  const taken = new Map<string, MyAlert>();
  const alerts = change((mine) => {
    const kept = new Set(mine.filter((alert) => !isGone(alert)).map(({ id }) => id));
    for (const alert of found) if (!kept.has(alert.id) && !taken.has(alert.id)) taken.set(alert.id, alert);
    return [...taken.values(), ...mine.filter(({ id }) => !taken.has(id))];
  });
  const left = found.length - taken.size;
  const said = [
    all.length ? `${taken.size} of ${all.length} taken.` : 'There is no alert in this file.',
    left && `${left} not: what is kept here already stays.`,
    all.length > found.length && `${all.length - found.length} not: no alert, or a damaged one.`,
  ];
  return { alerts, said: said.filter(Boolean).join(' ') };
}

function entries(text: string): (Partial<MyAlert> | null)[] {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Error('This file is damaged, or is no export of alerts.');
  }
  if (!Array.isArray(found)) throw new Error('This is not an export of alerts.');
  return found;
}

function isAlert(found: Partial<MyAlert> | null): found is MyAlert {
  if (typeof found?.id !== 'string' || typeof found.secret !== 'string' || typeof found.symbol !== 'string') return false;
  // Half a character cannot stand in an address.
  return !/\p{Cs}/u.test(found.symbol) && typeof found.condition === 'string' && Number.isFinite(found.price);
}
