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
  localStorage.setItem(KEY, JSON.stringify(alerts));
  return alerts;
}

/** Before an alert is set: its secret is told once, and one that cannot be kept is lost. */
export function makeRoom(): void {
  try {
    localStorage.setItem(`${KEY}.room`, ' '.repeat(2000));
    localStorage.removeItem(`${KEY}.room`);
  } catch {
    throw new Error('This browser keeps nothing for this page (its storage is full or forbidden), and the secret of an alert would be lost. Nothing was set.');
  }
}

/** Tells when another tab has changed them. */
export function onElsewhere(tell: () => void): () => void {
  const listener = ({ key }: StorageEvent) => (key === KEY || key === null) && tell();
  addEventListener('storage', listener);
  return () => removeEventListener('storage', listener);
}

/** Out of an export; whatever is not an alert is left out. */
export function read(text: string): MyAlert[] {
  const found: unknown = JSON.parse(text);
  if (!Array.isArray(found)) throw new Error('This is not an export of alerts.');
  return found.filter(isAlert);
}

function isAlert(found: Partial<MyAlert> | null): found is MyAlert {
  if (typeof found?.id !== 'string' || typeof found.secret !== 'string' || typeof found.symbol !== 'string') return false;
  // Half a character cannot stand in an address.
  return !/\p{Cs}/u.test(found.symbol) && typeof found.condition === 'string' && Number.isFinite(found.price);
}
