// Chains and contracts, pinned; addresses in lower case. Written by `make client` from the service's own table. Change the table, not this file.

export const CHAIN_ID = 4663;
export const SECOND_CHAIN_ID = 8453;
export const USDG = '0x5fc5360d0400a0fd4f2af552add042d716f1d168';
export const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913';
export const ROUTER = '0xcaf681a66d020601342297493863e78c959e5cb2';
export const PERMIT2 = '0x000000000022d473030f116ddee9f6b43ac78ba3';
export const SPENDER = '0x402085c248eea27d92e8b30b2c58ed07f9e20001';
