// The shapes of all answers. Written by `make client` from the service's own table. Change the table, not this file.

export interface ContractAddresses {
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  factory: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  router: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  quoter: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  multicall3: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  permit2: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  usdg: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  usdc: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  spender: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  serviceToken: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  desk: string;
}

export interface WalletInfo {
  /** Example: `demo` */
  name: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  address: string;
  /**
   * Sandbox only: everybody knows it.
   * Example: `0x1111111111111111111111111111111111111111111111111111111111111111`
   */
  privateKey: string;
}

export interface SandboxInfo {
  /** Example: `4663` */
  chainId: number;
  /** Example: `http://127.0.0.1:40001/rpc` */
  rpcUrl: string;
  /**
   * The second chain, on which payments in USDC settle.
   * Example: `http://127.0.0.1:40001/rpc`
   */
  rpcUrl8453: string;
  contracts: ContractAddresses;
  wallets: WalletInfo[];
  /** Example: `http://127.0.0.1:40001/rpc` */
  inboxUrl: string;
  /** Example: `http://127.0.0.1:40001/rpc` */
  issuerUrl: string;
  /** Example: `http://127.0.0.1:40001/rpc` */
  filingsUrl: string;
  /** Example: `{"eip155:4663": "http://127.0.0.1:40001/facilitator-4663"}` */
  facilitators: Record<string, string>;
}

export interface ClockReading {
  /** Example: `2026-10-03T14:23:10.223Z` */
  now: string;
}

export interface TickReport {
  /** Example: `2026-10-03T14:23:10.223Z` */
  slot: string;
  /** Example: `172` */
  sampled: number;
  /** Example: `22` */
  skipped: number;
  fired: number;
  delivered: number;
  failed: number;
}

export interface MovedPrice {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  pool: string;
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  price: string;
}

export interface Funded {
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  address: string;
  /** Example: `USDG` */
  asset: string;
  /** Example: `100250.5` */
  balance: string;
}

export interface ReceivedPost {
  /** Example: `2026-10-03T14:23:10.223Z` */
  receivedAt: string;
  /** Example: `POST` */
  method: string;
  /** Example: `/my-hook` */
  path: string;
  headers: Record<string, string>;
  /** Example: `{"type":"price_alert"}` */
  body: string;
}

export interface InboxContents {
  deliveries: ReceivedPost[];
}

export interface Fault {
  target: "facilitator-4663" | "facilitator-8453" | "filings" | "issuer" | "rpc";
  mode: "down" | "garbage" | "ok" | "slow" | "throttle";
}

export interface Faults {
  faults: Fault[];
}
