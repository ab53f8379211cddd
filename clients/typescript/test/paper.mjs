// Builds by the reference encoder, and a wallet on paper.
import { encodeFunctionData, parseAbi } from 'viem';

export const ROUTER = '0xcaf681a66d020601342297493863e78c959e5cb2';
export const USDG = '0x5fc5360d0400a0fd4f2af552add042d716f1d168';
export const TOKEN = '0x' + 'aa'.repeat(20);
export const ME = '0x' + '11'.repeat(20);
export const other = '0x' + '22'.repeat(20);
export const ROUTER_ABI = parseAbi([
  'function multicall(uint256 deadline, bytes[] data)',
  'function exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96))',
  'function exactOutputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 amountOut, uint256 amountInMaximum, uint160 sqrtPriceLimitX96))',
]);

// The reference encoder makes the calldata; ours must read it.
export function swapData({ kind = 'exactIn', tokenIn = USDG, tokenOut = TOKEN, fee = 500, recipient = ME, amount = 100_000000n, bound = 995n * 10n ** 15n, deadline = 1_800_000_000n, limit = 0n, more = [] } = {}) {
  const inner =
    kind === 'exactIn'
      ? encodeFunctionData({ abi: ROUTER_ABI, functionName: 'exactInputSingle', args: [{ tokenIn, tokenOut, fee, recipient, amountIn: amount, amountOutMinimum: bound, sqrtPriceLimitX96: limit }] })
      : encodeFunctionData({ abi: ROUTER_ABI, functionName: 'exactOutputSingle', args: [{ tokenIn, tokenOut, fee, recipient, amountOut: amount, amountInMaximum: bound, sqrtPriceLimitX96: limit }] });
  return encodeFunctionData({ abi: ROUTER_ABI, functionName: 'multicall', args: [deadline, [inner, ...more]] });
}
export const approve = (spender = ROUTER, amount = 100_000000n) =>
  encodeFunctionData({ abi: parseAbi(['function approve(address, uint256)']), args: [spender, amount] });
export const step = (to, data) => ({ description: '', to, data, value: '0' });
export const ASK = { symbol: 'AAPL', side: 'buy', amount: '100', recipient: ME };

export function build({ swap = {}, approval = approve(), to = ROUTER, ...more } = {}) {
  const steps = [...(approval ? [step(USDG, approval)] : []), step(to, swapData(swap))];
  const quote = { side: 'buy', mode: 'exactIn', usdAmount: '100.000000', tokenAmount: '1', feeTier: 500 };
  return { symbol: 'AAPL', tokenAddress: TOKEN, chainId: 4663, quote, slippageBps: 50, deadline: 1_800_000_000, steps, note: '', ...more };
}

export class PaperWallet {
  account = { address: ME };
  sent = [];
  chainId = 4663;
  outcome = () => ({ status: 'success', logs: [] });
  async getChainId() {
    return this.chainId;
  }
  underWay = 0;
  now = 1_799_999_500n;
  async getTransactionCount({ blockTag }) {
    return 40 + this.sent.length + (blockTag === 'pending' ? this.underWay : 0);
  }
  async getBlock() {
    return { timestamp: this.now };
  }
  async sendTransaction(transaction) {
    this.sent.push(transaction);
    return this.fails ? Promise.reject(this.fails) : `0x${this.sent.length}`;
  }
  async waitForTransactionReceipt({ hash, onReplaced }) {
    if (this.replaces) onReplaced?.({ reason: this.replaces });
    return { transactionHash: hash, ...this.outcome(this.sent.length) };
  }
}
