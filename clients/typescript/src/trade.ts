import { type Approval, BuildRefused, decode, encode, type Hex, lower, type Swap } from './calldata.js';
import { TickyardError } from './errors.js';
import type { TradeBuild } from './generated/answers.js';
import type { BuildTradeAsk } from './generated/operations.js';
import { CHAIN_ID, ROUTER, USDG } from './generated/pinned.js';
import { pause } from './pause.js';
import { approvedIn, movedFor, type TransactionReceipt, wholeReceipt } from './receipts.js';

export { USDG };
export { type Approval, BuildRefused, decode, encode, type Hex, type Swap } from './calldata.js';
export { eachOnce, movedFor, type TransactionReceipt, wholeReceipt } from './receipts.js';

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
  estimateGas?(call: never): Promise<bigint>;
  estimateFeesPerGas?(): Promise<{ maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }>;
  // viem answers with the receipt of another transaction where one took the nonce, and tells of it by `onReplaced`.
  waitForTransactionReceipt(ask: { hash: Hex; onReplaced?: (by: { reason: string }) => void }): Promise<TransactionReceipt>;
}

const DEADLINE_MAX_S = 86_400;
const FEE_MOST_WEI = 2n * 10n ** 16n;
// Said with every transaction: neither a wallet nor a node that has moved to another chain gets it signed for that one.
const CHAIN = { id: CHAIN_ID, name: 'the chain of the build' };

/** A step was mined and failed; the ones after it were not sent. */
export class StepFailed extends TickyardError {
  constructor(
    message: string,
    readonly receipt: TransactionReceipt,
  ) {
    super(message);
  }
}

/** Another transaction took the place of a step, or its owner changed it in the wallet; the steps after it were not sent. */
export class StepReplaced extends TickyardError {
  constructor(
    message: string,
    readonly receipt: TransactionReceipt,
  ) {
    super(message);
  }
}

/** Nobody knows whether a step was sent. Its nonce is taken: look at it before anything else is sent. */
export class SendUncertain extends TickyardError {
  constructor(
    message: string,
    readonly nonce: number,
    readonly hash: Hex | null,
  ) {
    super(message);
  }
}

/** The node does not know the block of a step that is mined, though it was waited for; the steps after it were not sent. */
export class NodeBehind extends TickyardError {
  constructor(
    message: string,
    readonly receipts: readonly TransactionReceipt[],
  ) {
    super(message);
  }
}

export interface Done {
  receipts: TransactionReceipt[];
  /** What really moved for the account, by token in lower case, base units: negative went out. */
  moved: Record<string, bigint>;
}

export interface SendOptions {
  /** Told before a step is handed to the wallet, and when its transaction is known. */
  onStep?: (step: Approval | Swap, index: number, hash: Hex | null) => void;
  /** The most that the gas of one step may cost, 0.02 ETH unless said. For an account whose key is on this machine. */
  feeMostWei?: bigint;
  /** How long to wait for a node that does not know the step before yet, a minute unless said. */
  waitMs?: number;
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
 * signed when the calldata does not say what was asked. Never sends a step twice: its nonce is fixed before it leaves.
 */
export async function send(build: TradeBuild, ask: TradeAsk, wallet: Wallet, options: SendOptions = {}): Promise<Done> {
  check(build, ask);
  const { address } = wallet.account;
  refuseUnless(lower(address) === lower(ask.recipient), 'the wallet is not the recipient');
  // The chain's own time: a sandbox is ahead of this machine.
  const steps = check(build, ask, Number((await wallet.getBlock()).timestamp));
  const receipts: TransactionReceipt[] = [];
  let nonce = 0;
  for (const [index, step] of steps.entries()) {
    // Before each: a person may change the chain in the wallet while a step waits for its block.
    refuseUnless((await wallet.getChainId()) === CHAIN_ID, 'the wallet is on another chain');
    // A person may take longer over the approval than the swap is good for: it could only fail, and cost its gas.
    const isInTime = !index || Number((await wallet.getBlock()).timestamp) < build.deadline;
    refuseUnless(isInTime, `the deadline has passed while the step before was waited for: step ${index + 1} was not sent`);
    nonce = await freeNonce(wallet, receipts.length ? nonce + 1 : 0, receipts, options.waitMs ?? 60_000);
    options.onStep?.(step, index, null);
    const receipt = await sendOnce(wallet, step, nonce, options.feeMostWei ?? FEE_MOST_WEI, (hash) => options.onStep?.(step, index, hash));
    if (receipt.status !== 'success') throw new StepFailed(`step ${index + 1} was mined and failed`, receipt);
    // The wallet shows the amount to its owner, who may change it.
    const isEnough = step.kind !== 'approval' || approvedIn(receipt, step, address) >= step.amount;
    if (!isEnough) throw new StepReplaced('the approval that was sent is for less than the swap needs', receipt);
    receipts.push(receipt);
  }
  return { receipts, moved: movedFor(address, receipts) };
}

/**
 * The next nonce, of a node that knows the block of the step before: behind a balancer another one may answer, and would
 * give a nonce that is used and judge the step by a state without the approval.
 */
async function freeNonce(wallet: Wallet, least: number, receipts: readonly TransactionReceipt[], waitMs: number): Promise<number> {
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
    if (Date.now() >= until) throw new NodeBehind(`the node is behind: it does not know step ${receipts.length}, which is mined`, receipts);
    await pause(250);
  }
}

async function sendOnce(wallet: Wallet, step: Approval | Swap, nonce: number, feeMost: bigint, tell: (hash: Hex) => void) {
  const call = { ...encode(step), value: 0n, account: wallet.account };
  const transaction = { ...call, nonce, chain: CHAIN, ...(await fees(wallet, call, feeMost)) };
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

/** What a local account pays for gas: a node that names any price could spend the wallet on it. */
async function fees(wallet: Wallet, call: object, most: bigint) {
  if (wallet.account.type !== 'local' || !wallet.estimateGas || !wallet.estimateFeesPerGas) return {};
  const gas = limit(await wallet.estimateGas(call as never));
  const { maxFeePerGas, maxPriorityFeePerGas } = await wallet.estimateFeesPerGas();
  refuseUnless(gas * maxFeePerGas <= most, `the node asks for a fee of up to ${gas * maxFeePerGas} wei, over the ${most} that are allowed`);
  return { gas, maxFeePerGas, maxPriorityFeePerGas };
}

/**
 * About a quarter more, and for nobody else the same: else one key in two programs signs one trade to the same bytes, and
 * both take the one trade for theirs.
 */
function limit(estimate: bigint): bigint {
  return (estimate * 5n) / 4n - BigInt(Math.floor((Math.random() * Number(estimate)) / 32));
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
