// Who pays, what is offered, and what a paid answer looks like.
import { privateKeyToAccount } from 'viem/accounts';

export const SIGNER = privateKeyToAccount(`0x${'11'.repeat(32)}`);
export const OTHER_SIGNER = privateKeyToAccount(`0x${'22'.repeat(32)}`);
export const USDC = { scheme: 'exact', network: 'eip155:8453', asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', amount: '10000', payTo: `0x${'22'.repeat(20)}`, maxTimeoutSeconds: 300, extra: { name: 'USD Coin', version: '2' } };
export const USDG = { ...USDC, network: 'eip155:4663', asset: '0x5fc5360d0400a0fd4f2af552add042d716f1d168', extra: { name: 'Global Dollar', version: '1', assetTransferMethod: 'permit2' } };
export const challenge = (...accepts) => offering({}, ...accepts);
export const offering = (extensions, ...accepts) => {
  const body = { x402Version: 2, error: 'payment required', accepts, resource: { url: 'http://x/v1/x402/quote', description: '', mimeType: 'application/json' }, extensions };
  return { status: 402, body, headers: { 'payment-required': Buffer.from(JSON.stringify(body)).toString('base64') } };
};
export const RECEIPT = { transaction: '0xabc', network: 'eip155:8453', payer: SIGNER.address };
export const paid = { body: { symbol: 'AAPL' }, headers: { 'payment-response': Buffer.from(JSON.stringify(RECEIPT)).toString('base64') } };
export const quote = (client, amount = '100') => client.getQuote({ symbol: 'AAPL', side: 'buy', amount });
export const payment = ({ headers }) => headers['payment-signature'];
