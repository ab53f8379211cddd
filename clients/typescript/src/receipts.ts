// What receipts prove: that they are whole, what moved, what was approved.
import { type Approval, type Hex, lower } from './calldata.js';
import { TickyardError } from './errors.js';

export interface TransactionReceipt {
  status: 'success' | 'reverted';
  transactionHash: Hex;
  blockNumber: bigint;
  gasUsed: bigint;
  /** `logIndex`: its place in the block; a wallet may leave it out. */
  logs: readonly { address: string; topics: readonly string[]; data: string; logIndex?: unknown }[];
}

/**
 * The receipt as it is. A node or a wallet may hand on one with holes, and what it does not say is not known: neither that
 * a step failed nor what it moved. Throws TickyardError.
 */
export function wholeReceipt(receipt: TransactionReceipt): TransactionReceipt {
  const { transactionHash, status, logs } = receipt;
  const isWhole = ['success', 'reverted'].includes(status) && isText(transactionHash) && Array.isArray(logs) && logs.every(isLog);
  if (!isWhole) throw new TickyardError('a receipt is not whole: what became of the transaction is not known');
  return receipt;
}

function isLog(log: Partial<TransactionReceipt['logs'][number]> | null): boolean {
  return isText(log?.address) && isText(log?.data) && Array.isArray(log?.topics) && log.topics.every(isText);
}

function isText(found: unknown): boolean {
  return typeof found === 'string';
}

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

/**
 * One receipt for each transaction. A wallet that sent several calls in one may hand on its receipt once for each of them,
 * whole or with the events of that call alone: what two of them tell of one event is one event.
 */
export function eachOnce(receipts: readonly TransactionReceipt[]): TransactionReceipt[] {
  const byHash = new Map<string, TransactionReceipt[]>();
  for (const receipt of receipts) {
    const hash = String(receipt.transactionHash).toLowerCase();
    byHash.set(hash, [...(byHash.get(hash) ?? []), receipt]);
  }
  return [...byHash.values()].map((told) => ({ ...told[0]!, logs: merged(told.map(({ logs }) => logs)) }));
}

type Logs = TransactionReceipt['logs'];

function merged(tellings: Logs[]): Logs {
  // Where one event is told without its place all are told apart by what they say: each as often as the receipt that has it most.
  const hasPlaces = tellings.flat().every(({ logIndex }) => logIndex != null);
  const found = new Map<string, Logs[number]>();
  for (const logs of tellings) {
    const seen = new Map<string, number>();
    for (const log of logs) {
      const said = JSON.stringify(hasPlaces ? Number(log.logIndex) : [log.address, log.topics, log.data]).toLowerCase();
      const nth = hasPlaces ? 0 : (seen.get(said) ?? 0) + 1;
      seen.set(said, nth);
      found.set(`${said} ${nth}`, log);
    }
  }
  return [...found.values()];
}

/** Net transfers to (positive) and from (negative) the account, by token; each transaction counts once. */
export function movedFor(account: string, receipts: readonly TransactionReceipt[]): Record<string, bigint> {
  const moved: Record<string, bigint> = {};
  const me = lower(account).slice(2).padStart(64, '0');
  for (const { address, topics, data } of eachOnce(receipts).flatMap((receipt) => receipt.logs)) {
    const [kind, from, to] = topics.map(lower);
    if (kind !== TRANSFER || topics.length !== 3 || !/^0x[0-9a-f]+$/i.test(data)) continue;
    const amount = BigInt(data);
    const token = lower(address);
    if (from?.slice(2) === me) moved[token] = (moved[token] ?? 0n) - amount;
    if (to?.slice(2) === me) moved[token] = (moved[token] ?? 0n) + amount;
  }
  return moved;
}

const APPROVAL = '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925';

/** What the token says that was approved; where it says nothing, what was asked for. */
export function approvedIn(receipt: TransactionReceipt, { token, spender, amount }: Approval, owner: string): bigint {
  const parties = [owner, spender].map((each) => lower(each).slice(2).padStart(64, '0')).join();
  const said = receipt.logs.filter(
    ({ address, topics, data }) =>
      lower(address) === token &&
      lower(topics[0] ?? '') === APPROVAL &&
      topics.slice(1).map((each) => lower(each).slice(2)).join() === parties &&
      /^0x[0-9a-f]+$/i.test(data),
  );
  return said.length ? BigInt(said.at(-1)!.data) : amount;
}
