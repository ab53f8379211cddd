import { type Approval, BuildRefused, decode, encode, type Hex, lower, type Swap } from './calldata.js';
import { TickyardError } from './errors.js';
import type { TradeBuild } from './generated/answers.js';
import type { BuildTradeAsk } from './generated/operations.js';
import { CHAIN_ID, ROUTER, USDG } from './generated/pinned.js';
import { pause } from './pause.js';
import { approvedIn, movedFor, type TransactionReceipt, wholeReceipt } from './receipts.js';
import type { LocalWallet } from './signed.js';
import { NodeBehind, SendUncertain, type SignedStep, StepFailed, StepReplaced, StepsLeft } from './unfinished.js';

export { USDG };
export { type Approval, BuildRefused, decode, encode, type Hex, type Swap } from './calldata.js';
export { eachOnce, movedFor, type TransactionReceipt, wholeReceipt } from './receipts.js';
export { NodeBehind, SendUncertain, type SignedStep, StepFailed, StepReplaced, StepsLeft } from './unfinished.js';

/**
 * What `send` needs of a wallet: a viem wallet client with the public actions has it,
 * `createWalletClient({ account, chain, transport }).extend(publicActions)`.
 */
export interface Wallet {
  /** `type` as viem has it: a `local` account signs on this machine, without a person who is shown the fee. */
  account: { address: Hex; type?: string };
  getChainId(): Promise<number>;
  getTransactionCount(ask: { address: Hex; blockTag: 'latest' | 'pending' }): Promise<number>;
  getBlock(): Promise<{ timestamp: bigint }>;
  // viem's own types depend on the chain; these are the fields that are used.
  sendTransaction(transaction: never): Promise<Hex>;
  // viem answers with the receipt of another transaction where one took the nonce, and tells of it by `onReplaced`.
  waitForTransactionReceipt(ask: { hash: Hex; onReplaced?: (by: { reason: string }) => void }): Promise<TransactionReceipt>;
  // With these and a `local` account a step is signed first, and the same bytes are sent until the chain has them.
  estimateGas?(call: never): Promise<bigint>;
  estimateFeesPerGas?(): Promise<{ maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }>;
  getBalance?(ask: { address: Hex }): Promise<bigint>;
  signTransaction?(transaction: never): Promise<Hex>;
  sendRawTransaction?(ask: { serializedTransaction: Hex }): Promise<Hex>;
  getTransaction?(ask: { hash: Hex }): Promise<unknown>;
  getTransactionReceipt?(ask: { hash: Hex }): Promise<TransactionReceipt>;
}

const DEADLINE_MAX_S = 86_400;
const FEE_MOST_WEI = 2n * 10n ** 16n;
const WAIT_MS = 120_000;
// Said with every transaction: neither a wallet nor a node that has moved to another chain gets it signed for that one.
const CHAIN = { id: CHAIN_ID, name: 'the chain of the build' };

export interface Done {
  receipts: TransactionReceipt[];
  /** What really moved for the account, by token in lower case, base units: negative went out. */
  moved: Record<string, bigint>;
}

export interface SendOptions {
  /** Told before a step is handed to the wallet, and when its transaction is known. */
  onStep?: (step: Approval | Swap, index: number, hash: Hex | null) => void;
  /** How long to wait for a node that does not know the step before yet, and for the chain to have one that was signed on this machine: two minutes unless said. */
  waitMs?: number;
  /** The most that the gas of one step may cost, 0.02 ETH unless said. For an account whose key is on this machine, as are the next two. */
  feeMostWei?: bigint;
  /** Told of each step before it leaves: whoever is interrupted after that still has the bytes. */
  onSigned?: (step: SignedStep) => void | Promise<void>;
  /** Steps that an earlier try has signed for this very build; they are continued, never signed anew. */
  sent?: readonly SignedStep[];
}

/** What was asked for, as far as the steps must say it. */
export type TradeAsk = Pick<BuildTradeAsk, 'symbol' | 'side' | 'amount' | 'denom' | 'recipient'> & {
  slippageBps?: number;
  /** The token's address, where it is known from elsewhere. A build for another one is refused. */
  token?: string;
  /** The least to get, or the most to pay, of the leg that `amount` leaves open. A build that allows worse is refused. */
  limit?: string;
};

/**
 * The steps of a build, decoded. Throws BuildRefused unless they do exactly what was asked: this asset and amount, to this
 * recipient, through the pinned router, with a bound that is not looser than the slippage, approving no more than needed.
 * `now`, the chain's time in Unix seconds: given, a deadline that has passed or is over a day away is refused too.
 */
export function check(build: TradeBuild, ask: TradeAsk, now?: number): (Approval | Swap)[] {
  try {
    return checked(build, ask, now);
  } catch (error) {
    // The types are what the service promises; what came may have holes and words where figures belong.
    throw error instanceof BuildRefused ? error : new BuildRefused(`this is not a whole build: ${String(error)}`);
  }
}

function checked(build: TradeBuild, ask: TradeAsk, now?: number): (Approval | Swap)[] {
  const steps = build.steps.map(decode);
  const swap = steps.at(-1);
  const approvals = steps.slice(0, -1);
  refuseUnless(swap && swap.kind !== 'approval' && approvals.length <= 1, 'the build is not an approval and a swap');
  const token = lower(build.tokenAddress);
  // A word that is not known must never be read as the other one: 'BUY' is not a sale.
  refuseUnless(['buy', 'sell'].includes(ask.side) && ['usd', 'token'].includes(ask.denom ?? 'usd'), 'the ask has a side or an amount of no known kind');
  const [tokenIn, tokenOut] = ask.side === 'buy' ? [USDG, token] : [token, USDG];
  const isUsd = (ask.denom ?? 'usd') === 'usd';
  const kind = (ask.side === 'buy') === isUsd ? 'exactIn' : 'exactOut';
  refuseUnless(build.chainId === CHAIN_ID, 'the build is for another chain');
  refuseUnless(build.symbol === ask.symbol.toUpperCase(), 'the build is for another asset');
  refuseUnless(ask.token === undefined || lower(ask.token) === token, 'the build is for another token');
  refuseUnless(swap.router === ROUTER, 'the swap goes through an unknown router');
  refuseUnless(swap.tokenIn === tokenIn && swap.tokenOut === tokenOut, 'the swap is of other tokens');
  refuseUnless(swap.recipient === lower(ask.recipient), 'the swap pays somebody else');
  refuseUnless(swap.kind === kind, 'the swap fixes the other leg');
  refuseUnless(swap.amount === units(ask.amount, isUsd ? 6 : 18), 'the swap is of another amount');
  refuseUnless(swap.deadline === build.deadline, 'the swap has another deadline');
  const left = now === undefined ? 1 : swap.deadline - now;
  refuseUnless(left > 0 && left <= DEADLINE_MAX_S, 'the deadline has passed, or is too far away');
  refuseUnless(swap.fee === build.quote.feeTier, 'the swap uses another pool than the quote');
  const quoted = isUsd ? units(build.quote.usdAmount, 6) : units(build.quote.tokenAmount, 18);
  refuseUnless(quoted === swap.amount, 'the quote is of another amount');
  const bps = BigInt(ask.slippageBps ?? 50);
  refuseUnless(bps >= 0n && bps <= 5_000n, 'the ask allows more slippage than anybody is sold');
  const open = isUsd ? units(build.quote.tokenAmount, 18) : units(build.quote.usdAmount, 6);
  const isTight =
    kind === 'exactIn' ? swap.bound * 10_000n >= open * (10_000n - bps) : swap.bound * 10_000n <= open * (10_000n + bps);
  refuseUnless(swap.bound > 0n && isTight, 'the swap is bound more loosely than asked');
  const limit = ask.limit === undefined ? swap.bound : units(ask.limit, isUsd ? 18 : 6);
  refuseUnless(kind === 'exactIn' ? swap.bound >= limit : swap.bound <= limit, 'the swap allows a worse price than the limit');
  const needed = kind === 'exactIn' ? swap.amount : swap.bound;
  for (const approval of approvals) {
    refuseUnless(
      approval.kind === 'approval' && approval.token === tokenIn && approval.spender === ROUTER && approval.amount === needed,
      'the approval is not for exactly this swap',
    );
  }
  return steps;
}

/**
 * Signs and sends the steps in order, each made from its decoded calldata, and waits for it. Refuses before anything is
 * signed when the calldata does not say what was asked. Never sends two transactions for a step: its nonce is fixed before it leaves.
 */
export async function send(build: TradeBuild, ask: TradeAsk, wallet: Wallet, options: SendOptions = {}): Promise<Done> {
  check(build, ask);
  const { address } = wallet.account;
  const { onStep, waitMs = WAIT_MS, feeMostWei = FEE_MOST_WEI, sent = [] } = options;
  refuseUnless(lower(address) === lower(ask.recipient), 'the wallet is not the recipient');
  const now = Number((await wallet.getBlock()).timestamp);
  // The chain's own time: a sandbox is ahead of this machine. A step that is out may have outlived the deadline.
  const steps = check(build, ask, sent.length ? Math.min(now, build.deadline - 1) : now);
  const local = isLocal(wallet) ? { wallet, ...(await import('./signed.js')) } : null;
  refuseUnless(local || wallet.account.type !== 'local', 'a key on this machine needs a viem wallet client with the public actions');
  refuseUnless(sent.length <= steps.length && sent.every((each, index) => local?.isOf(each, encode(steps[index]!))), 'what was signed before is no step of this build, or of no key of this machine');
  const signed: SignedStep[] = [];
  const receipts: TransactionReceipt[] = [];
  let least = 0;
  for (const [index, step] of steps.entries()) {
    const nonce = sent[index]?.nonce ?? (await between(receipts, signed, async () => {
      // Before each: a person may change the chain in the wallet while a step waits for its block.
      refuseUnless((await wallet.getChainId()) === CHAIN_ID, 'the wallet is on another chain');
      // A person may take longer over the approval than the swap is good for: it could only fail, and cost its gas.
      const isInTime = !index || Number((await wallet.getBlock()).timestamp) < build.deadline;
      refuseUnless(isInTime, `the deadline has passed while the step before was waited for: step ${index + 1} was not sent`);
      return freeNonce(wallet, least, receipts, signed, waitMs);
    }));
    onStep?.(step, index, null);
    let receipt: TransactionReceipt;
    if (local) {
      const each = sent[index] ?? (await between(receipts, signed, () => local.sign(local.wallet, encode(step), nonce, feeMostWei)));
      if (!sent[index]) await options.onSigned?.(each);
      signed.push(each);
      onStep?.(step, index, each.hash);
      receipt = await local.settle(local.wallet, signed, waitMs);
    } else receipt = await sendOnce(wallet, step, nonce, (hash) => onStep?.(step, index, hash));
    if (receipt.status !== 'success') throw new StepFailed(`step ${index + 1} was mined and failed`, receipt);
    // The wallet shows the amount to its owner, who may change it.
    const isEnough = step.kind !== 'approval' || approvedIn(receipt, step, address) >= step.amount;
    if (!isEnough) throw new StepReplaced('the approval that was sent is for less than the swap needs', receipt);
    receipts.push(receipt);
    least = nonce + 1;
  }
  return { receipts, moved: movedFor(address, receipts) };
}

/** What is asked before a step. Once another is mined, an error as it is would tell nobody of that one. */
async function between<T>(receipts: readonly TransactionReceipt[], signed: readonly SignedStep[], ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!receipts.length || error instanceof TickyardError) throw error;
    const why = String((error as Error)?.message ?? error).split('\n', 1)[0];
    throw Object.assign(new StepsLeft(`step ${receipts.length} is mined, and step ${receipts.length + 1} was not sent: ${why}`, receipts, signed), { cause: error });
  }
}

/** Whether it signs on this machine and hands out the bytes. A browser's wallet signs and sends in one, and keeps them to itself. */
function isLocal(wallet: Wallet): wallet is LocalWallet {
  const { estimateGas, estimateFeesPerGas, getBalance, signTransaction, sendRawTransaction, getTransaction, getTransactionReceipt } = wallet;
  const has = [estimateGas, estimateFeesPerGas, getBalance, signTransaction, sendRawTransaction, getTransaction, getTransactionReceipt];
  return wallet.account.type === 'local' && has.every((each) => typeof each === 'function');
}

/**
 * The next nonce, of a node that knows the block of the step before: behind a balancer another one may answer, and would
 * give a nonce that is used and judge the step by a state without the approval.
 */
async function freeNonce(wallet: Wallet, least: number, receipts: readonly TransactionReceipt[], sent: readonly SignedStep[], waitMs: number): Promise<number> {
  const { address } = wallet.account;
  const until = Date.now() + waitMs;
  for (;;) {
    const nonce = await wallet.getTransactionCount({ address, blockTag: 'latest' });
    // What is under way may be this very step, sent before.
    const pending = await wallet.getTransactionCount({ address, blockTag: 'pending' });
    if (nonce >= least) {
      refuseUnless(pending <= nonce, 'the account has transactions under way: wait for them first');
      return nonce;
    }
    if (Date.now() >= until) throw new NodeBehind(`the node is behind: it does not know step ${receipts.length}, which is mined`, receipts, sent);
    await pause(250);
  }
}

async function sendOnce(wallet: Wallet, step: Approval | Swap, nonce: number, tell: (hash: Hex) => void) {
  const transaction = { ...encode(step), value: 0n, account: wallet.account, nonce, chain: CHAIN };
  let hash: Hex | null = null;
  let becomes = '';
  let receipt: TransactionReceipt;
  try {
    hash = await wallet.sendTransaction(transaction as never);
    tell(hash);
    receipt = wholeReceipt(await wallet.waitForTransactionReceipt({ hash, onReplaced: ({ reason }) => (becomes = reason) }));
  } catch (error) {
    if (hash === null && isUnsent(error)) throw error;
    throw new SendUncertain(`what became of the transaction with nonce ${nonce} is not known`, nonce, hash);
  }
  // The same step for another fee is this step. Anything else that was mined in its place is not.
  if (lower(receipt.transactionHash) === lower(hash) || becomes === 'repriced') return receipt;
  if (becomes) throw new StepReplaced('another transaction was sent in the place of this step', receipt);
  throw new SendUncertain(`the receipt for the transaction with nonce ${nonce} is of another one`, nonce, hash);
}

/** The person said no, or the node that the step would fail when it was asked for its gas: nothing has left. */
function isUnsent(error: unknown): boolean {
  type Failure = { code?: unknown; name?: unknown; cause?: unknown };
  const seen = new Set<Failure>();
  // Each once: a failure may name itself as its cause.
  for (let each = error as Failure | undefined; each && !seen.has(each); each = each.cause as Failure | undefined) {
    seen.add(each);
    if (each.code === 4001 || each.name === 'EstimateGasExecutionError') return true;
  }
  return false;
}

function units(text: string, decimals: number): bigint {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  refuseUnless(whole !== undefined && !/[1-9]/.test(fraction.slice(decimals)), 'an amount is out of shape');
  const amount = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'));
  // From a quote of nothing any bound would be tight.
  refuseUnless(amount > 0n, 'an amount is zero');
  return amount;
}

function refuseUnless(claim: unknown, message: string): asserts claim {
  if (!claim) throw new BuildRefused(message);
}
