// How figures are shown: never more digits than are true, grouped, with a sign where the sign is the point.
const NONE = '–';

export function price(text: string | number | null | undefined): string {
  if (text == null) return NONE;
  const value = Number(text);
  const places = Math.abs(value) >= 1 || value === 0 ? 2 : Math.min(8, 3 - Math.floor(Math.log10(Math.abs(value))));
  return value.toLocaleString('en-US', { minimumFractionDigits: Math.min(places, 2), maximumFractionDigits: places });
}

export function usd(text: string | number | null | undefined): string {
  return text == null ? NONE : `$${Number(text).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/** Cents matter where a cent is the price. */
export function exactUsd(text: string | null | undefined): string {
  return text == null ? NONE : `$${text.replace(/(\.\d\d\d*?)0+$/, '$1')}`;
}

export function short(text: string | number | null | undefined): string {
  return text == null ? NONE : Number(text).toLocaleString('en-US', { notation: 'compact', maximumSignificantDigits: 3 });
}

export function tokens(text: string | null | undefined): string {
  return text == null ? NONE : Number(text).toLocaleString('en-US', { maximumSignificantDigits: 8 });
}

export function percent(text: string | number | null | undefined): string {
  if (text == null) return NONE;
  const value = Number(text);
  const shown = Math.abs(value).toFixed(2);
  return `${shown === '0.00' ? '' : value > 0 ? '+' : '−'}${shown} %`;
}

/** -1, 0, 1: by what is shown, so that the sign and the colour agree. */
export function trend(text: string | number | null | undefined): number {
  return text == null ? 0 : Math.sign(Math.round(Number(text) * 100));
}

export function clock(moment: string | number | Date): string {
  return `${new Date(moment).toISOString().slice(11, 16)} UTC`;
}

export function day(moment: string | number): string {
  return new Date(moment).toISOString().slice(0, 16).replace('T', ' ');
}

export function age(seconds: number | null | undefined): string {
  if (seconds == null) return 'never';
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}

export function shortAddress(address: string): string {
  return `${address.slice(0, 6)}…${address.slice(-4)}`;
}

/** Base units as text, exact, without trailing zeros. */
export function fromUnits(amount: bigint, decimals: number): string {
  const digits = String(amount < 0n ? -amount : amount).padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  return `${amount < 0n ? '−' : ''}${digits.slice(0, -decimals)}${fraction ? `.${fraction}` : ''}`;
}
