import { x402Client } from '@x402/core/client';
import { encodePaymentSignatureHeader } from '@x402/core/http';
import type { PaymentRequired as Challenge, PaymentRequirements } from '@x402/core/types';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { PaymentRequired } from './errors.js';
import { CHAIN_ID, SECOND_CHAIN_ID, USDC, USDG } from './generated/pinned.js';

/** Who signs: a viem account, or a wallet that signs typed data (EIP-712). */
export type Signer = ConstructorParameters<typeof ExactEvmScheme>[0];

const FIRST_NETWORK = `eip155:${CHAIN_ID}` as const;
// What a cent is made of on either network. Nothing else is ever signed for, whatever is offered.
const COINS: Record<string, string> = { [FIRST_NETWORK]: USDG, [`eip155:${SECOND_CHAIN_ID}`]: USDC };
/** A payment is good for minutes. One that can be taken for years is nobody's honest offer. */
const LONGEST_S = 86_400;

/** The reference scheme adds an offer's time limit to this machine's time; a clock that is ahead makes it longer. */
class ByAnotherClock extends ExactEvmScheme {
  readonly #aheadS: number;

  constructor(signer: Signer, aheadS: number) {
    super(signer);
    this.#aheadS = aheadS;
  }

  override createPaymentPayload(...[version, offer, context]: Parameters<ExactEvmScheme['createPaymentPayload']>) {
    // Only what is signed changes: the payment still names the offer as the service made it.
    const maxTimeoutSeconds = offer.maxTimeoutSeconds + this.#aheadS;
    return super.createPaymentPayload(version, { ...offer, maxTimeoutSeconds }, context);
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

/**
 * The service's time, as the challenge in this header says when it was made; never later than ours, a day before at most.
 * Chains go by it: to a clock that is ahead, or leaps ahead, a payment is over before it is.
 */
export function serviceTime(header: string, now: number): number {
  const said = Date.parse(String(issuedAt(header)));
  return Number.isNaN(said) ? now : Math.min(Math.max(said, now - 1000 * LONGEST_S), now);
}

function issuedAt(header: string): unknown {
  try {
    const offered = read(header).extensions?.['sign-in-with-x'] as { info?: { issuedAt?: unknown } } | null | undefined;
    return offered?.info?.issuedAt;
  } catch {
    return undefined;
  }
}

/** The offers that this house pays. */
export function payable(challenge: Challenge, network: string | undefined): PaymentRequirements[] {
  const offers = (Array.isArray(challenge.accepts) ? challenge.accepts : []).filter(
    (offer) =>
      offer?.scheme === 'exact' &&
      (!network || offer.network === network) &&
      String(offer.asset).toLowerCase() === COINS[offer.network] &&
      /^[1-9]\d{0,30}$/.test(offer.amount) &&
      Number.isInteger(offer.maxTimeoutSeconds) &&
      offer.maxTimeoutSeconds > 0 &&
      offer.maxTimeoutSeconds <= LONGEST_S,
  );
  if (!offers.length) throw unpayable('nothing is offered that this payer can pay');
  return offers;
}

/**
 * The headers of a signed payment. Only what was looked at here is shown to the signer: some extensions would have it
 * sign more than a payment.
 */
export async function sign(signer: Signer, challenge: Challenge, offer: PaymentRequirements, aheadS: number): Promise<Record<string, string>> {
  const client = new x402Client()
    .register('eip155:*', new ExactEvmScheme(signer))
    .register(FIRST_NETWORK, new ByAnotherClock(signer, aheadS));
  client.setSpendControls({
    allowedAssets: [{ network: offer.network, asset: offer.asset, maxAmountPerPayment: offer.amount }],
  });
  const shown: Challenge = { x402Version: 2, accepts: [offer], resource: challenge.resource };
  try {
    const payment = await client.createPaymentPayload(shown);
    // A name that only we know: with it the answer can be fetched again from anywhere, and by nobody else.
    const extensions = { 'payment-identifier': { info: { required: false, id: secret() } } };
    return { 'payment-signature': encodePaymentSignatureHeader({ ...payment, extensions }) };
  } catch (error) {
    // A wallet may throw anything.
    const said = error instanceof Error ? error.message : typeof error === 'string' ? error : '';
    throw unpayable(`the offer cannot be paid (${said.split('\n')[0] || 'the wallet gave no reason'})`);
  }
}

export function fromBase64(base64: string): string {
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)));
}

function secret(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function unpayable(message: string): PaymentRequired {
  return new PaymentRequired({ code: 'payment_required', message, status: 402, requestId: null, retryAfterS: null });
}
