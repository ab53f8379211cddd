// The public books of an epoch against the chain, computed in this browser: nobody has to be believed.
import type { Earn, EpochBooks } from 'tickyard';
import type { Provider } from './wallet';

export interface Finding {
  /** Null: could not be looked at. */
  ok: boolean | null;
  text: string;
}

interface Line {
  address: string;
  balance: string;
  shareUsd: string | null;
  claim: string | null;
  tx: string | null;
}

const AT_MOST = 200;
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

export async function verify(books: EpochBooks, earn: Earn, provider: Provider | null): Promise<Finding[]> {
  const paged = books as unknown as { lines?: Line[]; wallets?: Line[] };
  const lines = paged.wallets ?? paged.lines ?? [];
  const findings: Finding[] = [];
  const isWhole = lines.length === books.eligibleWallets;
  const total = lines.reduce((sum, { balance }) => sum + BigInt(balance), 0n);
  findings.push({ ok: isWhole ? total === BigInt(books.eligibleTotal) : null, text: `The balances of ${lines.length} wallets add up to the total.` });
  if (books.poolUsd !== null) {
    const pool = cents(books.poolUsd);
    const wrong = lines.filter(({ balance, shareUsd }) => shareUsd !== null && (pool * BigInt(balance)) / BigInt(books.eligibleTotal) !== cents(shareUsd));
    findings.push({ ok: !wrong.length, text: wrong.length ? `${wrong.length} shares are not pool × balance ÷ total.` : 'Every share is pool × balance ÷ total, rounded down.' });
    const shared = lines.reduce((sum, { shareUsd }) => sum + cents(shareUsd ?? '0'), 0n);
    findings.push({ ok: shared <= pool, text: 'The shares together are not more than the pool.' });
  }
  if (!provider) return [...findings, { ok: null, text: 'Connect a wallet to compare with the chain, through its own node.' }];
  const rpc = <T>(method: string, ...params: unknown[]) => provider.request({ method, params }) as Promise<T>;
  findings.push(await onBlock(books, rpc));
  findings.push(await onBalances(books, lines, earn.token.address, rpc));
  findings.push(await onPayouts(lines, earn.payoutAsset.address, rpc));
  return findings;
}

type Rpc = <T>(method: string, ...params: unknown[]) => Promise<T>;

async function onBlock({ blockNumber, blockHash }: EpochBooks, rpc: Rpc): Promise<Finding> {
  if (blockNumber === null) return { ok: null, text: 'The books name no block yet.' };
  const block = await rpc<{ hash: string } | null>('eth_getBlockByNumber', hex(blockNumber), false);
  return { ok: block && block.hash === blockHash, text: `Block ${blockNumber} has the hash that the books name.` };
}

async function onBalances({ blockNumber }: EpochBooks, lines: Line[], token: string, rpc: Rpc): Promise<Finding> {
  const some = lines.slice(0, AT_MOST);
  try {
    const wrong = [];
    for (const { address, balance } of some) {
      const data = `0x70a08231${address.slice(2).toLowerCase().padStart(64, '0')}`;
      if (BigInt(await rpc<string>('eth_call', { to: token, data }, hex(blockNumber ?? 0))) !== BigInt(balance)) wrong.push(address);
    }
    return { ok: !wrong.length, text: wrong.length ? `${wrong.length} balances differ from the chain.` : `The token contract confirms ${some.length} balances at that block.` };
  } catch {
    return { ok: null, text: 'The node no longer knows the balances of that block.' };
  }
}

async function onPayouts(lines: Line[], asset: string, rpc: Rpc): Promise<Finding> {
  const paid = lines.filter(({ claim, tx }) => tx && claim === 'confirmed').slice(0, AT_MOST);
  if (!paid.length) return { ok: null, text: 'No payout is confirmed yet.' };
  const wrong = [];
  for (const { address, shareUsd, tx } of paid) {
    const receipt = await rpc<{ logs: { address: string; topics: string[]; data: string }[] } | null>('eth_getTransactionReceipt', tx);
    const to = address.slice(2).toLowerCase().padStart(64, '0');
    const found = receipt?.logs.some((log) => log.address.toLowerCase() === asset.toLowerCase() && log.topics[0] === TRANSFER && log.topics[2]?.slice(2) === to && BigInt(log.data) === cents(shareUsd ?? '0'));
    if (!found) wrong.push(address);
  }
  return { ok: !wrong.length, text: wrong.length ? `${wrong.length} payouts are not on the chain.` : `${paid.length === 1 ? 'The one payout is' : `${paid.length} payouts are`} on the chain, to the right wallet with the right amount.` };
}

function cents(usd: string): bigint {
  return BigInt(usd.replace('.', ''));
}

function hex(number: number): string {
  return `0x${number.toString(16)}`;
}
