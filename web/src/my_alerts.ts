// My alerts: their ids and secrets stay in this browser.
export interface MyAlert {
  id: string;
  secret: string;
  symbol: string;
  condition: 'above' | 'below';
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

export function keep(alerts: MyAlert[]): void {
  localStorage.setItem(KEY, JSON.stringify(alerts));
}

/** Out of an export; whatever is not an alert is left out. */
export function read(text: string): MyAlert[] {
  const found: unknown = JSON.parse(text);
  if (!Array.isArray(found)) throw new Error('This is not an export of alerts.');
  return found.filter((each: Partial<MyAlert> | null): each is MyAlert => typeof each?.id === 'string' && typeof each.secret === 'string' && typeof each.symbol === 'string' && typeof each.price === 'number');
}
