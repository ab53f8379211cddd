// How figures are shown: never more digits than are true, grouped, with a sign where the sign is the point.
const NONE = '–';

/** What a service tells for a figure and is none is not known. */
function figure(told: string | number | null | undefined): number | null {
  const value = typeof told === 'string' && told.trim() ? Number(told) : told;
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

// By hand: the first view needs no more than this, and the browser's own formats take longer to load than the table.
function shown(value: number, least: number, most: number): string {
  const [whole = '', fraction = ''] = Math.abs(value).toFixed(most).split('.');
  const cut = fraction.slice(0, least) + fraction.slice(least).replace(/0+$/, '');
  const text = grouped(whole) + (cut && `.${cut}`);
  return value < 0 && /[1-9]/.test(text) ? `-${text}` : text;
}

function grouped(whole: string): string {
  return whole.replace(/\B(?=(\d{3})+$)/g, ',');
}

const SIZES: [number, string][] = [[1, ''], [1e3, 'K'], [1e6, 'M'], [1e9, 'B'], [1e12, 'T']];

/** Three digits and a size: 391K, 17.2M. */
function compact(value: number): string {
  for (const [size, name] of SIZES) {
    const scaled = Number((value / size).toPrecision(3));
    if (Math.abs(scaled) < 1000) return `${scaled}${name}`;
  }
  return `${shown(value / 1e12, 0, 0)}T`;
}

let significant: Intl.NumberFormat | undefined;

export function price(text: string | number | null | undefined): string {
  const value = figure(text);
  if (value === null) return NONE;
  const places = Math.abs(value) >= 1 || value === 0 ? 2 : Math.min(8, 3 - Math.floor(Math.log10(Math.abs(value))));
  return shown(value, Math.min(places, 2), places);
}

let whole: Intl.NumberFormat | undefined;

/** What somebody ordered, and what became of it: to its last digit, because two that differ must look so. Only what was measured is rounded. */
export function ordered(value: number | null | undefined): string {
  whole ??= new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 20 });
  const level = figure(value);
  return level === null ? NONE : whole.format(level);
}

export function usd(text: string | number | null | undefined): string {
  const value = figure(text);
  if (value === null) return NONE;
  // Next to nothing is not nothing.
  return value > 0 && value < 0.01 ? '<$0.01' : `$${shown(value, 2, 2)}`;
}

/** Cents matter where a cent is the price: to the last digit that is not zero. */
export function exactUsd(text: string | null | undefined): string {
  const [, whole, cents = ''] = /^(\d+)(\.\d+)?$/.exec(text ?? '') ?? [];
  return whole === undefined ? NONE : `$${grouped(whole)}${cents.replace(/(\.\d\d\d*?)0+$/, '$1')}`;
}

export function short(text: string | number | null | undefined): string {
  const value = figure(text);
  return value === null ? NONE : compact(value);
}

export function tokens(text: string | null | undefined): string {
  significant ??= new Intl.NumberFormat('en-US', { maximumSignificantDigits: 8 });
  const value = figure(text);
  // Where eight digits end before the dot, the rest of the whole ones is true as well.
  return value === null ? NONE : value >= 1e8 ? shown(value, 0, 0) : significant.format(value);
}

/** Of what is held, for a narrow column: who shows it has the whole figure in a title. */
export function held(text: string): string {
  const value = figure(text);
  if (value === null) return NONE;
  if (value >= 1e9) return compact(value);
  return value > 0 && value < 1e-6 ? '<0.000001' : tokens(value < 1 ? value.toFixed(6) : text);
}

/** What is held is worth something, however little; and beyond a billion nobody reads the cents. */
export function worth(text: string | null): string {
  const value = figure(text);
  if (value === null) return NONE;
  return value >= 1e9 ? `$${compact(value)}` : usd(value || Number.MIN_VALUE);
}

export function percent(text: string | number | null | undefined): string {
  const value = figure(text);
  if (value === null) return NONE;
  const shown = Math.abs(value).toFixed(2);
  return `${shown === '0.00' ? '' : value > 0 ? '+' : '−'}${shown} %`;
}

/** -1, 0, 1: by what is shown, so that the sign and the colour agree. */
export function trend(text: string | number | null | undefined): number {
  return Math.sign(Math.round((figure(text) ?? 0) * 100));
}

export function clock(moment: string | number | Date): string {
  return `${new Date(moment).toISOString().slice(11, 16)} UTC`;
}

export function day(moment: string | number): string {
  return `${new Date(moment).toISOString().slice(0, 10)} ${clock(moment)}`;
}

export function age(told: number | null | undefined): string {
  const seconds = figure(told);
  if (seconds === null) return 'never';
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}

/** A constant of the issuer, CORPORATE_ACTION_TYPE_CASH_DIVIDEND, as a person says it: cash dividend. */
export function inPlain(constant: string): string {
  return constant.replace(/^CORPORATE_ACTION_(TYPE|STATUS)_/, '').replaceAll('_', ' ').toLowerCase();
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
