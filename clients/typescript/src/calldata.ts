/** What the calldata of a build says, word by word, and the same calldata made again from what it says. */
import { TickyardError } from './errors.js';

export type Hex = `0x${string}`;

/** Lets the spender take so much of the token. */
export interface Approval {
  kind: 'approval';
  token: Hex;
  spender: Hex;
  amount: bigint;
}

/** One swap through one pool, which reverts after the deadline or beyond the bound. */
export interface Swap {
  kind: 'exactIn' | 'exactOut';
  router: Hex;
  tokenIn: Hex;
  tokenOut: Hex;
  /** Hundredths of a basis point. */
  fee: number;
  recipient: Hex;
  /** What goes in (exactIn) or comes out (exactOut). */
  amount: bigint;
  /** The least that comes out (exactIn) or the most that goes in (exactOut). */
  bound: bigint;
  /** Unix seconds. */
  deadline: number;
}

/** The steps of a build do not say what was asked for. Nothing was signed. */
export class BuildRefused extends TickyardError {}

const APPROVE = '095ea7b3';
const MULTICALL = '5ae401dc';
const SWAPS = { '04e45aaf': 'exactIn', '5023b4df': 'exactOut' } as const;

/** Reads a step; whatever is not exactly one of the calls we know is refused. */
export function decode(step: { to: string; data: string; value: string }): Approval | Swap {
  const { to, data, value } = step;
  if (!/^0x[0-9a-fA-F]{40}$/.test(to) || !/^0x([0-9a-f]{2})*$/.test(data) || value !== '0') {
    throw new BuildRefused('a step is out of shape');
  }
  const found = data.startsWith(`0x${APPROVE}`) ? approval(to, data) : swap(to, data);
  // Words that we did not look at would be sent unseen.
  if (encode(found).data !== data) throw new BuildRefused('a step carries more than what can be read from it');
  return found;
}

/** The transaction for what was decoded: this is what is signed, not what was received. */
export function encode(call: Approval | Swap): { to: Hex; data: Hex } {
  if (call.kind === 'approval') {
    return { to: call.token, data: `0x${APPROVE}${word(BigInt(call.spender))}${word(call.amount)}` };
  }
  const selector = call.kind === 'exactIn' ? '04e45aaf' : '5023b4df';
  const words = [call.tokenIn, call.tokenOut, call.fee, call.recipient, call.amount, call.bound, 0];
  const inner = selector + words.map((each) => word(BigInt(each))).join('');
  const padded = inner.padEnd(Math.ceil(inner.length / 64) * 64, '0');
  const head = [call.deadline, 64, 1, 32, inner.length / 2].map((each) => word(BigInt(each))).join('');
  return { to: call.router, data: `0x${MULTICALL}${head}${padded}` };
}

function approval(to: string, data: string): Approval {
  const [spender, amount] = words(data.slice(10), 2);
  return { kind: 'approval', token: lower(to), spender: address(spender!), amount: amount! };
}

function swap(to: string, data: string): Swap {
  const kind = SWAPS[data.slice(330, 338) as keyof typeof SWAPS];
  if (!data.startsWith(`0x${MULTICALL}`) || !kind) throw new BuildRefused('a step calls something else than a swap');
  const [deadline] = words(data.slice(10), 1);
  const [tokenIn, tokenOut, fee, recipient, amount, bound] = words(data.slice(338), 6);
  if (deadline! > 2n ** 40n || fee! > 1_000_000n) throw new BuildRefused('a step is out of shape');
  return {
    kind,
    router: lower(to),
    tokenIn: address(tokenIn!),
    tokenOut: address(tokenOut!),
    fee: Number(fee),
    recipient: address(recipient!),
    amount: amount!,
    bound: bound!,
    deadline: Number(deadline),
  };
}

function words(hex: string, count: number): bigint[] {
  if (hex.length < 64 * count) throw new BuildRefused('a step is cut off');
  return Array.from({ length: count }, (_, index) => BigInt(`0x${hex.slice(64 * index, 64 * (index + 1))}`));
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, '0');
}

function address(value: bigint): Hex {
  if (value >= 2n ** 160n) throw new BuildRefused('a step is out of shape');
  return `0x${value.toString(16).padStart(40, '0')}`;
}

export function lower(text: string): Hex {
  return text.toLowerCase() as Hex;
}
