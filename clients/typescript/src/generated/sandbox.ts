// The operations. Written by `make client` from the service's own table. Change the table, not this file.

import type { ClockReading, Fault, Faults, Funded, InboxContents, MovedPrice, SandboxInfo, TickReport } from './sandbox_answers.js';
import { Group, type CallOptions, type Route } from '../route.js';

/** What `moveSandboxClock` takes. */
export interface MoveSandboxClockAsk {
  /** Example: `3600` */
  advanceSeconds?: number | null;
  /**
   * An ISO 8601 time.
   * Example: `2027-01-01T00:00:00Z`
   */
  to?: string | null;
}

/** What `moveSandboxPrice` takes. */
export interface MoveSandboxPriceAsk {
  /**
   * Ticker, in any letter case.
   * Example: `AAPL`
   */
  symbol: string;
  /**
   * A positive decimal, as text or number.
   * Example: `250.5`
   */
  price: string | number;
}

/** What `fundSandboxWallet` takes. */
export interface FundSandboxWalletAsk {
  /**
   * An account or contract on the chain.
   * Example: `0x54272d10F4fF50Ee2530899012E36f9c6e9E1fCB`
   */
  address: string;
  /**
   * ETH, USDG, USDC, SERVICE or a ticker.
   * Example: `USDG`
   */
  asset: string;
  /**
   * A positive decimal, as text or number.
   * Example: `250.5`
   */
  amount: string | number;
}

/** What `readSandboxInbox` takes. */
export interface ReadSandboxInboxAsk {
  /** An alert's id; all deliveries when left out. */
  id?: string | null;
}

/** What `setSandboxFault` takes. */
export interface SetSandboxFaultAsk {
  target: "facilitator-4663" | "facilitator-8453" | "filings" | "issuer" | "rpc";
  mode: "down" | "garbage" | "ok" | "slow" | "throttle";
}

/** The hands on a sandbox world. */
export abstract class SandboxControls extends Group {
  /**
   * Show this world: where its chain and stand-ins are, its contracts, and wallets with their keys.
   * `GET /sandbox`
   */
  showSandbox(options?: CallOptions): Promise<SandboxInfo> {
    return this.call(['GET', '/sandbox'] as Route, {}, options);
  }

  /**
   * Read the sandbox's clock.
   * `GET /sandbox/clock`
   */
  readSandboxClock(options?: CallOptions): Promise<ClockReading> {
    return this.call(['GET', '/sandbox/clock'] as Route, {}, options);
  }

  /**
   * Move the sandbox's clock forward, by seconds or to a moment, and answer when what is due by then is done:
   * snapshot, seal, opening, close, expiry. Slots that are skipped stay missing.
   * Throws BadRequest.
   * `POST /sandbox/clock`
   */
  moveSandboxClock(ask: MoveSandboxClockAsk = {}, options?: CallOptions): Promise<ClockReading> {
    return this.call(['POST', '/sandbox/clock', 'w'] as Route, ask, options);
  }

  /**
   * Move to the start of the next five-minute slot and live through it: trades now, and all that is due.
   * Throws BadRequest, UpstreamError.
   * `POST /sandbox/tick`
   */
  runSandboxTick(options?: CallOptions): Promise<TickReport> {
    return this.call(['POST', '/sandbox/tick', 'w'] as Route, {}, options);
  }

  /**
   * Trade the deepest pool of a token to a price, within one basis point. The trader then leaves the symbol alone
   * until after the next tick.
   * Throws BadRequest, NotFound, NoLiquidity.
   * `POST /sandbox/price`
   */
  moveSandboxPrice(ask: MoveSandboxPriceAsk, options?: CallOptions): Promise<MovedPrice> {
    return this.call(['POST', '/sandbox/price', 'w'] as Route, ask, options);
  }

  /**
   * Give a wallet ETH, USDG, USDC (on the second chain), service tokens (SERVICE) or a stock token (its ticker).
   * Throws BadRequest, NotFound.
   * `POST /sandbox/fund`
   */
  fundSandboxWallet(ask: FundSandboxWalletAsk, options?: CallOptions): Promise<Funded> {
    return this.call(['POST', '/sandbox/fund', 'w'] as Route, ask, options);
  }

  /**
   * Read what the sandbox's webhook inbox has received. Alerts may use any path below `inboxUrl`.
   * Throws BadRequest.
   * `GET /sandbox/inbox`
   */
  readSandboxInbox(ask: ReadSandboxInboxAsk = {}, options?: CallOptions): Promise<InboxContents> {
    return this.call(['GET', '/sandbox/inbox'] as Route, ask, options);
  }

  /**
   * Read what every far end does now, whoever has set it.
   * `GET /sandbox/fault`
   */
  readSandboxFaults(options?: CallOptions): Promise<Faults> {
    return this.call(['GET', '/sandbox/fault'] as Route, {}, options);
  }

  /**
   * Break a far end, or mend it with mode `ok`: down, slow (over 5 s), garbage or throttled.
   * Throws BadRequest, UpstreamError.
   * `POST /sandbox/fault`
   */
  setSandboxFault(ask: SetSandboxFaultAsk, options?: CallOptions): Promise<Fault> {
    return this.call(['POST', '/sandbox/fault', 'w'] as Route, ask, options);
  }
}
