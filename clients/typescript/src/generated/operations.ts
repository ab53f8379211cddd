// The operations. Written by `make client` from the service's own table. Change the table, not this file.

import type { AlertRecord, AssetDetail, Assets, Claimed, CorporateActions, CreatedAlert, Depth, Earn, EpochBooks, Explanation, Financials, FoundAssets, History, ManyStats, Markets, Portfolio, PriceRecord, Prices, Quote, Quotes, Research, Reserves, SettledPayment, Stats, Status, TradeBuild, TradeCheck, VoteList, VotePower, WalletStatus } from './answers.js';
import { Group, type CallOptions, type Route } from '../route.js';

/** One swap to price. */
export interface QuoteItemAsk {
  /**
   * Ticker, in any letter case.
   * Example: `AAPL`
   */
  symbol: string;
  /** buy spends USDG, sell spends the token. */
  side: "buy" | "sell";
  /**
   * A decimal string: dollars, or whole tokens, as denom says.
   * Example: `100.5`
   */
  amount: string;
  /** The unit of amount: usd is USDG. */
  denom?: "token" | "usd";
}

/** What `getResearch` takes. */
export interface GetResearchAsk {
  /**
   * Ticker, in any letter case.
   * Example: `AAPL`
   */
  symbol: string;
}

/** What `explainResearch` takes. */
export interface ExplainResearchAsk {
  /**
   * Ticker, in any letter case.
   * Example: `AAPL`
   */
  symbol: string;
}

/** What `getFinancials` takes. */
export interface GetFinancialsAsk {
  /**
   * Ticker, in any letter case.
   * Example: `AAPL`
   */
  symbol: string;
}

/** What `getQuote` takes. */
export interface GetQuoteAsk {
  /**
   * Ticker, in any letter case.
   * Example: `AAPL`
   */
  symbol: string;
  /** buy spends USDG, sell spends the token. */
  side: "buy" | "sell";
  /**
   * A decimal string: dollars, or whole tokens, as denom says.
   * Example: `100.5`
   */
  amount: string;
  /** The unit of amount: usd is USDG. */
  denom?: "token" | "usd";
}

/** What `getPortfolio` takes. */
export interface GetPortfolioAsk {
  /**
   * An account or contract on the chain.
   * Example: `0x54272d10F4fF50Ee2530899012E36f9c6e9E1fCB`
   */
  address: string;
}

/** What `getHistory` takes. */
export interface GetHistoryAsk {
  /**
   * Ticker, in any letter case.
   * Example: `AAPL`
   */
  symbol: string;
  /** Length of one candle. */
  interval?: "15m" | "1d" | "1h" | "4h" | "5m";
  /** At most so many candles, the newest. */
  limit?: number;
  /**
   * Only candles that opened before this time: page back with the oldest t you have.
   * Example: `2026-10-03T14:00:00Z`
   */
  before?: string | null;
}

/** What `buildTrade` takes. */
export interface BuildTradeAsk {
  /**
   * Ticker, in any letter case.
   * Example: `AAPL`
   */
  symbol: string;
  /** buy spends USDG, sell spends the token. */
  side: "buy" | "sell";
  /**
   * A decimal string: dollars, or whole tokens, as denom says.
   * Example: `100.5`
   */
  amount: string;
  /**
   * The wallet that signs, sends and receives.
   * Example: `0x54272d10F4fF50Ee2530899012E36f9c6e9E1fCB`
   */
  recipient: string;
  /** The unit of amount: usd is USDG. */
  denom?: "token" | "usd";
  /**
   * 50 is 0.5 %.
   * Example: `50`
   */
  slippageBps?: number;
}

/** What `getAsset` takes. */
export interface GetAssetAsk {
  /**
   * Ticker, in any letter case.
   * Example: `AAPL`
   */
  symbol: string;
}

/** What `searchAssets` takes. */
export interface SearchAssetsAsk {
  /**
   * A ticker, a name or the beginning of its words, an ISIN, or a token's address.
   * Example: `apple`
   */
  q: string;
  /**
   * Assets at most.
   * Example: `10`
   */
  limit?: number;
}

/** What `getPrice` takes. */
export interface GetPriceAsk {
  /**
   * Ticker, in any letter case.
   * Example: `AAPL`
   */
  symbol: string;
}

/** What `listPrices` takes. */
export interface ListPricesAsk {
  /**
   * Up to 50 tickers separated by commas, in any letter case; all assets when left out.
   * Example: `AAPL,MSFT`
   */
  symbols?: string | null;
}

/** What `listStats` takes. */
export interface ListStatsAsk {
  /**
   * Up to 50 tickers separated by commas, in any letter case; all assets when left out.
   * Example: `AAPL,MSFT`
   */
  symbols?: string | null;
}

/** What `getStats` takes. */
export interface GetStatsAsk {
  /**
   * Ticker, in any letter case.
   * Example: `AAPL`
   */
  symbol: string;
}

/** What `listCorporateActions` takes. */
export interface ListCorporateActionsAsk {
  /**
   * Ticker, in any letter case.
   * Example: `AAPL`
   */
  symbol?: string | null;
  /**
   * COMPLETED or IN_PROGRESS, say; the full CORPORATE_ACTION_STATUS_COMPLETED works too.
   * Example: `COMPLETED`
   */
  status?: string | null;
}

/** What `listMarkets` takes. */
export interface ListMarketsAsk {
  /** The one there is. */
  venue?: "dex-v3";
  /**
   * Pools at most.
   * Example: `50`
   */
  limit?: number;
  /**
   * Pools to skip.
   * Example: `0`
   */
  offset?: number;
}

/** What `getVotePower` takes. */
export interface GetVotePowerAsk {
  /**
   * An account or contract on the chain.
   * Example: `0x54272d10F4fF50Ee2530899012E36f9c6e9E1fCB`
   */
  address: string;
  /**
   * Ticker, in any letter case.
   * Example: `AAPL`
   */
  symbol?: string | null;
}

/** What `createAlert` takes. */
export interface CreateAlertAsk {
  /**
   * Ticker, in any letter case.
   * Example: `AAPL`
   */
  symbol: string;
  /** The side of `price` that fires it. */
  condition: "above" | "below";
  /**
   * Threshold in dollars per token, above 0 and at most 1000000000; rounded to 9 decimals.
   * Example: `371.615`
   */
  price: number;
  /**
   * Public HTTPS address that receives the one POST; port 443 or 8443.
   * Example: `https://hooks.example.com/alerts`
   */
  webhookUrl: string;
}

/** What `getAlert` takes. */
export interface GetAlertAsk {
  /**
   * The alert's id.
   * Example: `5d1c4f0be2a94b7c8e0f6a7d3b2c1a90`
   */
  id: string;
  /** The secret that came with the alert. */
  secret?: string | null;
}

/** What `cancelAlert` takes. */
export interface CancelAlertAsk {
  /**
   * The alert's id.
   * Example: `5d1c4f0be2a94b7c8e0f6a7d3b2c1a90`
   */
  id: string;
  /** The secret that came with the alert. */
  secret?: string | null;
}

/** What `getEarnStatus` takes. */
export interface GetEarnStatusAsk {
  /**
   * An account or contract on the chain.
   * Example: `0x54272d10F4fF50Ee2530899012E36f9c6e9E1fCB`
   */
  address: string;
}

/** What `claimEarn` takes. */
export interface ClaimEarnAsk {
  /**
   * An account or contract on the chain.
   * Example: `0x54272d10F4fF50Ee2530899012E36f9c6e9E1fCB`
   */
  address: string;
  /**
   * The day of the snapshot as YYYYMMDD.
   * Example: `20261115`
   */
  epoch: number;
  /**
   * personal_sign of the message in the wallet's status, or eth_signTypedData_v4 of its typedData, by the wallet
   * itself.
   * Example: `0x5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c
   * 5c5c5c5c5c5c5c5c5c5c5c5c5c1b`
   */
  signature: string;
}

/** What `getEpochBooks` takes. */
export interface GetEpochBooksAsk {
  /**
   * The day of the snapshot as YYYYMMDD.
   * Example: `20261115`
   */
  id: number;
  /** Wallets in one answer. */
  limit?: number;
  /**
   * `nextCursor` of the answer before.
   * Example: `0xaf3d76f1834a1d425780943c99ea8a608f8a93f9`
   */
  cursor?: string | null;
}

/** What `getPayment` takes. */
export interface GetPaymentAsk {
  /**
   * The transaction hash of a receipt.
   * Example: `0x9f2c1d5be8a04c6f73f0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6`
   */
  transaction: string;
}

/** What `getDepth` takes. */
export interface GetDepthAsk {
  /**
   * Ticker, in any letter case.
   * Example: `AAPL`
   */
  symbol: string;
  /**
   * Also tell the largest trade whose price is at most so much worse; 100 is 1 %.
   * Example: `100`
   */
  maxImpactBps?: number | null;
}

/** What `getQuotes` takes. */
export interface GetQuotesAsk {
  /**
   * Each as for a single quote.
   * Example: `[{"symbol": "AAPL", "side": "buy", "amount": "100"}]`
   */
  quotes: QuoteItemAsk[];
}

/** What `checkTrade` takes. */
export interface CheckTradeAsk {
  /**
   * Ticker, in any letter case.
   * Example: `AAPL`
   */
  symbol: string;
  /** buy spends USDG, sell spends the token. */
  side: "buy" | "sell";
  /**
   * A decimal string: dollars, or whole tokens, as denom says.
   * Example: `100.5`
   */
  amount: string;
  /**
   * The wallet that signs, sends and receives.
   * Example: `0x54272d10F4fF50Ee2530899012E36f9c6e9E1fCB`
   */
  recipient: string;
  /** The unit of amount: usd is USDG. */
  denom?: "token" | "usd";
  /**
   * 50 is 0.5 %.
   * Example: `50`
   */
  slippageBps?: number;
  /**
   * Refuse a price so much worse than the equity quote.
   * Example: `200`
   */
  maxPremiumBps?: number | null;
  /**
   * Refuse a price impact beyond this.
   * Example: `100`
   */
  maxImpactBps?: number | null;
}

/** One method per operation of the service. */
export abstract class Operations extends Group {
  /**
   * Look up the company behind a token: who it is, its revenue and net income of the newest whole year, its shares and
   * market cap, each from a named filing, beside the token and its price. Figures keep the currency they were reported
   * in. One that cannot be trusted is null, and `note` says why. Funds and trusts have no underlying.
   * Freshness: filings change about once a quarter; the token's price is at most 15 s old.
   * Throws BadRequest, NotFound, UpstreamError.
   * Free; with a payer 0.01 USD a call.
   * `GET /v1/research/{symbol}`
   */
  getResearch(ask: GetResearchAsk, options?: CallOptions): Promise<Research> {
    return this.call(['GET', '/v1/research/{symbol}', 'p'] as Route, ask, options);
  }

  /**
   * Explain how the figures of a company were chosen: for revenue, net income, shares and market cap every candidate
   * with its filing, which one won, and for each other one sentence why not.
   * Freshness: filings change about once a quarter; the price in marketCap is at most 15 s old.
   * Throws BadRequest, NotFound, UpstreamError.
   * `GET /v1/research/{symbol}/explain`
   */
  explainResearch(ask: ExplainResearchAsk, options?: CallOptions): Promise<Explanation> {
    return this.call(['GET', '/v1/research/{symbol}/explain'] as Route, ask, options);
  }

  /**
   * Look up a company's years and quarters: revenue, net income, diluted profit per share and shares, each from the
   * newest filing of its period with what earlier ones said, the trailing twelve months where the quarters truly add
   * up, and price to earnings and to sales at the live price. What is not known is null with a reason.
   * Freshness: filings change about once a quarter; the price in the ratios is at most 15 s old.
   * Throws BadRequest, NotFound, UpstreamError.
   * `GET /v1/research/{symbol}/financials`
   */
  getFinancials(ask: GetFinancialsAsk, options?: CallOptions): Promise<Financials> {
    return this.call(['GET', '/v1/research/{symbol}/financials'] as Route, ask, options);
  }

  /**
   * Price one swap on every fee tier at one block and return the best. Nothing is executed. A pool that could fill
   * only a part is no fill. `asOf` is the time of the block.
   * Freshness: of the chain's newest block, at most about two seconds old, never reused.
   * Throws BadRequest, NotFound, NoLiquidity, UpstreamError.
   * Free; with a payer 0.01 USD a call.
   * `GET /v1/quote`
   */
  getQuote(ask: GetQuoteAsk, options?: CallOptions): Promise<Quote> {
    return this.call(['GET', '/v1/quote', 'p'] as Route, ask, options);
  }

  /**
   * List a wallet's stock tokens, all read at one block, the most valuable first, each priced by the equity mid times
   * the multiplier. A position without a usable quote has null price and value, sorts last and adds nothing to the
   * total. `asOf` is the time of the block.
   * Freshness: balances from the newest block, prices from quotes at most 15 s old.
   * Throws BadRequest, UpstreamError.
   * Free; with a payer 0.01 USD a call.
   * `GET /v1/portfolio/{address}`
   */
  getPortfolio(ask: GetPortfolioAsk, options?: CallOptions): Promise<Portfolio> {
    return this.call(['GET', '/v1/portfolio/{address}', 'p'] as Route, ask, options);
  }

  /**
   * Read price candles of one token, from the samples taken every 5 minutes of its deepest TOKEN/USDG pool. The newest
   * `limit` candles, oldest first; the last one may still be open; times without a sample have no candle.
   * Freshness: from samples taken every 5 minutes; changes only with a new sample.
   * Limits: at most 300 candles a call, older ones with `before`.
   * Throws BadRequest, NotFound, UpstreamError.
   * Free; with a payer 0.01 USD a call.
   * `GET /v1/history/{symbol}`
   */
  getHistory(ask: GetHistoryAsk, options?: CallOptions): Promise<History> {
    return this.call(['GET', '/v1/history/{symbol}', 'p'] as Route, ask, options);
  }

  /**
   * Quote one swap and build the unsigned transactions for it, to be signed and sent in order by the recipient: an
   * approval for exactly what is needed, only if the allowance is short, then the swap with its bound and its
   * deadline. Nothing is executed and no key is involved. `note` says what the steps do, the bound, the price impact,
   * and what may go wrong.
   * Freshness: asked of the chain's newest block at the moment of the call, never reused; the transactions expire at
   * deadline.
   * Limits: slippage from 0.01 % to 50 %.
   * Throws BadRequest, NotFound, NoLiquidity, UpstreamError.
   * Free; with a payer 0.02 USD a call.
   * `POST /v1/trade/build`
   */
  buildTrade(ask: BuildTradeAsk, options?: CallOptions): Promise<TradeBuild> {
    return this.call(['POST', '/v1/trade/build', 'p'] as Route, ask, options);
  }

  /**
   * List every tokenized stock and ETF. One token represents `multiplier` underlying shares.
   * Freshness: the registry is read every minute.
   * Throws UpstreamError.
   * `GET /v1/assets`
   */
  listAssets(options?: CallOptions): Promise<Assets> {
    return this.call(['GET', '/v1/assets'] as Route, {}, options);
  }

  /**
   * Look up one asset by its ticker, with a scheduled multiplier change and where it may be traded.
   * Freshness: the registry is read every minute.
   * Throws BadRequest, NotFound, UpstreamError.
   * `GET /v1/assets/{symbol}`
   */
  getAsset(ask: GetAssetAsk, options?: CallOptions): Promise<AssetDetail> {
    return this.call(['GET', '/v1/assets/{symbol}'] as Route, ask, options);
  }

  /**
   * Find assets by ticker, name, ISIN or token address, the best match first. An address finds the one asset whose
   * token it is, or nothing: this is how to check that an address is really the token of a ticker.
   * Freshness: the registry is read every minute.
   * Limits: at most 50 assets a call.
   * Throws BadRequest, UpstreamError.
   * `GET /v1/search`
   */
  searchAssets(ask: SearchAssetsAsk, options?: CallOptions): Promise<FoundAssets> {
    return this.call(['GET', '/v1/search'] as Route, ask, options);
  }

  /**
   * Read the equity quote of one asset: bid, ask and mid per underlying share and, times the multiplier, per token.
   * Off hours the spread can be very wide and the mid far off; both sides are shown. `asOf` is the moment at which the
   * issuer made the quote.
   * Freshness: the issuer's quote, reused for at most 5 s; a copy up to 15 s old stands in for a silent issuer.
   * Throws BadRequest, NotFound, UpstreamError.
   * `GET /v1/prices/{symbol}`
   */
  getPrice(ask: GetPriceAsk, options?: CallOptions): Promise<PriceRecord> {
    return this.call(['GET', '/v1/prices/{symbol}'] as Route, ask, options);
  }

  /**
   * Read the equity quotes of up to 50 assets, or of all, in one call. Each item has a price or its own error; the
   * day's range and volume are left out (one asset's price has them).
   * Freshness: the issuer's quote, reused for at most 5 s; a copy up to 15 s old stands in for a silent issuer.
   * Limits: at most 50 tickers a call, or all of them.
   * Throws BadRequest, UpstreamError.
   * `GET /v1/prices`
   */
  listPrices(ask: ListPricesAsk = {}, options?: CallOptions): Promise<Prices> {
    return this.call(['GET', '/v1/prices'] as Route, ask, options);
  }

  /**
   * Show supply, prices and pools of up to 50 tokens, or of all, read at one block in one call. Each item has its
   * stats or its own error. `asOf` is the time of the block.
   * Freshness: read from the chain's newest block, reused for at most 5 s.
   * Limits: at most 50 tickers a call, or all of them.
   * Throws BadRequest, UpstreamError.
   * `GET /v1/stats`
   */
  listStats(ask: ListStatsAsk = {}, options?: CallOptions): Promise<ManyStats> {
    return this.call(['GET', '/v1/stats'] as Route, ask, options);
  }

  /**
   * Show one token's supply, its price in the deepest pool against the equity quote, the 24-hour change of the sampled
   * price (null until a day of history exists), and every TOKEN/USDG pool, all read at one block. `asOf` is the time
   * of the block.
   * Freshness: read from the chain's newest block, reused for at most 5 s.
   * Throws BadRequest, NotFound, UpstreamError.
   * `GET /v1/stats/{symbol}`
   */
  getStats(ask: GetStatsAsk, options?: CallOptions): Promise<Stats> {
    return this.call(['GET', '/v1/stats/{symbol}'] as Route, ask, options);
  }

  /**
   * List splits, dividends, mergers and the like, which change multipliers: every action ever seen, also after the
   * issuer has dropped it. Those without a date come first, then the newest. The date is the business day before the
   * multiplier moves; the token's contract, not this list, says what the multiplier is.
   * Freshness: every action ever seen is kept; new ones appear within minutes of the issuer's list.
   * Throws BadRequest, NotFound, UpstreamError.
   * `GET /v1/corporate-actions`
   */
  listCorporateActions(ask: ListCorporateActionsAsk = {}, options?: CallOptions): Promise<CorporateActions> {
    return this.call(['GET', '/v1/corporate-actions'] as Route, ask, options);
  }

  /**
   * List every TOKEN/USDG pool, the deepest first, all read at one block. `depthUsd` is the USDG that moves the price
   * by 1 % over the ticks that are really there, the smaller of both directions; `tvlUsd` is information, since
   * balances can be faked. A pool without liquidity in range has a null price. `asOf` is the time of the block.
   * Freshness: read from the chain's newest block, reused for at most 5 s.
   * Throws BadRequest, UpstreamError.
   * `GET /v1/markets`
   */
  listMarkets(ask: ListMarketsAsk = {}, options?: CallOptions): Promise<Markets> {
    return this.call(['GET', '/v1/markets'] as Route, ask, options);
  }

  /**
   * List shareholder votes that concern stock tokens. The issuer runs no votes yet, so the list is empty and
   * `voting.live` is false; when a feed comes alive, its events appear here.
   * Freshness: empty until the upstream feature is live, which `voting` tells.
   * `GET /v1/votes`
   */
  listVotes(options?: CallOptions): Promise<VoteList> {
    return this.call(['GET', '/v1/votes'] as Route, {}, options);
  }

  /**
   * Count the shares that a wallet's stock tokens stand for: balance times multiplier, read at one block, largest
   * first. With a symbol, that one position, also when it is zero. Holding a token gives no vote by itself.
   * Freshness: asked of the chain's newest block at the moment of the call, never reused.
   * Throws BadRequest, NotFound, UpstreamError.
   * `GET /v1/votes/power/{address}`
   */
  getVotePower(ask: GetVotePowerAsk, options?: CallOptions): Promise<VotePower> {
    return this.call(['GET', '/v1/votes/power/{address}'] as Route, ask, options);
  }

  /**
   * Watch the on-chain price of one asset and POST to a webhook once, when it crosses a threshold. Prices are sampled
   * every 5 minutes; `above` fires when a sample is at or over the threshold and the one before it was under, `below`
   * the other way round. An alert that never fires expires after 30 days. Keep the secret: it is shown once.
   * Freshness: checked against each new 5-minute sample; a spike between two samples does not fire.
   * Limits: 30 new alerts a minute and 200 active ones per client address, 25 active ones per webhook host.
   * Throws BadRequest, NotFound, UpstreamError.
   * `POST /v1/alerts`
   */
  createAlert(ask: CreateAlertAsk, options?: CallOptions): Promise<CreatedAlert> {
    return this.call(['POST', '/v1/alerts', 'w'] as Route, ask, options);
  }

  /**
   * Read one alert with the secret that came with it: its state, and what became of its delivery.
   * Freshness: read from our own records at the moment of the call.
   * Throws BadRequest, NotFound, UpstreamError.
   * `GET /v1/alerts/{id}`
   */
  getAlert(ask: GetAlertAsk, options?: CallOptions): Promise<AlertRecord> {
    return this.call(['GET', '/v1/alerts/{id}'] as Route, ask, options);
  }

  /**
   * Cancel one alert with the secret that came with it. When the answer says cancelled, nothing will ever be sent. An
   * alert that has fired or expired stays as it is.
   * Freshness: read from our own records at the moment of the call.
   * Throws BadRequest, NotFound, UpstreamError.
   * `DELETE /v1/alerts/{id}`
   */
  cancelAlert(ask: CancelAlertAsk, options?: CallOptions): Promise<AlertRecord> {
    return this.call(['DELETE', '/v1/alerts/{id}', 'w'] as Route, ask, options);
  }

  /**
   * The daily reward program: token, schedule, the pool that accrues today, and the newest epoch. Holders of at least
   * 1,000,000 service tokens at 23:00 UTC share the day's paid revenue and claim it between 00:00 and 01:00.
   * Freshness: read from our own records at the moment of the call.
   * Throws UpstreamError.
   * `GET /v1/earn`
   */
  getEarn(options?: CallOptions): Promise<Earn> {
    return this.call(['GET', '/v1/earn'] as Route, {}, options);
  }

  /**
   * A wallet's standing in the newest epoch, with the exact message to sign for a claim.
   * Freshness: asked of the chain's newest block at the moment of the call, never reused.
   * Throws BadRequest, UpstreamError.
   * `GET /v1/earn/status/{address}`
   */
  getEarnStatus(ask: GetEarnStatusAsk, options?: CallOptions): Promise<WalletStatus> {
    return this.call(['GET', '/v1/earn/status/{address}'] as Route, ask, options);
  }

  /**
   * Claim a wallet's share of one epoch's pool with its signature. The service sends the payout and pays the gas.
   * Claiming again returns its newest transaction. Contract wallets cannot claim.
   * Throws BadRequest, NotFound, UpstreamError.
   * `POST /v1/earn/claim`
   */
  claimEarn(ask: ClaimEarnAsk, options?: CallOptions): Promise<Claimed> {
    return this.call(['POST', '/v1/earn/claim', 'w'] as Route, ask, options);
  }

  /**
   * The public books of one epoch: pool, revenue, rollover, and its wallets with share, claim and transaction, a page
   * at a time. Anybody can add them up; `books.csv.gz` beside it is all of it in one file.
   * Limits: at most 1,000 wallets in one answer; `nextCursor` leads on.
   * Throws BadRequest, NotFound, UpstreamError.
   * `GET /v1/earn/epochs/{id}`
   */
  getEpochBooks(ask: GetEpochBooksAsk, options?: CallOptions): Promise<EpochBooks> {
    return this.call(['GET', '/v1/earn/epochs/{id}'] as Route, ask, options);
  }

  /**
   * What the reward program holds and owes: the payout account's USDG, ETH and allowance, and for the newest epochs
   * pool, payments and the hash of the books, from the chain and from our own records side by side, at one block.
   * Freshness: the newest block, at most five seconds ago.
   * Throws UpstreamError.
   * `GET /v1/earn/reserves`
   */
  getEarnReserves(options?: CallOptions): Promise<Reserves> {
    return this.call(['GET', '/v1/earn/reserves'] as Route, {}, options);
  }

  /**
   * Look up one settled payment by the transaction hash of its receipt. An answer that got lost is sent again to
   * whoever repeats the paid request with the same payment within 24 hours.
   * Throws BadRequest, NotFound, UpstreamError.
   * `GET /v1/payments/{transaction}`
   */
  getPayment(ask: GetPaymentAsk, options?: CallOptions): Promise<SettledPayment> {
    return this.call(['GET', '/v1/payments/{transaction}'] as Route, ask, options);
  }

  /**
   * Show what it takes to move one token's price by 0.1 to 10 %, up and down, in every pool and in all of them
   * together, over the liquidity that is really there, exact, all at one block. With `maxImpactBps` also the largest
   * trade in one pool whose average price, fee included, is at most so much worse than the pool's price before it;
   * zero where its tokens do not move, because they are paused or the pool is blocked. `depthUsd` is the smaller of
   * both directions at 1 %.
   * Freshness: of the chain's newest block, reused for at most a second; asOf is the block's time.
   * Throws BadRequest, NotFound, UpstreamError.
   * `GET /v1/depth/{symbol}`
   */
  getDepth(ask: GetDepthAsk, options?: CallOptions): Promise<Depth> {
    return this.call(['GET', '/v1/depth/{symbol}'] as Route, ask, options);
  }

  /**
   * Price up to 50 swaps, all at one block, in the order asked. Each item has its quote or its own error: an unknown
   * symbol, a pool that cannot fill it. An item out of shape fails them all. Nothing is executed.
   * Freshness: of the chain's newest block, at most about two seconds old, never reused.
   * Limits: at most 50 swaps a call.
   * Throws BadRequest, UpstreamError.
   * `POST /v1/quotes`
   */
  getQuotes(ask: GetQuotesAsk, options?: CallOptions): Promise<Quotes> {
    return this.call(['POST', '/v1/quotes'] as Route, ask, options);
  }

  /**
   * Build one swap and tell what would happen if the recipient signed it now: every step run by the node in order at
   * one named block (outcome, gas, balance changes, the reason of a failure in words), the figures, a closed list of
   * issues, the steps ready for a wallet, and what the calldata says when somebody else reads it. Nothing is sent.
   * `maxPremiumBps` and `maxImpactBps` refuse a price beyond them.
   * Freshness: at the chain's newest block, at most about two seconds old, never reused.
   * Throws BadRequest, NotFound, NoLiquidity, UpstreamError.
   * `POST /v1/trade/check`
   */
  checkTrade(ask: CheckTradeAsk, options?: CallOptions): Promise<TradeCheck> {
    return this.call(['POST', '/v1/trade/check'] as Route, ask, options);
  }

  /**
   * Show how fresh the service is: the newest block and its lag, the age of every upstream's last good answer, the
   * newest sampled slot, how many of the day's 288 samples each token has, and which samples of the newest round are
   * not to be trusted. Null means never.
   * Freshness: read from our own records at the moment of the call.
   * Throws UpstreamError.
   * `GET /v1/status`
   */
  getStatus(options?: CallOptions): Promise<Status> {
    return this.call(['GET', '/v1/status'] as Route, {}, options);
  }
}
