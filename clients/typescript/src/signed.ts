// What a key on this machine signs: once, and only those very bytes are sent again. They carry their nonce, and the chain takes a
// nonce once.
import { keccak256, parseTransaction } from 'viem';
import { BuildRefused, type Hex, lower } from './calldata.js';
import { CHAIN_ID } from './generated/pinned.js';
import { pause } from './pause.js';
import { type TransactionReceipt, wholeReceipt } from './receipts.js';
import type { Wallet } from './trade.js';
import { SendUncertain, type SignedStep } from './unfinished.js';

export type LocalWallet = Required<Wallet>;

/** A step as it is sent. */
export interface Call {
  to: Hex;
  data: Hex;
}

// Said with every transaction: no node that has moved to another chain gets it signed for that one.
const CHAIN = { id: CHAIN_ID, name: 'the chain of the build' };
const AGAIN_MS = 3000;
const POLL_MS = 250;

export async function sign(wallet: LocalWallet, { to, data }: Call, nonce: number, feeMost: bigint): Promise<SignedStep> {
  const { account } = wallet;
  const call = { to, data, value: 0n, account };
  const gas = limit(await wallet.estimateGas(call as never));
  const { maxFeePerGas, maxPriorityFeePerGas } = await wallet.estimateFeesPerGas();
  const fee = gas * maxFeePerGas;
  // A node that names any price could spend the wallet on it.
  if (fee > feeMost) throw new BuildRefused(`the node asks for a fee of up to ${fee} wei, over the ${feeMost} that are allowed`);
  // A node takes no transaction that its sender cannot pay for, and says so after the signing.
  const held = await wallet.getBalance({ address: account.address });
  if (held < fee) throw new BuildRefused(`the account cannot pay for the gas: it holds ${held} wei, and up to ${fee} may be needed`);
  const raw = await wallet.signTransaction({ ...call, nonce, gas, maxFeePerGas, maxPriorityFeePerGas, chain: CHAIN } as never);
  return { nonce, raw, hash: keccak256(raw) };
}

/**
 * About a quarter more, and for nobody else the same: else one key in two programs signs one trade to the same bytes, and
 * both take the one trade for theirs.
 */
function limit(estimate: bigint): bigint {
  return (estimate * 5n) / 4n - BigInt(Math.floor((Math.random() * Number(estimate)) / 32));
}

/** Whether these bytes are this step: what somebody else's receipt says would be told of this trade. */
export function isOf(step: SignedStep, call: Call): boolean {
  try {
    const { chainId, nonce, to, data, value } = parseTransaction(step.raw);
    const isStep = chainId === CHAIN_ID && nonce === step.nonce && lower(to ?? '') === call.to && data === call.data && !value;
    return isStep && keccak256(step.raw) === step.hash;
  } catch {
    return false;
  }
}

/** Sends the newest of these until the chain has it. Throws SendUncertain when that cannot be told in time. */
export async function settle(wallet: LocalWallet, sent: readonly SignedStep[], waitMs: number): Promise<TransactionReceipt> {
  const step = sent.at(-1)!;
  const until = Date.now() + waitMs;
  const open = (what: string) => new SendUncertain(`the transaction with nonce ${step.nonce} ${what}`, step.nonce, step.hash, [...sent]);
  let again = 0;
  let refused = 0;
  let refusal = '';
  do {
    if (Date.now() >= again) {
      again = Date.now() + AGAIN_MS;
      refusal = await broadcast(wallet, step);
      if (refusal) refused++;
    }
    const receipt = await wallet.getTransactionReceipt({ hash: step.hash }).catch(() => null);
    if (receipt) return ofStep(receipt, step) ?? Promise.reject(open('has the receipt of another one, or one that is not whole'));
    // A node that has lost a receipt looks just the same: nobody is told that nothing happened.
    if (refusal && (await isVoid(wallet, step))) throw open('is not to be found, and its nonce is used, by another one it seems');
    // It does not want it. Somebody else may still: what became of it stays open.
    if (refused > 1 && !(await isKnown(wallet, step))) break;
    await pause(POLL_MS);
  } while (Date.now() < until);
  throw open(`was sent and is not on the chain yet${refusal && ` (the node says: ${refusal})`}`);
}

function ofStep(receipt: TransactionReceipt, { hash }: SignedStep): TransactionReceipt | null {
  try {
    return lower(wholeReceipt(receipt).transactionHash) === hash ? receipt : null;
  } catch {
    return null;
  }
}

/** What the node says against it. That decides nothing: one that knows the bytes already refuses them too. */
async function broadcast(wallet: LocalWallet, { raw }: SignedStep): Promise<string> {
  try {
    await wallet.sendRawTransaction({ serializedTransaction: raw });
    return '';
  } catch (error) {
    return refusalIn(error);
  }
}

/** A JSON-RPC error has a number; -1 is viem's own for what has none. Anything else was said by nobody: an answer was lost, or a question. */
function refusalIn(error: unknown): string {
  type Failure = { code?: unknown; details?: unknown; message?: unknown; cause?: unknown };
  const seen = new Set<Failure>();
  for (let each = error as Failure | undefined; each && !seen.has(each); each = each.cause as Failure | undefined) {
    seen.add(each);
    if (typeof each.code === 'number' && each.code !== -1) return String(each.details ?? each.message).slice(0, 200) || 'no reason';
  }
  return '';
}

/** Only a node that says so does not know it. */
async function isKnown(wallet: LocalWallet, { hash }: SignedStep): Promise<boolean> {
  return wallet.getTransaction({ hash }).then(
    () => true,
    (error: { name?: unknown }) => error.name !== 'TransactionNotFoundError',
  );
}

/** Whether another transaction seems to have used its nonce: then these bytes can do nothing any more. */
async function isVoid(wallet: LocalWallet, step: SignedStep): Promise<boolean> {
  const ask = { address: wallet.account.address, blockTag: 'latest' } as const;
  const isUsed = await wallet.getTransactionCount(ask).then((count) => count > step.nonce, () => false);
  // Asked last: what is mined between two questions is found.
  return isUsed && !(await isKnown(wallet, step));
}
