// The books of an epoch against the chain, computed in this browser. Of the service only the file is taken, and the desk on
// the chain says whether it is the right one: nobody has to be believed.
import type { Earn, EpochBooks } from 'tickyard';
import { shortAddress } from './figures';
import { onChain, type Provider } from './wallet';

export interface Finding {
  /** Null: could not be looked at. */
  ok: boolean | null;
  text: string;
}

/** Said differently when it is not so: a mark alone would be the only difference. */
function finding(ok: boolean, yes: string, no: string): Finding {
  return { ok, text: ok ? yes : no };
}

interface Line {
  address: string;
  balance: bigint;
  share: bigint;
}

const AT_MOST = 200;
const FILE_MAX_BYTES = 64 * 1024 * 1024;
const LOGS_AT_ONCE = 100_000;
// Paid(uint256,address,uint256), books(uint256), pool(uint256), spent(uint256)
const PAID = '0x4f2d18324ee95128de091ed2adc501295479000ce4c2cec607aeb1b67e189e2f';
const BOOKS = '0x68744046';
const POOL = '0xfe313112';
const SPENT = '0xd5b5cc23';

export async function verify(books: EpochBooks, earn: Earn, provider: Provider | null): Promise<Finding[]> {
  const { desk } = books;
  if (books.poolUsd === null || desk === null) return [{ ok: null, text: 'The pool is not sealed yet: there is nothing to check before.' }];
  const file = await download(books.id);
  const lines = read(new TextDecoder().decode(file));
  const total = lines.reduce((sum, { balance }) => sum + balance, 0n);
  const findings: Finding[] = [];
  if (!provider) return [{ ok: null, text: 'Connect a wallet to compare with the chain, through its own node.' }];
  // It may be on any chain, be it the one of a payment: there the desk is an address without code.
  await onChain(provider);
  const rpc = <T>(method: string, ...params: unknown[]) => provider.request({ method, params }) as Promise<T>;
  // All of it as of one block: payments go on while we read.
  const head = Number(await rpc<string>('eth_blockNumber'));
  const told = (name: string) => rpc<string>('eth_call', { to: desk, data: name + word(books.id) }, hex(head));
  const [sealed, pool, spent] = await Promise.all([told(BOOKS), told(POOL).then(BigInt), told(SPENT).then(BigInt)]);
  const hash = `0x${[...new Uint8Array(await crypto.subtle.digest('SHA-256', file))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
  findings.push(
    hash === sealed
      ? { ok: true, text: `The file of ${lines.length} wallets has the SHA-256 that the desk ${shortAddress(desk)} holds on the chain: ${shortAddress(hash)}.` }
      : { ok: false, text: /[1-9a-f]/.test(sealed.slice(2)) ? `This is not the file that the desk was opened with: its SHA-256 is ${shortAddress(hash)}, on the chain stands ${shortAddress(sealed)}.` : 'The desk on the chain was never opened for this epoch.' },
  );
  findings.push(finding(pool === cents(books.poolUsd), 'The pool is the one that the desk was opened with.', 'The pool is not the one that the desk was opened with.'));
  const wrong = lines.filter(({ balance, share }) => (pool * balance) / total !== share);
  findings.push(finding(!wrong.length, 'Every share is pool × balance ÷ total, rounded down.', `${wrong.length} shares are not pool × balance ÷ total.`));
  const twice = lines.length - new Set(lines.map(({ address }) => address)).size;
  findings.push(finding(!twice, 'No wallet is in the file twice.', 'A wallet is in the file twice.'));
  return [...findings, ...(await Promise.all([onBlock(books, rpc), onBalances(books, lines, earn.token.address, rpc), onPayouts(books.id, lines, desk, head, pool, spent, rpc)]))];
}

async function download(id: number): Promise<Uint8Array<ArrayBuffer>> {
  const answer = await fetch(`/v1/earn/epochs/${id}/books.csv.gz`, { credentials: 'omit', redirect: 'error' });
  if (!answer.ok) throw new Error('The file of the books could not be loaded.');
  const packed = new Uint8Array(await answer.arrayBuffer());
  if (packed.length > FILE_MAX_BYTES) throw new Error('The file of the books is too large for a browser.');
  return new Uint8Array(await new Blob(await unpacked(packed)).arrayBuffer());
}

/** A gzip file; the oldest have several members, which a browser takes one by one only: each begins with the same eight bytes. What merely
 * looks like a beginning is told by the checksum at the end of what comes before it. */
async function unpacked(packed: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer[]> {
  const starts: number[] = [];
  for (let at = packed.indexOf(0x1f); at >= 0; at = packed.indexOf(0x1f, at + 1)) if (packed[at + 1] === 0x8b && packed[at + 2] === 8 && packed.subarray(at + 3, at + 8).every((byte) => !byte)) starts.push(at);
  const parts: ArrayBuffer[] = [];
  let from = 0;
  for (const to of [...starts.filter((at) => at > 0), packed.length]) {
    const part = await new Response(new Blob([packed.subarray(from, to)]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer().catch(() => null);
    if (part) [from] = (parts.push(part), [to]);
  }
  if (from !== packed.length) throw new Error('The file of the books is damaged.');
  return parts;
}

function read(text: string): Line[] {
  const [head, ...rows] = text.trim().split(/\r?\n/);
  if (head !== 'address,balance,share' || rows.some((row) => !/^0x[0-9a-f]{40},\d+,\d+$/i.test(row))) throw new Error('The file of the books is not what it should be.');
  return rows.map((row) => row.split(',')).map(([address, balance, share]) => ({ address: address!.toLowerCase(), balance: BigInt(balance!), share: BigInt(share!) }));
}

type Rpc = <T>(method: string, ...params: unknown[]) => Promise<T>;

async function onBlock({ blockNumber, blockHash }: EpochBooks, rpc: Rpc): Promise<Finding> {
  if (blockNumber === null) return { ok: null, text: 'The books name no block yet.' };
  const block = await rpc<{ hash: string } | null>('eth_getBlockByNumber', hex(blockNumber), false);
  if (!block) return { ok: null, text: `The node does not know block ${blockNumber}.` };
  return finding(block.hash === blockHash, `Block ${blockNumber} has the hash that the books name.`, `Block ${blockNumber} has another hash than the books name.`);
}

async function onBalances({ blockNumber }: EpochBooks, lines: Line[], token: string, rpc: Rpc): Promise<Finding> {
  const some = lines.slice(0, AT_MOST);
  try {
    // All at once: one after the other they would wait two hundred times.
    const held = await Promise.all(some.map(({ address }) => rpc<string>('eth_call', { to: token, data: `0x70a08231${address.slice(2).padStart(64, '0')}` }, hex(blockNumber ?? 0))));
    const wrong = some.filter(({ balance }, index) => BigInt(held[index]!) !== balance);
    return finding(!wrong.length, `The token contract confirms ${some.length} balances at that block.`, `${wrong.length} balances differ from the chain.`);
  } catch {
    return { ok: null, text: 'The node no longer knows the balances of that block.' };
  }
}

/** What the desk says it paid, payment by payment. */
async function onPayouts(id: number, lines: Line[], desk: string, last: number, pool: bigint, spent: bigint, rpc: Rpc): Promise<Finding> {
  const shares = new Map(lines.map(({ address, share }) => [address, share]));
  const paid = new Map<string, bigint>();
  let wrong = 0;
  for (let first = 0; first <= last; first += LOGS_AT_ONCE) {
    const query = { address: desk, topics: [PAID, `0x${word(id)}`], fromBlock: hex(first), toBlock: hex(Math.min(last, first + LOGS_AT_ONCE - 1)) };
    for (const { topics, data } of await rpc<{ topics: string[]; data: string }[]>('eth_getLogs', query)) {
      const account = `0x${topics[2]!.slice(26).toLowerCase()}`;
      if (paid.has(account) || BigInt(data) !== shares.get(account)) wrong++;
      paid.set(account, BigInt(data));
    }
  }
  const sum = [...paid.values()].reduce((all, amount) => all + amount, 0n);
  if (wrong || sum !== spent || spent > pool) return { ok: false, text: wrong ? `${wrong} payouts are not the share of who got them.` : 'The payouts on the chain do not add up to what the desk spent.' };
  if (!paid.size) return { ok: null, text: 'Nothing was paid yet.' };
  return { ok: true, text: `${paid.size === 1 ? 'The one payout is' : `All ${paid.size} payouts are`} on the chain, once and of the right amount, and together not more than the pool.` };
}

function word(number: number): string {
  return number.toString(16).padStart(64, '0');
}

function cents(usd: string): bigint {
  return BigInt(usd.replace('.', ''));
}

function hex(number: number): string {
  return `0x${number.toString(16)}`;
}
