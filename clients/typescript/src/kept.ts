/** Where signed payments are remembered. It holds no key, but whoever reads it can fetch what was paid for. */
export interface Store {
  /** What was saved last; null when nothing was, or it was cleared away. */
  load(): string | null | Promise<string | null>;
  save(text: string): void | Promise<void>;
  /**
   * Does some work while nobody else does theirs, such as `(work) => navigator.locks.request('payments', work)`. Without it
   * the store belongs to one program: of two that change it in the same moment one would forget its payment, and pay again.
   */
  lock?<T>(work: () => Promise<T>): Promise<T>;
}

/** One signed payment, and the request that it was signed for. */
export interface Held {
  /** Null: the service did not take it, and it is good for any request on the same terms. */
  request: string | null;
  headers: Record<string, string>;
  /** In base units. */
  amount: string;
  terms: string;
  /** Milliseconds: its deadline. */
  until: number;
  /** Another program presented it too. What the one that signed it is told is not all that may have become of it. */
  isShared?: boolean;
}

/** The service keeps an answer that was paid for a day; and our clock may be a day ahead of its. */
const ANSWER_KEPT_MS = 2 * 86_400_000;

/** What each store held when it was last seen. One that is emptied meanwhile ends no payment: it is filled again from here. */
const seen = new WeakMap<Store, string>();

/** Payments that left the house and whose end is not known yet, and those that were not taken. */
export class Kept {
  readonly #store: Store;
  readonly #now: () => number;
  /** What is over and still in the store, which could not be written then. Presented once more it would bring the old answer. */
  readonly #over = new Set<string>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(store: Store | undefined, now: () => number) {
    let text: string | null = null;
    this.#store = store ?? { load: () => text, save: (made) => void (text = made) };
    this.#now = now;
  }

  /** Those that were signed for this request, to be presented again. Others' pay for no other request from now on. */
  repeat(request: string, isOurs: (held: Held) => boolean): Promise<Held[]> {
    const mine = (all: Held[]) => all.filter((each) => each.request === request);
    const marked = this.change((all) => {
      for (const each of mine(all)) if (!isOurs(each)) each.isShared = true;
      return mine(all);
    });
    // When the store is full nobody else can write either, so nobody gives them to another request.
    return marked.catch(() => this.#inTurn(async () => mine(this.#open(await this.#load()))));
  }

  /** It is over, whatever becomes of the store: whoever signs the next hears of that. False: somebody ended it before. */
  forget(held: Held): Promise<boolean> {
    const ended = this.change((all) => {
      const at = all.findIndex((each) => isSame(each, held));
      if (at >= 0) all.splice(at, 1);
      return at >= 0;
    });
    return ended.catch(() => {
      this.#over.add(name(held));
      return true;
    });
  }

  /** One change after the other, each of what the store holds by then: another page may have its payments there. */
  change<T>(make: (held: Held[]) => T): Promise<T> {
    return this.#inTurn(() => this.#change(make));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(() => (this.#store.lock ? this.#store.lock(work) : work()));
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #change<T>(make: (held: Held[]) => T): Promise<T> {
    const stored = await this.#store.load();
    const held = this.#open(stored ?? seen.get(this.#store) ?? '[]');
    const made = make(held);
    const after = JSON.stringify(held);
    if (after !== (stored ?? '[]')) await this.#store.save(after);
    seen.set(this.#store, after);
    this.#over.clear();
    return made;
  }

  async #load(): Promise<string> {
    return (await this.#store.load()) ?? seen.get(this.#store) ?? '[]';
  }

  #open(text: string): Held[] {
    const isOpen = ({ request, until }: Held) => this.#now() < until + (request ? ANSWER_KEPT_MS : 0);
    return read(text).filter((each) => isOpen(each) && !this.#over.has(name(each)));
  }
}

/** The same payment, as the service would see it. */
export function name({ headers }: Held): string {
  return headers['payment-signature']!;
}

export function isSame(one: Held, other: Held): boolean {
  return name(one) === name(other) && one.request === other.request;
}

function read(text: string): Held[] {
  let held: unknown;
  try {
    held = JSON.parse(text);
  } catch {
    held = undefined;
  }
  // Not passed over: what cannot be read may be money that is on its way.
  if (!Array.isArray(held) || !held.every(isHeld)) throw new TypeError('the store holds something else than payments');
  return held;
}

function isHeld(each: Partial<Held> | null): each is Held {
  return (
    typeof each?.headers?.['payment-signature'] === 'string' &&
    (each.request === null || typeof each.request === 'string') &&
    /^\d{1,31}$/.test(each.amount ?? '') &&
    typeof each.terms === 'string' &&
    typeof each.until === 'number'
  );
}
