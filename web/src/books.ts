// The books of an epoch against the chain, computed in this browser. Of the service only the file is taken, and the desk on
// the chain says whether it is the right one: nobody has to be believed.
import type { Earn, EpochBooks } from 'tickyard';
import { strange } from './answers';
import { exactUsd, shortAddress } from './figures';
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

type Rpc = <T>(method: string, ...params: unknown[]) => Promise<T>;

const AT_MOST = 200;
const FILE_MAX_BYTES = 64 * 1024 * 1024;
const LOGS_AT_ONCE = 100_000;
const LOOKS_MAX = 1000;
const LAG_MS = 1500;
// Paid(uint256,address,uint256), books(uint256), pool(uint256), spent(uint256)
const PAID = '0x4f2d18324ee95128de091ed2adc501295479000ce4c2cec607aeb1b67e189e2f';
const BOOKS = '0x68744046';
const POOL = '0xfe313112';
const SPENT = '0xd5b5cc23';

export async function verify(id: number, books: EpochBooks, earn: Earn, provider: Provider | null): Promise<Finding[]> {
  const { desk, poolUsd } = books;
  if (poolUsd === null || desk === null) return [{ ok: null, text: 'The pool is not sealed yet: there is nothing to check before.' }];
  const file = await download(id);
  const lines = read(new TextDecoder().decode(file));
  if (!provider) return [{ ok: null, text: 'Connect a wallet to compare with the chain, through its own node.' }];
  // It may be on any chain, be it the one of a payment: there the desk is an address without code.
  await onChain(provider);
  const rpc = <T>(method: string, ...params: unknown[]) => provider.request({ method, params }) as Promise<T>;
  const held = await look(id, desk, rpc).catch(() => null);
  const isOpen = held !== null && (held.books !== 0n || held.pool !== 0n);
  const pool = isOpen ? held.pool : micros(poolUsd);
  const total = lines.reduce((sum, { balance }) => sum + balance, 0n);
  const wrong = lines.filter(({ balance, share }) => (total ? (pool * balance) / total : 0n) !== share);
  const twice = lines.length - new Set(lines.map(({ address }) => address)).size;
  return [
    ...(isOpen ? await onDesk(file, lines, desk, held, micros(poolUsd)) : [{ ok: null, text: held ? 'The desk on the chain is not opened (yet) for this epoch: nobody on the chain vouches for this file.' : 'The node does not tell what the desk holds: nobody on the chain vouches for this file.' }]),
    finding(!wrong.length, 'Every share is pool × balance ÷ total, rounded down.', `${wrong.length} shares are not pool × balance ÷ total.`),
    finding(!twice, 'No wallet is in the file twice.', 'A wallet is in the file twice.'),
    ...onCard(books, lines, held?.spent ?? null, pool),
    ...(await Promise.all([onBlock(books, rpc), onBalances(books, lines, earn.token.address, rpc), ...(isOpen ? [onPayouts(id, lines, desk, books.blockNumber ?? 0, held, rpc)] : [])])),
  ];
}

/** What the desk holds of an epoch. */
interface Held {
  head: number;
  books: bigint;
  pool: bigint;
  spent: bigint;
}

/** All of it as of one block: payments go on while we read. */
async function look(id: number, desk: string, rpc: Rpc): Promise<Held> {
  const head = Number(quantity(await rpc('eth_blockNumber')));
  const told = async (name: string) => quantity(await rpc('eth_call', { to: desk, data: name + word(id) }, hex(head)));
  const [books, pool, spent] = await Promise.all([told(BOOKS), told(POOL), told(SPENT)]);
  return { head, books, pool, spent };
}

async function onDesk(file: Uint8Array<ArrayBuffer>, lines: Line[], desk: string, held: Held, pool: bigint): Promise<Finding[]> {
  const hash = `0x${[...new Uint8Array(await crypto.subtle.digest('SHA-256', file))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
  const sealed = `0x${held.books.toString(16).padStart(64, '0')}`;
  return [
    finding(
      hash === sealed,
      `The file of ${lines.length} wallets has the SHA-256 that the desk ${shortAddress(desk)} holds on the chain: ${shortAddress(hash)}.`,
      `This is not the file that the desk was opened with: its SHA-256 is ${shortAddress(hash)}, on the chain stands ${shortAddress(sealed)}.`,
    ),
    finding(held.pool === pool, 'The pool is the one that the desk was opened with.', 'The pool is not the one that the desk was opened with.'),
  ];
}

/** The other figures of the card: a mark beside them must not speak for what nobody has looked at. */
function onCard(books: EpochBooks, lines: Line[], spent: bigint | null, pool: bigint): Finding[] {
  const findings = [finding(lines.length === books.eligibleWallets, 'The card says as many wallets as the file has.', `The card says ${books.eligibleWallets} wallets, the file has ${lines.length}.`)];
  if (spent === null) return findings;
  const paid = micros(books.paidUsd);
  // The service calls paid what is final: less than the desk has spent by now.
  findings.push(finding(paid <= spent, 'The card calls no more paid than the desk has spent.', 'The card calls more paid than the desk has spent.'));
  if (books.rolledOverUsd === null) return findings;
  const rolled = micros(books.rolledOverUsd);
  const rest = pool - paid - micros(books.inFlightUsd) - micros(books.returnedLaterUsd);
  findings.push(finding(rolled === rest && rolled + spent <= pool, 'What rolled over is what the pool has left.', 'What rolled over is not what the pool has left.'));
  return findings;
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

async function onBlock({ blockNumber, blockHash }: EpochBooks, rpc: Rpc): Promise<Finding> {
  if (blockNumber === null) return { ok: null, text: 'The books name no block yet.' };
  try {
    const { hash } = await rpc<{ hash: string }>('eth_getBlockByNumber', hex(blockNumber), false);
    return finding(hash.toLowerCase() === blockHash.toLowerCase(), `Block ${blockNumber} has the hash that the books name.`, `Block ${blockNumber} has another hash than the books name.`);
  } catch {
    return { ok: null, text: `The node does not tell of block ${blockNumber}.` };
  }
}

async function onBalances({ blockNumber }: EpochBooks, lines: Line[], token: string, rpc: Rpc): Promise<Finding> {
  const some = lines.slice(0, AT_MOST);
  try {
    // All at once: one after the other they would wait two hundred times.
    const held = await Promise.all(some.map(async ({ address }) => quantity(await rpc('eth_call', { to: token, data: `0x70a08231${address.slice(2).padStart(64, '0')}` }, hex(blockNumber ?? 0)))));
    const wrong = some.filter(({ balance }, index) => held[index] !== balance);
    return finding(!wrong.length, `The token contract confirms ${some.length} balances at that block.`, `${wrong.length} balances differ from the chain.`);
  } catch {
    return { ok: null, text: 'The node no longer knows the balances of that block.' };
  }
}

/** What the desk says it paid, payment by payment. */
async function onPayouts(id: number, lines: Line[], desk: string, sealedAt: number, { head, pool, spent }: Held, rpc: Rpc): Promise<Finding> {
  const shares = new Map(lines.map(({ address, share }) => [address, share]));
  const judge = async (from: number) => {
    const paid = new Map<string, bigint>();
    let wrong = 0;
    for (const [account, amount] of await payments(id, desk, from, head, rpc)) {
      if (paid.has(account) || amount !== shares.get(account)) wrong++;
      paid.set(account, amount);
    }
    return { wrong, count: paid.size, sum: [...paid.values()].reduce((all, amount) => all + amount, 0n) };
  };
  try {
    // A desk is opened after the snapshot, and pays after that.
    let found = await judge(sealedAt);
    if (!found.wrong && found.sum < spent) {
      // A node knows its blocks a moment before what is logged in them; and which block that was is the service's word.
      await new Promise((resolve) => setTimeout(resolve, LAG_MS));
      found = await judge(0);
    }
    const { wrong, count, sum } = found;
    if (wrong || sum > spent || spent > pool) return { ok: false, text: wrong ? `${wrong} payouts are not the share of who got them.` : 'The payouts on the chain do not add up to what the desk spent.' };
    if (sum < spent) return { ok: null, text: `The node does not show all payments: what it shows is ${usdOf(sum)} of the ${usdOf(spent)} that the desk spent.` };
    if (!count) return { ok: null, text: 'Nothing was paid yet.' };
    return { ok: true, text: `${count === 1 ? 'The one payout is' : `All ${count} payouts are`} on the chain, once and of the right amount, and together not more than the pool.` };
  } catch {
    return { ok: null, text: 'The node does not tell of the payments.' };
  }
}

/** Who was paid what. Nodes have limits of their own for how many blocks they look through at once. */
async function payments(id: number, desk: string, from: number, last: number, rpc: Rpc): Promise<[string, bigint][]> {
  let found: [string, bigint][] = [];
  let stride = LOGS_AT_ONCE;
  let looks = 0;
  for (let first = from; first <= last; ) {
    if (++looks > LOOKS_MAX) throw new Error('too many blocks for this node');
    const to = Math.min(last, first + stride - 1);
    const query = { address: desk, topics: [PAID, `0x${word(id)}`], fromBlock: hex(first), toBlock: hex(to) };
    try {
      const logs = await rpc<{ topics: string[]; data: string }[]>('eth_getLogs', query);
      found = found.concat(logs.map(({ topics, data }) => [`0x${topics[2]!.slice(26).toLowerCase()}`, quantity(data)]));
      first = to + 1;
    } catch (error) {
      if (first === to) throw error;
      stride = Math.floor((to - first + 1) / 2);
    }
  }
  return found;
}

/** A number as a node tells it; what is none throws, and is not zero. */
function quantity(told: unknown): bigint {
  if (typeof told !== 'string' || !/^0x[0-9a-f]+$/i.test(told)) throw new Error('The node told something else than a number.');
  return BigInt(told);
}

function word(number: number): string {
  return number.toString(16).padStart(64, '0');
}

/** Dollars as the service tells them, to the base unit. */
function micros(usd: string): bigint {
  const [, whole, part = ''] = /^(\d+)(?:\.(\d{1,6}))?$/.exec(usd) ?? [];
  if (whole === undefined) throw strange();
  return BigInt(whole + part.padEnd(6, '0'));
}

function usdOf(units: bigint): string {
  return exactUsd(`${units / 1_000_000n}.${(units % 1_000_000n).toString().padStart(6, '0')}`);
}

function hex(number: number): string {
  return `0x${number.toString(16)}`;
}
