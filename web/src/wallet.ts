// The user's wallet: found by EIP-6963, spoken to by EIP-1193. Nothing here holds a key.
import { useEffect, useState } from 'preact/hooks';
import type { Hex, TransactionReceipt, Wallet } from 'tickyard/trade';
import { later, offers, within } from './api';
import { recall, remember } from './memory';

export interface Provider {
  request(ask: { method: string; params?: unknown }): Promise<unknown>;
  on?(event: string, listener: (value: never) => void): void;
}

export interface Announced {
  info: { uuid: string; name: string; icon: string; rdns: string };
  provider: Provider;
}

export interface Connected {
  name: string;
  address: Hex;
  provider: Provider;
}

const CHAIN = '0x1237';
const found = new Map<string, Announced>();
let connected: Connected | null = null;
const listeners = new Set<() => void>();
const tell = () => listeners.forEach((listener) => listener());

addEventListener('eip6963:announceProvider', (event) => {
  const announced = (event as CustomEvent<Announced>).detail;
  if (typeof announced?.info?.uuid !== 'string' || !announced.provider) return;
  found.set(announced.info.uuid, announced);
  tell();
});

let asked = false;
/** Asks who is there; in the sandbox the demo wallet announces itself like any other. */
export function discover(): void {
  if (!asked) {
    asked = true;
    void offers().then(async ({ endpoints }) => {
      if (endpoints.includes('GET /sandbox')) (await within(later('src/demo_wallet.ts', () => import('./demo_wallet')))).announceDemoWallet();
    }).catch(() => (asked = false));
  }
  dispatchEvent(new Event('eip6963:requestProvider'));
}

export function useWallets(): { wallets: Announced[]; me: Connected | null } {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listener = () => redraw((count) => count + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return { wallets: [...found.values()], me: connected };
}

/** The first account that a wallet shows. Whatever is not an address is none. */
function firstOf(accounts: unknown): Hex | null {
  const first: unknown = Array.isArray(accounts) ? accounts[0] : null;
  return typeof first === 'string' && /^0x[0-9a-fA-F]{40}$/.test(first) ? (first as Hex) : null;
}

// How often somebody chose. A wallet that answers after the next choice comes too late.
let choices = 0;

/** Whether it is connected now: false when another choice was made meanwhile. */
export async function connect({ info, provider }: Announced, method = 'eth_requestAccounts'): Promise<boolean> {
  const mine = ++choices;
  const address = firstOf(await provider.request({ method }));
  if (mine !== choices) return false;
  if (!address) throw new Error('The wallet showed no account.');
  connected = { name: info.name, address, provider };
  provider.on?.('accountsChanged', ((accounts: unknown) => {
    // Another wallet may have been chosen since: what this one does is no longer ours.
    if (connected?.provider !== provider) return;
    const next = firstOf(accounts);
    connected = next ? { ...connected, address: next } : null;
    tell();
  }) as never);
  remember('sessionStorage', 'wallet', info.rdns);
  tell();
  return true;
}

export function disconnect(): void {
  choices++;
  connected = null;
  remember('sessionStorage', 'wallet', '');
  tell();
}

/** Who was connected in this tab before it was loaded anew. */
export function reconnect(wallets: Announced[]): void {
  const rdns = recall('sessionStorage', 'wallet');
  const last = rdns && !choices && wallets.find(({ info }) => info.rdns === rdns);
  // Without a question: nobody has clicked anything.
  if (last) void connect(last, 'eth_accounts').catch(() => {});
}

export async function onChain(provider: Provider, chainId: string = CHAIN): Promise<void> {
  if ((await provider.request({ method: 'eth_chainId' })) === chainId) return;
  await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] });
}

/** The connected wallet as `tickyard/trade` wants it. */
export function asTrader({ provider, address }: Connected): Wallet {
  const rpc = <T>(method: string, ...params: unknown[]) => provider.request({ method, params }) as Promise<T>;
  return {
    account: { address },
    getChainId: async () => Number(quantity(await rpc('eth_chainId'))),
    getTransactionCount: async ({ blockTag }) => Number(quantity(await rpc('eth_getTransactionCount', address, blockTag))),
    getBlock: async () => ({ timestamp: quantity((await rpc<{ timestamp?: unknown } | null>('eth_getBlockByNumber', 'latest', false))?.timestamp) }),
    sendTransaction: ({ to, data, nonce }: { to: Hex; data: Hex; nonce: number }) => rpc('eth_sendTransaction', { from: address, to, data, value: '0x0', chainId: CHAIN, nonce: `0x${nonce.toString(16)}` }),
    waitForTransactionReceipt: async ({ hash }) => {
      const receipt = await until(() => rpc<RawReceipt | null>('eth_getTransactionReceipt', hash));
      return readReceipt(receipt);
    },
  };
}

interface RawReceipt {
  status: string;
  transactionHash: Hex;
  blockNumber: unknown;
  gasUsed: unknown;
  logs: { address: string; topics: string[]; data: string }[];
}

function readReceipt(raw: RawReceipt): TransactionReceipt {
  return { ...raw, status: quantity(raw?.status) === 1n ? 'success' : 'reverted', blockNumber: quantity(raw.blockNumber), gasUsed: quantity(raw.gasUsed) };
}

/** A number as nodes write it. A wallet may hand on the nothing that its node told: that is not zero. */
function quantity(told: unknown): bigint {
  if (!/^0x[0-9a-fA-F]+$/.test(String(told))) throw new Error('The wallet, or its node, does not tell what this trade needs to know. Try again.');
  return BigInt(told as string);
}

// EIP-5792: not this chain, no upgrade of the account, no atomic batch; EIP-1193 and JSON-RPC: no such method.
const CANNOT = [5710, 5750, 5760, 4200, -32601];
// Its owner said no, or it did not take the question: nothing has left. An inner error or a lost connection says nothing of that.
const REFUSED = [4001, 4100, 5700, 5740, -32602];

/**
 * All steps in one confirmation, where the wallet can (EIP-5792). Null: it cannot. `onSend`: the wallet is about to be asked,
 * and is not when this throws. `onSent`: they may be on their way.
 */
export async function sendTogether({ provider, address }: Connected, calls: { to: Hex; data: Hex }[], onSend: () => void, onSent: () => void): Promise<TransactionReceipt[] | null> {
  try {
    const able = (await provider.request({ method: 'wallet_getCapabilities', params: [address, [CHAIN]] })) as Record<string, { atomic?: { status?: string } }> | null;
    if (!/^(supported|ready)$/.test(able?.[CHAIN]?.atomic?.status ?? '')) return null;
  } catch {
    return null;
  }
  const batch = { version: '2.0.0', chainId: CHAIN, from: address, atomicRequired: true, calls: calls.map((call) => ({ ...call, value: '0x0' })) };
  onSend();
  let sent: { id?: string } | string | null;
  try {
    sent = (await provider.request({ method: 'wallet_sendCalls', params: [batch] })) as typeof sent;
  } catch (error) {
    const { code } = (error ?? {}) as { code?: unknown };
    // It cannot after all, or its owner wants no smart account: then one step after the other.
    if (CANNOT.includes(code as number)) return null;
    if (!REFUSED.includes(code as number)) onSent();
    throw error;
  }
  onSent();
  const id = typeof sent === 'string' ? sent : sent?.id;
  const done = await until(async () => {
    const state = (await provider.request({ method: 'wallet_getCallsStatus', params: [id] })) as { status?: number; receipts?: unknown } | null;
    return Number(state?.status) >= 200 ? state : null;
  });
  const receipts = Array.isArray(done.receipts) ? done.receipts.map(readReceipt) : [];
  // A wallet's word is worth what its receipts say: that all went well, and, where it has a good word and none to show, that it failed.
  if (Number(done.status) !== 200 || receipts.some(({ status }) => status !== 'success')) throw new Error('The wallet could not carry out the batch.');
  if (!receipts.length) throw new Error('The wallet calls the batch done and shows no receipt of it: what became of it is uncertain. Look at it in your wallet.');
  return receipts;
}

/** Until there is something. A wallet may hand on a node's null as nothing at all. */
async function until<T>(look: () => Promise<T | null | undefined>): Promise<T> {
  let failures = 0;
  for (let waited = 0; waited < 300_000; waited += 500) {
    try {
      const seen = await look();
      if (seen != null) return seen;
      failures = 0;
    } catch (error) {
      // A look that got lost loses nothing; what was sent is still on its way.
      if (++failures > 3) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error('The transaction is not mined yet; look at it in your wallet.');
}

/** Signs what a standard client hands over, through the wallet. `mustGoOn` throws once nobody waits for it any more. */
export function asSigner({ provider, address }: Connected, onSign: (typed: unknown) => void, mustGoOn: () => void) {
  return {
    address,
    async signTypedData(message: { domain: Record<string, unknown>; types: Record<string, unknown>; primaryType: string; message: Record<string, unknown> }): Promise<Hex> {
      const kinds: Record<string, string> = { name: 'string', version: 'string', chainId: 'uint256', verifyingContract: 'address', salt: 'bytes32' };
      const domain = Object.keys(message.domain).map((name) => ({ name, type: kinds[name] ?? 'string' }));
      const typed = { ...message, types: { EIP712Domain: domain, ...message.types } };
      mustGoOn();
      onSign(typed);
      const text = JSON.stringify(typed, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
      await onChain(provider, `0x${Number(message.domain['chainId']).toString(16)}`).catch(() => {});
      mustGoOn();
      const signature = signed(await provider.request({ method: 'eth_signTypedData_v4', params: [address, text] }));
      mustGoOn();
      return signature;
    },
  };
}

export async function signText({ provider, address }: Connected, text: string): Promise<Hex> {
  const hex = `0x${[...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
  return signed(await provider.request({ method: 'personal_sign', params: [hex, address] }));
}

/** What is no signature pays for nothing, and would be kept as a payment whose end is not known. One of a contract may be longer. */
function signed(told: unknown): Hex {
  if (typeof told !== 'string' || !/^0x([0-9a-f]{2}){65,}$/i.test(told)) throw new Error('The wallet gave no signature. Nothing was sent.');
  return told as Hex;
}
