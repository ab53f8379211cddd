import type { Payer as PayerOfClient, Reply, Send } from './client.js';
import { SpendingLimit, Unreachable } from './errors.js';
import { type Held, isSame, Kept, name, type Store } from './kept.js';
import { fromBase64, payable, read, serviceTime, sign, type Signer } from './signing.js';

export type { Store } from './kept.js';
export { read, type Signer } from './signing.js';

export type Network = 'eip155:4663' | 'eip155:8453';

export interface PayerOptions {
  /** The most that may be signed for in this object's life, such as `"0.50"`: no service can take more. */
  limitUsd: string;
  /** Pay on this network only; by default on the first that is offered. */
  network?: Network;
  /** Shown what will be signed, before it is. Throw to refuse. */
  confirm?: (offer: Offer) => void | Promise<void>;
  /** Remembers payments whose end is not known, so that a restarted program presents them before it signs new ones. */
  store?: Store;
  /**
   * By how many seconds the service's clock is ahead of this machine's. Only a sandbox's ever is, whose clock can be
   * moved: what is signed for chain 4663 is then good for as much longer, so say it of nobody else.
   */
  aheadS?: number | (() => Promise<number>);
  /** This machine's clock, in milliseconds; `Date.now` unless said otherwise. */
  now?: () => number;
}

export interface Offer {
  network: string;
  asset: string;
  payTo: string;
  /** In dollars, six decimals. */
  amountUsd: string;
  /** For how long the signature is good. */
  maxTimeoutSeconds: number;
  resource: string;
}

/** What the service says of a payment that it took. */
export interface Receipt {
  transaction: string;
  network: string;
  payer: string;
}

const VALID_AT_LEAST_MS = 30_000;
/** How long after its deadline a refused payment is over for sure: clocks and blocks differ. */
const OVER_AFTER_MS = 60_000;
/** Statuses below 500 that do not say that the request was looked at. */
const SAYS_NOTHING = new Set([408, 425]);

/** What this object knows of a payment, beyond what is kept. */
interface Course {
  /** Every answer to it so far said clearly what became of it. */
  isSure: boolean;
  isCounted: boolean;
  /** How many calls are presenting it right now. */
  out: number;
}

/** Pays for calls, never more than was allowed: `new Client(url, { payer })`. */
export class Payer implements PayerOfClient {
  /** The receipt of the newest payment. */
  lastReceipt: Receipt | null = null;
  readonly #options: PayerOptions;
  readonly #limit: bigint;
  readonly #signer: Signer;
  readonly #now: () => number;
  readonly #kept: Kept;
  readonly #courses = new Map<string, Course>();
  #signed = 0n;
  #spent = 0n;

  constructor(signer: Signer, options: PayerOptions) {
    this.#signer = signer;
    this.#options = options;
    this.#limit = units(options.limitUsd);
    this.#now = options.now ?? Date.now;
    this.#kept = new Kept(options.store, this.#now);
  }

  /** What was taken or may have been, without the payments that the service says it did not take. */
  get spentUsd(): string {
    return text(this.#spent);
  }

  /** What may still be signed for. A payment that is out of our hands counts, refused or not. */
  get leftUsd(): string {
    return text(this.#limit - this.#signed);
  }

  /** The answer to a request, paid for if that is asked for. What was signed for it before comes first. */
  async pay(request: string, send: Send): Promise<Reply> {
    let refused: Reply | undefined;
    for (const held of await this.#kept.repeat(request, (each) => this.#courses.has(name(each)))) {
      const reply = await this.#present(held, send);
      if (reply.status !== 402) return reply;
      if (reply.advice) refused = reply;
    }
    if (refused) return refused;
    const challenge = await send({});
    const header = challenge.headers.get('payment-required');
    if (challenge.status !== 402 || !header) return challenge;
    return this.#present(await this.#sign(request, header), send);
  }

  /** The same payment again is never a second one: the service keeps the answer that was paid for. */
  async #present(held: Held, send: Send): Promise<Reply> {
    const course = this.#course(held);
    course.out++;
    let reply: Reply;
    try {
      reply = await send(held.headers);
    } catch (error) {
      course.isSure = false;
      throw error;
    } finally {
      course.out--;
    }
    return this.#judge(held, course, reply);
  }

  /**
   * What an answer says about the payment that was sent with it. An answer ends it; so does a refusal once nobody can
   * take it any more. A 4xx says that nothing was taken, and it pays for the next call on the same terms, unless its end
   * was in doubt before. After anything else its end is not known, and it stays.
   */
  async #judge(held: Held, course: Course, reply: Reply): Promise<Reply> {
    const { status, isUnsure } = reply;
    if (!isTheServices(reply)) {
      // Somebody in between, who knows nothing of the payment that they may have let through.
      course.isSure = false;
      if (status < 300) throw new Unreachable('the service answered something else than expected (there is no receipt)');
      return status === 402 ? { ...reply, advice: advice(held.until + OVER_AFTER_MS) } : reply;
    }
    if (isUnsure || status === 402 || status >= 500 || SAYS_NOTHING.has(status)) course.isSure = false;
    if (status < 300) {
      this.lastReceipt = receiptOf(reply);
      if (await this.#kept.forget(held)) this.#count(held, course, true);
      this.#courses.delete(name(held));
    } else if (status === 402) {
      const over = held.until + OVER_AFTER_MS;
      if (serviceTime(reply.headers.get('payment-required') ?? '', this.#now()) < over) return { ...reply, advice: advice(over) };
      if (await this.#kept.forget(held)) this.#count(held, course, false);
      this.#courses.delete(name(held));
    } else if (status < 500 && status !== 429 && course.isSure && !course.out) {
      if (await this.#spare(held)) this.#count(held, course, false);
    }
    return reply;
  }

  /** It pays for another request. False when another call has ended it already, or another program may hear otherwise. */
  #spare(held: Held): Promise<boolean> {
    const spared = this.#kept.change((all) => {
      const found = all.find((each) => isSame(each, held));
      if (!found || found.isShared) return false;
      found.request = null;
      return true;
    });
    // The answer is there already. What the store did not let go of is presented once more, which costs nothing.
    return spared.catch(() => true);
  }

  #count(held: Held, course: Course, isSpent: boolean): void {
    if (course.isCounted !== isSpent) this.#spent += isSpent ? BigInt(held.amount) : -BigInt(held.amount);
    course.isCounted = isSpent;
  }

  /** Of a payment that was found in the store nothing is known: whoever signed it may have sent it. */
  #course(held: Held): Course {
    let course = this.#courses.get(name(held));
    if (!course) this.#courses.set(name(held), (course = { isSure: false, isCounted: false, out: 0 }));
    return course;
  }

  /** A payment for the challenge in this header. Throws SpendingLimit before anything is signed. */
  async #sign(request: string, header: string): Promise<Held> {
    const challenge = read(header);
    const offers = payable(challenge, this.#options.network);
    const offer = offers[0]!;
    // Another wallet's payment is that wallet's money, although both are kept in one store.
    const terms = JSON.stringify([this.#signer.address, offers]);
    const spare = await this.#kept.change((all) => {
      const found = all.find(
        (each) => each.request === null && each.terms === terms && each.until - this.#now() > VALID_AT_LEAST_MS,
      );
      if (found) found.request = request;
      return found;
    });
    if (spare) return this.#begin(spare);
    const amount = BigInt(offer.amount);
    if (this.#signed + amount > this.#limit) {
      throw new SpendingLimit(`a call costs ${text(amount)} USD and ${this.leftUsd} may still be signed for`);
    }
    // Counted before it is signed: two calls at the same time cannot both take the last cent.
    this.#signed += amount;
    try {
      await this.#options.confirm?.({
        network: offer.network,
        asset: offer.asset,
        payTo: offer.payTo,
        amountUsd: text(amount),
        maxTimeoutSeconds: offer.maxTimeoutSeconds,
        resource: challenge.resource?.url ?? '',
      });
      const aheadS = await this.#aheadS();
      const until = this.#now() + 1000 * offer.maxTimeoutSeconds;
      const headers = await sign(this.#signer, challenge, offer, aheadS);
      const held = { request, headers, amount: offer.amount, terms, until };
      // Before it is sent: a program that dies on the way must find it again.
      await this.#kept.change((all) => void all.push(held));
      return this.#begin(held);
    } catch (error) {
      this.#signed -= amount;
      throw error;
    }
  }

  async #aheadS(): Promise<number> {
    const { aheadS = 0 } = this.#options;
    const seconds = Math.round(typeof aheadS === 'number' ? aheadS : await aheadS());
    if (!Number.isSafeInteger(seconds)) throw new TypeError('the clock of the service cannot be read');
    return Math.max(0, seconds);
  }

  #begin(held: Held): Held {
    const course = this.#course(held);
    course.isSure = true;
    this.#count(held, course, true);
    return held;
  }
}

function advice(over: number): string {
  return (
    'the payment is kept, because it may have been taken: repeat the call, which presents the same payment again; ' +
    `a new one is signed only after ${new Date(over).toISOString()}`
  );
}

/**
 * Whether an answer to a payment is the service's own word, and no proxy's or firewall's: with a receipt when it was
 * taken, with an offer when it was refused, and else with an error in the service's own form.
 */
function isTheServices({ status, headers, text }: Reply): boolean {
  if (status < 300) return headers.has('payment-response');
  if (status === 402) return headers.has('payment-required');
  try {
    return typeof (JSON.parse(text) as { error?: { code?: unknown } } | null)?.error?.code === 'string';
  } catch {
    return false;
  }
}

/** An answer that was paid for is not lost because its receipt cannot be read. */
function receiptOf({ headers }: Reply): Receipt | null {
  try {
    return JSON.parse(fromBase64(headers.get('payment-response') ?? '')) as Receipt;
  } catch {
    return null;
  }
}

function units(usd: string): bigint {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d{1,6}))?$/.exec(usd) ?? [];
  if (whole === undefined) throw new TypeError('a limit is digits, optionally a dot and up to six digits');
  return BigInt(whole + fraction.padEnd(6, '0'));
}

function text(amount: bigint): string {
  const digits = String(amount).padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
