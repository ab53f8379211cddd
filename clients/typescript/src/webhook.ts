import { WebhookRefused } from './errors.js';
import type { AlertEvent } from './generated/answers.js';

const TOLERANCE_S = 300;

/**
 * The event in a webhook that was sent by the service for the alert with this secret, at most 5 minutes ago.
 *
 * `body`: the bytes, or the text, exactly as they arrived and not parsed. `now`: Unix seconds, else this machine's. Throws
 * WebhookRefused.
 */
export async function verifyWebhook(
  secret: string,
  headers: Headers | Record<string, string | string[] | undefined>,
  body: string | Uint8Array | ArrayBuffer,
  now: number = Date.now() / 1000,
): Promise<AlertEvent> {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const given = new Map(entries.map(([name, value]) => [name.toLowerCase(), String(value)]));
  const id = given.get('webhook-id');
  const at = given.get('webhook-timestamp');
  const signatures = given.get('webhook-signature');
  if (id === undefined || signatures === undefined || !/^\d{1,12}$/.test(at ?? '')) {
    throw new WebhookRefused('a webhook header is missing or out of shape');
  }
  if (!(Math.abs(now - Number(at)) <= TOLERANCE_S)) throw new WebhookRefused('the webhook is too old, or from the future');
  const carried = given.get('x-svc-alert-secret');
  if (carried !== undefined && !(await same(bytes(carried), bytes(secret)))) {
    throw new WebhookRefused("the webhook carries another alert's secret");
  }
  const raw = rawBytes(body);
  const signed = new Uint8Array([...bytes(`${id}.${at}.`), ...raw]);
  let key: CryptoKey;
  try {
    key = await crypto.subtle.importKey('raw', fromBase64(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  } catch {
    throw new WebhookRefused('the secret is not one of the service');
  }
  let genuine = false;
  for (const each of signatures.split(' ')) {
    const [version, text] = each.split(',');
    try {
      if (version === 'v1' && text) genuine ||= await crypto.subtle.verify('HMAC', key, fromBase64(text), signed);
    } catch {
      // Not base64: no signature of ours.
    }
  }
  if (!genuine) throw new WebhookRefused("the signature is not the service's");
  let event: AlertEvent;
  try {
    event = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(raw));
  } catch {
    throw new WebhookRefused('the body is not a price alert');
  }
  if (event?.type !== 'price_alert') throw new WebhookRefused('the body is not a price alert');
  if (event.id !== id) throw new WebhookRefused('the body is of another alert');
  return event;
}

/** A framework that parses a body first hands over an object: of that nothing can be verified. */
function rawBytes(body: unknown): Uint8Array {
  if (typeof body === 'string') return bytes(body);
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  throw new WebhookRefused('the body is neither text nor bytes: give the raw body as it arrived, not the parsed one');
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (letter) => letter.charCodeAt(0));
}

/** Compared by their digests, so that the time it takes says nothing of where they differ. */
async function same(one: Uint8Array<ArrayBuffer>, other: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map((each) => crypto.subtle.digest('SHA-256', each)));
  const left = new Uint8Array(a!);
  return new Uint8Array(b!).every((byte, index) => byte === left[index]);
}
