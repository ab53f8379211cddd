// The sandbox's demo wallet as a wallet of its own (EIP-6963). Its key is public and good for this sandbox alone.
// viem comes with the first thing it is asked to sign.
import { TickyardError } from 'tickyard';
import { later, sandbox, within } from './api';
import type { Announced, Provider } from './wallet';

const ICON = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='8' fill='%238a5a00'/%3E%3Cpath d='M4 6h8v5H4z' fill='white'/%3E%3C/svg%3E";

let chainId = 4663;

async function world() {
  const info = await sandbox.showSandbox();
  return { ...info, demo: info.wallets[0]! };
}

async function ask(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch {
    // A sandbox that was started anew has other nodes, and this page may ask none but those that it came with.
    throw new TickyardError('the node of this sandbox does not answer. If the sandbox was started anew, load this page again');
  }
}

async function rpc(url: string, method: string, params: unknown): Promise<unknown> {
  const answer = await ask(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: params ?? [] }) });
  const { result, error } = (await answer.json()) as { result?: unknown; error?: { message: string; code: number } };
  if (error) throw Object.assign(new Error(error.message), { code: error.code });
  return result;
}

const provider: Provider = {
  async request({ method, params }) {
    const [first, second] = (params ?? []) as [unknown?, unknown?];
    const { demo, rpcUrl, rpcUrl8453 } = await world();
    const url = chainId === 4663 ? rpcUrl : rpcUrl8453;
    switch (method) {
      case 'eth_requestAccounts':
      case 'eth_accounts':
        return [demo.address];
      case 'eth_chainId':
        return `0x${chainId.toString(16)}`;
      case 'wallet_switchEthereumChain':
        chainId = Number((first as { chainId: string }).chainId);
        return null;
      case 'wallet_getCapabilities':
        return {};
      case 'personal_sign': {
        await allow('Sign a message', text(first as string));
        return (await signer(demo.privateKey)).signMessage({ message: { raw: first as `0x${string}` } });
      }
      case 'eth_signTypedData_v4': {
        const typed = JSON.parse(second as string);
        await allow(`Sign ${typed.primaryType}`, JSON.stringify(typed.message, null, 2));
        return (await signer(demo.privateKey)).signTypedData(typed);
      }
      case 'eth_sendTransaction': {
        const { to, data, nonce } = first as { to: `0x${string}`; data: `0x${string}`; nonce?: string };
        const gas = await estimate(url, { from: demo.address, to, data });
        await allow('Send a transaction', `to    ${to}\ndata  ${data.slice(0, 74)}${data.length > 74 ? '…' : ''}`);
        return send(url, demo.privateKey, demo.address, to, data, gas, nonce);
      }
      default:
        return rpc(url, method, params);
    }
  },
};

async function signer(key: string) {
  const { privateKeyToAccount } = await within(later('accounts/index.js', () => import('viem/accounts')));
  return privateKeyToAccount(key as `0x${string}`);
}

async function estimate(url: string, call: object): Promise<string> {
  try {
    return (await rpc(url, 'eth_estimateGas', [call])) as string;
  } catch (error) {
    const said = error instanceof TickyardError ? error : new Error(`The transaction would fail: ${(error as Error).message}`);
    // Named as viem names it: whoever asked knows that nothing has left.
    throw Object.assign(said, { name: 'EstimateGasExecutionError' });
  }
}

async function send(url: string, key: string, from: string, to: `0x${string}`, data: `0x${string}`, gas: string, nonce?: string): Promise<unknown> {
  const account = await signer(key);
  const [price, count] = (await Promise.all([
    rpc(url, 'eth_gasPrice', []),
    nonce ?? rpc(url, 'eth_getTransactionCount', [from, 'pending']),
  ])) as string[];
  const raw = await account.signTransaction({
    to,
    data,
    chainId,
    type: 'eip1559',
    nonce: Number(count),
    gas: (BigInt(gas) * 12n) / 10n,
    maxFeePerGas: BigInt(price!) * 2n,
    maxPriorityFeePerGas: 0n,
  });
  return rpc(url, 'eth_sendRawTransaction', [raw]);
}

function text(hex: string): string {
  return new TextDecoder().decode(Uint8Array.from(hex.slice(2).match(/../g) ?? [], (pair) => parseInt(pair, 16)));
}

/** A wallet asks its owner. */
function allow(title: string, what: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const box = document.createElement('dialog');
    box.className = 'demo';
    box.setAttribute('aria-label', 'Demo wallet');
    const add = (tag: string, content: string, parent: Element = box) => {
      const element = parent.appendChild(document.createElement(tag));
      element.textContent = content;
      return element;
    };
    add('small', 'Demo wallet');
    add('h2', title);
    const shown = add('pre', what);
    shown.tabIndex = 0;
    const row = box.appendChild(document.createElement('div'));
    row.className = 'buttons';
    const no = add('button', 'Reject', row) as HTMLButtonElement;
    const yes = add('button', 'Confirm', row) as HTMLButtonElement;
    yes.className = 'primary';
    yes.onclick = () => box.close('yes');
    no.onclick = () => box.close('');
    box.onclose = () => {
      box.remove();
      if (box.returnValue === 'yes') resolve();
      else reject(Object.assign(new Error('You said no in the wallet.'), { code: 4001 }));
    };
    document.body.append(box);
    box.showModal();
    yes.focus();
  });
}

export function announceDemoWallet(): void {
  const detail: Announced = Object.freeze({ info: { uuid: '5a6e3c1e-7c1d-4f0e-9d53-7469636b7964', name: 'Demo wallet', icon: ICON, rdns: 'sandbox.tickyard.demo' }, provider });
  const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }));
  addEventListener('eip6963:requestProvider', announce);
  announce();
}
