import { TickyardError } from './errors.js';

/** `[method, path, flags]`: flag `w` changes something, `p` has a pay-per-call twin. */
export type Route = readonly [method: string, path: string, flags?: string];

export interface CallOptions {
  /** Gives the call up. */
  signal?: AbortSignal;
}

/** A request, made from a route and what the caller gave. */
export interface Wire {
  method: string;
  /** With its query. */
  path: string;
  headers: Record<string, string>;
  body?: string;
}

/** Operations of one subject; the client they belong to makes the calls. */
export abstract class Group {
  abstract call<T>(route: Route, values: object, options?: CallOptions): Promise<T>;
}

/** The request for these values. Null and undefined are left out. */
export function request([method, path]: Route, values: object, paid = false): Wire {
  const rest = new Map(Object.entries(values).filter(([, value]) => value != null));
  const take = (name: string) => {
    const value = rest.get(name);
    rest.delete(name);
    return value;
  };
  const target = (paid ? path.replace('/v1/', '/v1/x402/') : path).replace(/\{(\w+)\}/g, (_, name) => {
    const value = String(take(name));
    // Whoever sends the request takes these for steps to another path, however they are written.
    if (value === '.' || value === '..') throw new TickyardError(`${name} cannot be ${value}`);
    return encodeURIComponent(value);
  });
  const wire: Wire = { method, path: target, headers: { accept: 'application/json' } };
  // A secret in a query would end in logs, histories and referrers.
  const secret = take('secret');
  if (secret != null) wire.headers['x-svc-alert-secret'] = String(secret);
  if (method === 'POST') {
    wire.headers['content-type'] = 'application/json';
    wire.body = JSON.stringify(Object.fromEntries(rest));
  } else if (rest.size) {
    wire.path += '?' + new URLSearchParams([...rest].map(([name, value]) => [name, String(value)]));
  }
  return wire;
}
