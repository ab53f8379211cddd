import { x402Client } from '@x402/core/client';
import { encodePaymentSignatureHeader } from '@x402/core/http';
import type { PaymentRequired as Challenge, PaymentRequirements } from '@x402/core/types';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import type { Payer as PayerOfClient, SignedPayment } from './client.js';
import { PaymentRequired, SpendingLimit } from './errors.js';
import { CHAIN_ID, SECOND_CHAIN_ID, USDC, USDG } from './generated/pinned.js';

export type Network = 'eip155:4663' | 'eip155:8453';

/** Who signs: a viem account, or a wallet that signs typed data (EIP-712). */
export type Signer = ConstructorParameters<typeof ExactEvmScheme>[0];

export interface PayerOptions {
  /** The most that may be signed for in this object's life, such as `"0.50"`: no service can take more. */
  limitUsd: string;
  /** Pay on this network only; by default on the first that is offered. */
  network?: Network;
  /** Shown what will be signed, before it is. Throw to refuse. */
  confirm?: (offer: Offer) => void | Promise<void>;
}

export interface Offer {
  network: string;
  asset: string;
  payTo: string;
  /** In dollars, six decimals. */
  amountUsd: string;
  resource: string;
}

/** What the service says of a payment that it took. */
export interface Receipt {
  transaction: string;
  network: string;
  payer: string;
}

// What a cent is made of on either network. Nothing else is ever signed for, whatever is offered.
const COINS: Record<string, string> = { [`eip155:${CHAIN_ID}`]: USDG, [`eip155:${SECOND_CHAIN_ID}`]: USDC };

interface Held extends SignedPayment {
  terms: string;
  /** Milliseconds after which it can no longer be taken. */
  until: number;
}

/** Pays for calls, never more than was allowed: `new Client(url, { payer })`. */
export class Payer implements PayerOfClient {
  /** The receipt of the newest payment. */
  lastReceipt: Receipt | null = null;
  readonly #options: PayerOptions;
  readonly #limit: bigint;
  readonly #signer: Signer;
  #signed = 0n;
  #refused = 0n;
  /** Payments by the request they were signed for, while what became of them is not known. */
  readonly #open = new Map<string, Held>();
  /** Payments that the service did not take and that are still good, by their terms. */
  readonly #spare = new Map<string, Held>();

  constructor(signer: Signer, options: PayerOptions) {
    this.#signer = signer;
    this.#options = options;
    this.#limit = units(options.limitUsd);
  }

  /** Signed for so far, without the payments that the service says it did not take. */
  get spentUsd(): string {
    return text(this.#signed - this.#refused);
  }

  /** What may still be signed for. A payment that is out of our hands counts, refused or not. */
  get leftUsd(): string {
    return text(this.#limit - this.#signed);
  }

  kept(key: string): SignedPayment | undefined {
    return this.#open.get(key);
  }

  async sign(key: string, header: string): Promise<SignedPayment> {
    const challenge = read(header);
    const offers = this.#payable(challenge);
    const offer = offers[0]!;
    const terms = JSON.stringify(offers);
    const spare = this.#spare.get(terms);
    this.#spare.delete(terms);
    if (spare && spare.until - Date.now() > 30_000) {
      this.#refused -= spare.amount;
      this.#open.set(key, spare);
      return spare;
    }
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
        resource: challenge.resource?.url ?? '',
      });
      const until = Date.now() + 1000 * offer.maxTimeoutSeconds;
      const held = { headers: await this.#make(challenge, offer), amount, terms, until };
      this.#open.set(key, held);
      return held;
    } catch (error) {
      this.#signed -= amount;
      throw error;
    }
  }

  settle(key: string, outcome: 'taken' | 'refused' | 'spare' | 'unknown', receipt: string | null): void {
    const held = this.#open.get(key);
    // Unknown: it stays, and the next try of the same request carries it again instead of a new one.
    if (!held || outcome === 'unknown') return;
    this.#open.delete(key);
    if (outcome === 'taken') {
      this.lastReceipt = receipt ? (JSON.parse(fromBase64(receipt)) as Receipt) : null;
      return;
    }
    this.#refused += held.amount;
    if (outcome === 'spare') this.#spare.set(held.terms, held);
  }

  #payable(challenge: Challenge): PaymentRequirements[] {
    const offers = (Array.isArray(challenge.accepts) ? challenge.accepts : []).filter(
      (offer) =>
        offer?.scheme === 'exact' &&
        (!this.#options.network || offer.network === this.#options.network) &&
        String(offer.asset).toLowerCase() === COINS[offer.network] &&
        /^[1-9]\d{0,30}$/.test(offer.amount) &&
        offer.maxTimeoutSeconds > 0,
    );
    if (!offers.length) throw unpayable('nothing is offered that this payer can pay');
    return offers;
  }

  /** Only what was looked at here is shown to the signer: some extensions would have it sign more than a payment. */
  async #make(challenge: Challenge, offer: PaymentRequirements): Promise<Record<string, string>> {
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(this.#signer));
    client.setSpendControls({
      allowedAssets: [{ network: offer.network, asset: offer.asset, maxAmountPerPayment: String(this.#limit) }],
    });
    const shown: Challenge = { x402Version: 2, accepts: [offer], resource: challenge.resource };
    try {
      const payment = await client.createPaymentPayload(shown);
      // A name that only we know: with it the answer can be fetched again from anywhere, and by nobody else.
      const extensions = { 'payment-identifier': { info: { required: false, id: secret() } } };
      return { 'payment-signature': encodePaymentSignatureHeader({ ...payment, extensions }) };
    } catch (error) {
      throw unpayable(`the offer cannot be paid (${(error as Error).message.split('\n')[0]})`);
    }
  }
}

/** The challenge of a 402, out of its PAYMENT-REQUIRED header. */
export function read(header: string): Challenge {
  let challenge: Challenge | undefined;
  try {
    challenge = JSON.parse(fromBase64(header));
  } catch {
    challenge = undefined;
  }
  if (challenge?.x402Version !== 2) throw unpayable('the offer cannot be read');
  return challenge;
}

function secret(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function fromBase64(base64: string): string {
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)));
}

function unpayable(message: string): PaymentRequired {
  return new PaymentRequired({ code: 'payment_required', message, status: 402, requestId: null, retryAfterS: null });
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
