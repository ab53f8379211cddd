import { errorOf, TickyardError, Unreachable } from './errors.js';
import { Operations } from './generated/operations.js';
import { pause } from './pause.js';
import { type CallOptions, request, type Route, type Wire } from './route.js';
import { follow, type StreamEvent, type StreamOptions } from './stream.js';

export interface ClientOptions {
  /** How often a call that only reads is tried again; 2 unless said otherwise. */
  retries?: number;
  /** Bounds each try; 30,000 unless said otherwise. */
  timeoutMs?: number;
  /** Another `fetch`, such as one of a test or with a proxy. */
  fetch?: typeof fetch;
  /** Pay for what has a price, instead of using the free routes: see `tickyard/pay`. */
  payer?: Payer;
}

/** An answer as it came. */
export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  /** An earlier try of the same sending got no answer, or one that leaves its outcome open. */
  isUnsure?: boolean;
  /** What the payer adds to what the service says of a refusal. */
  advice?: string;
}

/** Sends a request with these headers more. Throws when no answer came. */
export type Send = (headers: Record<string, string>) => Promise<Reply>;

/** Who pays; `tickyard/pay` has one. */
export interface Payer {
  /** The answer to a request, paid for if that is asked for. Equal requests have the same name. */
  pay(name: string, send: Send): Promise<Reply>;
}

const WORTH_A_RETRY = new Set([429, 502, 503]);
const PAUSE_MAX_MS = 10_000;
const ANSWER_MAX_CHARS = 16 * 2 ** 20;

/**
 * A client of the service. It has every operation as a method, keeps no connection and no state but the payer's, and
 * throws the classes of `errors.ts`.
 *
 *     const client = new Client('http://127.0.0.1:8402');
 *     const price = await client.getPrice({ symbol: 'AAPL' });
 */
export class Client extends Operations {
  readonly baseUrl: string;
  readonly #options: ClientOptions;

  constructor(baseUrl = 'http://127.0.0.1:8402', options: ClientOptions = {}) {
    super();
    this.baseUrl = baseUrl.replace(/\/+$/, '');
    this.#options = options;
  }

  /** An operation by its route; the methods above all come here. */
  override async call<T>(route: Route, values: object, options: CallOptions = {}): Promise<T> {
    const flags = route[2] ?? '';
    const payer = flags.includes('p') ? this.#options.payer : undefined;
    const wire = request(route, values, !!payer);
    if (!payer) return read<T>(await this.#repeat(wire, !flags.includes('w'), options));
    const name = `${wire.method} ${this.baseUrl}${wire.path} ${wire.body ?? ''}`;
    return read<T>(
      await payer.pay(name, async (headers) => {
        const reply = await this.#repeat({ ...wire, headers: { ...wire.headers, ...headers } }, true, options);
        // What cannot be read is no answer: a payment that was sent with it must stay.
        if (reply.status < 300) read(reply);
        return reply;
      }),
    );
  }

  /** Any path of the service, for routes that this client does not know yet. */
  ask<T>(method: string, path: string, values: object = {}, options?: CallOptions): Promise<T> {
    return this.call<T>([method, path, method === 'GET' ? '' : 'w'], values, options);
  }

  /** What happens in the market, as it happens. Reconnects by itself and resumes where it was. */
  stream(options: StreamOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    return follow(this.baseUrl, { fetch: this.#fetch, ...options });
  }

  get #fetch(): typeof fetch {
    return this.#options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  async #repeat(wire: Wire, repeatable: boolean, options: CallOptions): Promise<Reply> {
    const tries = 1 + (repeatable ? (this.#options.retries ?? 2) : 0);
    let isUnsure = false;
    for (let attempt = 1; ; attempt++) {
      let wait = 200 * 2 ** (attempt - 1) * (1 + Math.random());
      try {
        const reply = await this.#send(wire, options);
        if (attempt >= tries || !WORTH_A_RETRY.has(reply.status)) return { ...reply, isUnsure };
        wait = Math.max(wait, 1000 * (retryAfter(reply.headers) ?? 0));
        // A longer wait is the caller's to decide.
        if (wait > PAUSE_MAX_MS) return { ...reply, isUnsure };
        isUnsure ||= reply.status !== 429;
      } catch (error) {
        if (options.signal?.aborted) throw options.signal.reason;
        if (error instanceof TickyardError) throw error;
        if (attempt >= tries) throw new Unreachable(`the service did not answer (${(error as Error).name})`);
        isUnsure = true;
      }
      await pause(wait, options.signal);
    }
  }

  async #send(wire: Wire, { signal }: CallOptions): Promise<Reply> {
    const limit = AbortSignal.timeout(this.#options.timeoutMs ?? 30_000);
    const { path, ...init } = wire;
    const response = await this.#fetch(this.baseUrl + path, {
      ...init,
      redirect: 'error',
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    const text = await response.text();
    if (text.length > ANSWER_MAX_CHARS) throw new Unreachable('the answer is too long');
    return { status: response.status, headers: response.headers, text };
  }
}

function read<T>({ status, headers, text, advice }: Reply): T {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  if (status >= 200 && status < 300) {
    if (body !== undefined && /json/.test(headers.get('content-type') ?? 'json')) return body as T;
    if (/^text\//.test(headers.get('content-type') ?? '') && !/html/.test(headers.get('content-type')!)) return text as T;
    throw new Unreachable('the service answered something else than expected');
  }
  const said = (body as { error?: { code?: unknown; message?: unknown } | string } | undefined)?.error;
  // A challenge says in `error` why a payment was refused; every other failure is an Error object.
  const [code, message] =
    typeof said === 'object' && said && typeof said.code === 'string'
      ? [said.code, String(said.message)]
      : [status === 402 ? 'payment_required' : 'unexpected_answer', typeof said === 'string' ? said : ''];
  throw errorOf({
    status,
    code,
    message: [message || `the service answered ${status}`, ...(advice ? [advice] : [])].join('; '),
    requestId: headers.get('x-request-id'),
    retryAfterS: retryAfter(headers),
  });
}

function retryAfter(headers: Headers): number | null {
  const text = headers.get('retry-after') ?? '';
  return /^\d{1,6}$/.test(text) ? Number(text) : null;
}
