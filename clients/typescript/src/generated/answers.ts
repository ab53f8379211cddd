// The shapes of all answers. Written by `make client` from the service's own table. Change the table, not this file.

export interface Underlying {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  ticker: string;
  /** Example: `Apple Inc.` */
  companyName: string;
  /** Example: `0000320193` */
  cik: string;
  /** Example: `Nasdaq` */
  exchange: string | null;
  /**
   * SIC description.
   * Example: `Electronic Computers`
   */
  industry: string | null;
  /** Example: `3571` */
  sic: string | null;
  /** Example: `CA` */
  stateOfIncorporation: string | null;
  /**
   * MMDD.
   * Example: `0927`
   */
  fiscalYearEnd: string | null;
  /**
   * ISIN of the underlying.
   * Example: `US0378331005`
   */
  isin: string;
}

export interface ReportedFact {
  /**
   * Exact, in units.
   * Example: `391035000000`
   */
  value: number;
  /**
   * The currency as reported; never converted.
   * Example: `USD`
   */
  unit: string;
  /** Example: `2025-09-27` */
  periodStart: string | null;
  /** Example: `2025-09-27` */
  periodEnd: string;
  /** Example: `2025` */
  fiscalYear: number | null;
  /**
   * Type of the filing that reports it.
   * Example: `10-K`
   */
  form: string | null;
}

export interface SharesOutstanding {
  /** Example: `14840390000` */
  value: number;
  unit: "shares";
  /** Example: `2025-09-27` */
  asOf: string;
}

export interface MarketCapitalization {
  /**
   * Whole dollars, rounded down.
   * Example: `3450000000000`
   */
  value: number;
  unit: "USD";
  /** Which share count, times which quote. */
  basis: string;
}

export interface Facts {
  revenue: ReportedFact | null;
  netIncome: ReportedFact | null;
  sharesOutstanding: SharesOutstanding | null;
  marketCap: MarketCapitalization | null;
}

export interface TokenQuote {
  /**
   * USD mid of the equity quote.
   * Example: `371.615`
   */
  underlyingMid: string;
  /**
   * Underlying mid times the multiplier: USD per token.
   * Example: `371.615`
   */
  tokenMid: string;
  /** Example: `USD` */
  currency: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
}

export interface Token {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Example: `Apple` */
  name: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  address: string | null;
  /** Example: `4663` */
  chainId: number;
  /** Example: `18` */
  decimals: number;
  /**
   * Underlying shares that one token represents.
   * Example: `1.000566080061092436`
   */
  multiplier: string;
  /** Example: `ASSET_STATUS_ACTIVE` */
  status: string;
  /**
   * Empty when unknown.
   * Example: `https://cdn.example/logos/aapl.png`
   */
  logoUrl: string;
  /**
   * ISIN of the underlying.
   * Example: `US0378331005`
   */
  isin: string;
  /**
   * Underlying shares that one token represents.
   * Example: `1.000566080061092436`
   */
  pendingMultiplier: string | null;
  tradingCapabilities: unknown;
  price: TokenQuote | null;
}

export interface Research {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Null when no company files under the ticker. */
  underlying: Underlying | null;
  facts: Facts;
  token: Token;
  /** Example: `["10-K filed 2025-10-31, accession number 0000320193-25-000079"]` */
  sources: string[];
  /** Why a figure is missing, or what to know about one. */
  note: string | null;
}

export interface ExplainedCandidate {
  /**
   * As tagged; a sum names its parts.
   * Example: `us-gaap:Revenues`
   */
  concept: string;
  /**
   * Null when it could not be read.
   * Example: `391035000000`
   */
  value: number | null;
  /** Example: `USD` */
  unit: string;
  /**
   * Null for a count or value of one day.
   * Example: `2025-09-27`
   */
  periodStart: string | null;
  /** Example: `2025-09-27` */
  periodEnd: string;
  /**
   * Type of the filing that reports it.
   * Example: `10-K`
   */
  form: string;
  /**
   * Number of the filing.
   * Example: `0000320193-25-000079`
   */
  accession: string;
  /** Example: `2025-09-27` */
  filed: string;
  /**
   * The filing in the public database.
   * Example: `https://cdn.example/filings/0000320193-25-000079-index.htm`
   */
  filingUrl: string;
  verdict: "chosen" | "rejected";
  /** Example: `The total: gross profit and cost of sales give the same amount.` */
  reason: string;
}

export interface ExplainedFact {
  /** Null when no candidate can be trusted. */
  chosen: ExplainedCandidate | null;
  candidates: ExplainedCandidate[];
}

export interface ExplainedFacts {
  revenue: ExplainedFact;
  netIncome: ExplainedFact;
  sharesOutstanding: ExplainedFact;
  marketCap: ExplainedFact;
}

export interface Explanation {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
  /** Example: `Apple Inc.` */
  companyName: string | null;
  /**
   * The place, in words.
   * Example: `California`
   */
  incorporatedIn: string | null;
  facts: ExplainedFacts;
  /** As in research: why a figure is missing, or what to know about one. */
  note: string | null;
}

export interface EarlierFigure {
  /**
   * Exact, in units.
   * Example: `391035000000`
   */
  value: number;
  /**
   * Type of the filing that reports it.
   * Example: `10-K`
   */
  form: string;
  /**
   * Number of the filing.
   * Example: `0000320193-25-000079`
   */
  accession: string;
  /** Example: `2025-09-27` */
  filed: string;
}

export interface SeriesFigure {
  /**
   * Null when it is not known; `reason` says why.
   * Example: `391035000000`
   */
  value: number | null;
  /** Example: `USD` */
  unit: string | null;
  /** Example: `us-gaap:Revenues` */
  concept: string | null;
  /**
   * Type of the filing that reports it.
   * Example: `10-K`
   */
  form: string | null;
  /**
   * Number of the filing.
   * Example: `0000320193-25-000079`
   */
  accession: string | null;
  /** Example: `2025-09-27` */
  filed: string | null;
  /** Why there is no value, or what to know about it. */
  reason: string | null;
  /** What earlier filings of the period said otherwise. */
  earlier: EarlierFigure[];
}

export interface FinancialPeriod {
  /** Example: `2025-09-27` */
  periodStart: string;
  /** Example: `2025-09-27` */
  periodEnd: string;
  /**
   * Of a year; null for a quarter.
   * Example: `2025`
   */
  fiscalYear: number | null;
  revenue: SeriesFigure;
  netIncome: SeriesFigure;
  dilutedEps: SeriesFigure;
  /** The average number of the period, diluted where it is tagged. */
  shares: SeriesFigure;
}

export interface TrailingYear {
  /** Example: `2025-09-27` */
  periodStart: string | null;
  /** Example: `2025-09-27` */
  periodEnd: string | null;
  revenue: SeriesFigure;
  netIncome: SeriesFigure;
}

export interface Ratio {
  /**
   * Four decimals, rounded down.
   * Example: `31.2045`
   */
  value: string | null;
  /** Why there is none. */
  reason: string | null;
}

export interface Ratios {
  /** Market cap over trailing net income. */
  priceToEarnings: Ratio;
  /** Market cap over trailing revenue. */
  priceToSales: Ratio;
}

export interface Financials {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
  /** Newest first. */
  annual: FinancialPeriod[];
  /** Newest first. */
  quarterly: FinancialPeriod[];
  trailing: TrailingYear;
  ratios: Ratios;
  /** As in research. */
  note: string | null;
}

export interface Quote {
  side: "buy" | "sell";
  mode: "exactIn" | "exactOut";
  /**
   * Hundredths of a basis point: 500 is 0.05 %.
   * Example: `500`
   */
  feeTier: number;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  usdAmount: string;
  /**
   * Whole tokens, exact.
   * Example: `3.25`
   */
  tokenAmount: string;
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  effectivePricePerToken: string | null;
  /**
   * Gas units of the router call, an estimate.
   * Example: `152000`
   */
  gasEstimate: string;
  venue: "dex-v3";
  pair: "TOKEN/USDG";
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  tokenAddress: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
}

export interface Position {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Example: `Apple` */
  name: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  address: string;
  /**
   * Whole tokens, exact.
   * Example: `3.25`
   */
  balance: string;
  /** Example: `18` */
  decimals: number;
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  usdPrice: string | null;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  usdValue: string | null;
}

export interface Portfolio {
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  address: string;
  /** Example: `4663` */
  chainId: number;
  positions: Position[];
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  totalUsdValue: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
}

export interface Candle {
  /**
   * When the candle opened, UTC.
   * Example: `2026-10-03T14:00:00Z`
   */
  t: string;
  /**
   * Dollars.
   * Example: `371.615`
   */
  open: number;
  /**
   * Dollars.
   * Example: `371.615`
   */
  high: number;
  /**
   * Dollars.
   * Example: `371.615`
   */
  low: number;
  /**
   * Dollars.
   * Example: `371.615`
   */
  close: number;
  /**
   * How many 5-minute samples the candle holds.
   * Example: `12`
   */
  ticks: number;
}

export interface History {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  interval: "15m" | "1d" | "1h" | "4h" | "5m";
  /** Example: `dex-v3 TOKEN/USDG deepest pool, sampled every 5 minutes` */
  source: string;
  /**
   * The first sample of this symbol.
   * Example: `2026-10-03T14:23:10.223Z`
   */
  historySince: string | null;
  candles: Candle[];
}

export interface QuoteDetails {
  side: "buy" | "sell";
  mode: "exactIn" | "exactOut";
  /**
   * Hundredths of a basis point: 500 is 0.05 %.
   * Example: `500`
   */
  feeTier: number;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  usdAmount: string;
  /**
   * Whole tokens, exact.
   * Example: `3.25`
   */
  tokenAmount: string;
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  effectivePricePerToken: string | null;
  /**
   * Gas units of the router call, an estimate.
   * Example: `152000`
   */
  gasEstimate: string;
  venue: "dex-v3";
  pair: "TOKEN/USDG";
}

export interface TransactionStep {
  /** Example: `Approve the router to spend exactly 100.500000 USDG.` */
  description: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  to: string;
  /**
   * Calldata.
   * Example: `0x095ea7b3`
   */
  data: string;
  /**
   * Native value in wei, always 0.
   * Example: `0`
   */
  value: string;
}

export interface TradeBuild {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  tokenAddress: string;
  /** Example: `4663` */
  chainId: number;
  quote: QuoteDetails;
  /** Example: `50` */
  slippageBps: number;
  /**
   * Unix seconds after which the swap reverts.
   * Example: `1791037390`
   */
  deadline: number;
  steps: TransactionStep[];
  /** Example: `One step: the swap, which buys AAPL for USDG.` */
  note: string;
}

export interface Asset {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Example: `Apple` */
  name: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  address: string | null;
  /** Example: `4663` */
  chainId: number;
  /** Example: `18` */
  decimals: number;
  /**
   * Underlying shares that one token represents.
   * Example: `1.000566080061092436`
   */
  multiplier: string;
  /** Example: `ASSET_STATUS_ACTIVE` */
  status: string;
  /**
   * Empty when unknown.
   * Example: `https://cdn.example/logos/aapl.png`
   */
  logoUrl: string;
  /**
   * ISIN of the underlying.
   * Example: `US0378331005`
   */
  isin: string;
}

export interface Assets {
  assets: Asset[];
  /** Example: `194` */
  count: number;
}

export interface AssetDetail {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Example: `Apple` */
  name: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  address: string | null;
  /** Example: `4663` */
  chainId: number;
  /** Example: `18` */
  decimals: number;
  /**
   * Underlying shares that one token represents.
   * Example: `1.000566080061092436`
   */
  multiplier: string;
  /** Example: `ASSET_STATUS_ACTIVE` */
  status: string;
  /**
   * Empty when unknown.
   * Example: `https://cdn.example/logos/aapl.png`
   */
  logoUrl: string;
  /**
   * ISIN of the underlying.
   * Example: `US0378331005`
   */
  isin: string;
  /**
   * Underlying shares that one token represents.
   * Example: `1.000566080061092436`
   */
  pendingMultiplier: string | null;
  tradingCapabilities: unknown;
}

export interface FoundAsset {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Example: `Apple` */
  name: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  address: string | null;
  /**
   * ISIN of the underlying.
   * Example: `US0378331005`
   */
  isin: string;
  /**
   * What of it the query was found in.
   * Example: `name`
   */
  match: "address" | "isin" | "name" | "symbol";
}

export interface FoundAssets {
  /** Example: `apple` */
  query: string;
  /** Example: `1` */
  count: number;
  assets: FoundAsset[];
}

export interface UnderlyingPrice {
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  bid: string;
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  ask: string;
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  mid: string;
}

export interface TokenPrice {
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  bid: string;
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  ask: string;
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  mid: string;
  /**
   * Underlying shares that one token represents.
   * Example: `1.000566080061092436`
   */
  multiplier: string;
}

export interface PriceRecord {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Example: `USD` */
  currency: string;
  underlying: UnderlyingPrice;
  token: TokenPrice;
  halted: boolean;
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
  /**
   * Per underlying share.
   * Example: `374.6`
   */
  dailyHigh: string | null;
  /**
   * Per underlying share.
   * Example: `374.6`
   */
  dailyLow: string | null;
  /**
   * Underlying shares traded today.
   * Example: `55329941`
   */
  dailyTradingVolume: string | null;
}

export interface PlainPrice {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Example: `USD` */
  currency: string;
  underlying: UnderlyingPrice;
  token: TokenPrice;
  halted: boolean;
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
}

export interface ErrorDetail {
  code: string;
  message: string;
}

export interface PriceItem {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  price: PlainPrice | null;
  /** Why this one has no answer; null when it has one. */
  error: ErrorDetail | null;
}

export interface Prices {
  prices: PriceItem[];
  /** Example: `2` */
  count: number;
}

export interface Supply {
  /**
   * Whole tokens, exact.
   * Example: `3.25`
   */
  totalTokens: string | null;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  valueUsd: string | null;
}

export interface StatsPrice {
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  dexUsd: string | null;
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  equityTokenUsd: string;
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  underlyingMidUsd: string;
  /**
   * Underlying shares that one token represents.
   * Example: `1.000566080061092436`
   */
  multiplier: string;
  /**
   * Percent with four decimals.
   * Example: `-0.1250`
   */
  dexPremiumPct: string | null;
  /**
   * Percent with four decimals.
   * Example: `-0.1250`
   */
  change24hPct: string | null;
}

export interface PoolStats {
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  pool: string;
  /**
   * Hundredths of a basis point: 500 is 0.05 %.
   * Example: `500`
   */
  feeTier: number;
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  price: string | null;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  usdgLiquidity: string;
  /**
   * Whole tokens, exact.
   * Example: `3.25`
   */
  tokenLiquidity: string;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  tvlUsd: string;
}

export interface Stats {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Example: `Apple` */
  name: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  tokenAddress: string | null;
  /** Example: `4663` */
  chainId: number;
  supply: Supply;
  price: StatsPrice;
  pools: PoolStats[];
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
}

export interface StatsItem {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  stats: Stats | null;
  /** Why this one has no answer; null when it has one. */
  error: ErrorDetail | null;
}

export interface ManyStats {
  stats: StatsItem[];
  /** Example: `2` */
  count: number;
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
}

export interface CorporateAction {
  /**
   * Ours, and stable.
   * Example: `ca_0d6be69b264717f2dd33652e`
   */
  id: string;
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Example: `CORPORATE_ACTION_TYPE_CASH_DIVIDEND` */
  type: string;
  /** Example: `CORPORATE_ACTION_STATUS_COMPLETED` */
  status: string;
  /** Example: `2026-09-10` */
  processDate: string | null;
  /**
   * The issuer's.
   * Example: `{"cashDividend": {"underlyingSymbol": "AAPL", "rate": "0.26"}}`
   */
  details: Record<string, unknown>;
  /** Example: `2026-10-03T14:23:10.223Z` */
  firstSeenAt: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  updatedAt: string;
}

export interface CorporateActions {
  corpActions: CorporateAction[];
  /** Example: `1` */
  count: number;
  /**
   * When the issuer's list was last read; null: never yet.
   * Example: `2026-10-03T14:23:10.223Z`
   */
  asOf: string | null;
}

export interface MarketRow {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  pair: "TOKEN/USDG";
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  pool: string;
  /**
   * Hundredths of a basis point: 500 is 0.05 %.
   * Example: `500`
   */
  feeTier: number;
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  price: string | null;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  usdgLiquidity: string;
  /**
   * Whole tokens, exact.
   * Example: `3.25`
   */
  tokenLiquidity: string;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  tvlUsd: string;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  depthUsd: string;
}

export interface Markets {
  venue: "dex-v3";
  /** Example: `4663` */
  chainId: number;
  /** Example: `50` */
  count: number;
  /** Example: `300` */
  total: number;
  markets: MarketRow[];
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
}

export interface Event {
  /** Example: `vote_0d6be69b264717f2dd33652e` */
  id: string;
  /** Example: `votes feed` */
  source: string;
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Example: `ANNUAL_MEETING` */
  type: string | null;
  /** Example: `OPEN` */
  status: string | null;
  /** Example: `2026-11-20` */
  processDate: string | null;
  /** What else the feed says of it. */
  details: Record<string, unknown>;
}

export interface VotingState {
  live: boolean;
  /** Example: `Not live: there is no votes feed yet.` */
  status: string;
}

export interface VoteList {
  events: Event[];
  /** The feed's own data; null while it is not live. */
  upstreamVotes: unknown;
  voting: VotingState;
}

export interface VotePosition {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /**
   * Whole tokens, exact.
   * Example: `3.25`
   */
  tokenBalance: string;
  /**
   * Underlying shares that one token represents.
   * Example: `1.000566080061092436`
   */
  multiplier: string;
  /**
   * Shares with six decimals, rounded down.
   * Example: `3.251839`
   */
  shareEquivalent: string;
}

export interface VotePower {
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  address: string;
  /** Example: `4663` */
  chainId: number;
  positions: VotePosition[];
  /**
   * Shares with six decimals, rounded down.
   * Example: `3.251839`
   */
  totalShareEquivalent: string;
}

export interface CreatedAlert {
  /**
   * The alert's id.
   * Example: `5d1c4f0be2a94b7c8e0f6a7d3b2c1a90`
   */
  id: string;
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  condition: "above" | "below";
  /**
   * Dollars per token.
   * Example: `371.615`
   */
  price: number;
  status: "active" | "cancelled" | "expired" | "fired";
  /** Example: `2026-10-03T14:23:10.223Z` */
  expiresAt: string;
  /** Shown once. The sole credential of the alert; webhooks carry it too. */
  secret: string;
}

export interface AlertRecord {
  /**
   * The alert's id.
   * Example: `5d1c4f0be2a94b7c8e0f6a7d3b2c1a90`
   */
  id: string;
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  condition: "above" | "below";
  /**
   * Dollars per token.
   * Example: `371.615`
   */
  price: number;
  status: "active" | "cancelled" | "expired" | "fired";
  /** Example: `2026-10-03T14:23:10.223Z` */
  expiresAt: string;
  /**
   * Public HTTPS address that receives the one POST; port 443 or 8443.
   * Example: `https://hooks.example.com/alerts`
   */
  webhookUrl: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  createdAt: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  firedAt: string | null;
  /**
   * Dollars per token.
   * Example: `371.615`
   */
  firedPrice: number | null;
  delivery: "delivered" | "failed" | "pending" | "unknown" | null;
}

export interface EarnToken {
  /** Example: `TICK` */
  symbol: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  address: string;
  /** Example: `4663` */
  chainId: number;
  decimals: number;
}

export interface PayoutAsset {
  /** Example: `USDG` */
  symbol: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  address: string;
  decimals: number;
}

export interface Schedule {
  /** Example: `23:00` */
  snapshotUtc: string;
  /** Example: `23:00` */
  claimOpenUtc: string;
  /** Example: `23:00` */
  claimCloseUtc: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  nextSnapshotAt: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  nextClaimOpenAt: string;
}

/** The pool of the day, as far as it is known. */
export interface Accruing {
  /**
   * The day of the snapshot as YYYYMMDD.
   * Example: `20261115`
   */
  epoch: number;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  revenueUsd: string;
  /** Settled paid calls behind the revenue. */
  calls: number;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  rolloverUsd: string;
}

export interface EpochState {
  /**
   * The day of the snapshot as YYYYMMDD.
   * Example: `20261115`
   */
  id: number;
  /** Null until the pool is sealed at 00:00 UTC. */
  poolUsd: string | null;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  revenueUsd: string | null;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  rolloverUsd: string | null;
  eligibleWallets: number;
  /** Example: `2026-10-03T14:23:10.223Z` */
  claimOpenAt: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  claimCloseAt: string;
  claimOpen: boolean;
  claimedWallets: number;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  claimedUsd: string;
}

export interface Earn {
  token: EarnToken;
  /**
   * Whole tokens, exact.
   * Example: `3.25`
   */
  thresholdTokens: string;
  payoutAsset: PayoutAsset;
  schedule: Schedule;
  accruing: Accruing;
  /** The newest epoch with a snapshot; null before the first. */
  epoch: EpochState | null;
}

export interface WalletEpoch {
  /**
   * The day of the snapshot as YYYYMMDD.
   * Example: `20261115`
   */
  id: number;
  /** Example: `2026-10-03T14:23:10.223Z` */
  claimOpenAt: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  claimCloseAt: string;
  claimOpen: boolean;
  inSnapshot: boolean;
  /** The wallet's share; null until the pool is sealed. */
  claimableUsd: string | null;
  claimed: boolean;
  /**
   * Hash of the payout transaction.
   * Example: `0x9f2c1d5be8a04c6f9f2c1d5be8a04c6f9f2c1d5be8a04c6f9f2c1d5be8a04c6f`
   */
  claimTx: string | null;
  /** Sign exactly this with personal_sign. */
  message: string;
  /**
   * Or sign this with eth_signTypedData_v4.
   * Example: `{"primaryType": "Claim"}`
   */
  typedData: Record<string, unknown>;
}

export interface WalletStatus {
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  address: string;
  /**
   * Whole tokens, exact.
   * Example: `3.25`
   */
  balanceTokens: string;
  eligibleNow: boolean;
  epoch: WalletEpoch;
}

export interface Claimed {
  ok: boolean;
  /**
   * The day of the snapshot as YYYYMMDD.
   * Example: `20261115`
   */
  epoch: number;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  address: string;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  amountUsd: string;
  /**
   * Hash of the payout transaction.
   * Example: `0x9f2c1d5be8a04c6f9f2c1d5be8a04c6f9f2c1d5be8a04c6f9f2c1d5be8a04c6f`
   */
  tx: string;
  status: "confirmed" | "sent";
}

/** One wallet of the snapshot. */
export interface BookLine {
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  address: string;
  /**
   * Base units at the snapshot.
   * Example: `2000000000000000000000000`
   */
  balance: string;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  shareUsd: string | null;
  claim: "confirmed" | "failed" | "reserved" | "sent" | null;
  /**
   * Hash of the payout transaction.
   * Example: `0x9f2c1d5be8a04c6f9f2c1d5be8a04c6f9f2c1d5be8a04c6f9f2c1d5be8a04c6f`
   */
  tx: string | null;
}

export interface EpochBooks {
  /**
   * The day of the snapshot as YYYYMMDD.
   * Example: `20261115`
   */
  id: number;
  state: "closed" | "open" | "sealed" | "snapshot";
  blockNumber: number | null;
  blockHash: string;
  provenAtBlock: number;
  /** SHA-256 of books.csv, which the desk on the chain keeps; null until the pool is sealed. */
  digest: string | null;
  /** The contract that keeps its hash and pays it, whichever one pays by now; null until then. */
  desk: string | null;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  revenueUsd: string | null;
  calls: number;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  rolloverUsd: string | null;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  poolUsd: string | null;
  eligibleWallets: number;
  eligibleTotal: string;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  paidUsd: string;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  inFlightUsd: string;
  /** Null until the window is closed. */
  rolledOverUsd: string | null;
  /**
   * Claims that failed for good after the closing.
   * Example: `1250.000000`
   */
  returnedLaterUsd: string;
  /** paid + in flight + rolled over + returned later = pool; null until the window is closed. */
  balanced: boolean | null;
  /** Example: `2026-10-03T14:23:10.223Z` */
  sealedAt: string | null;
  /** Example: `2026-10-03T14:23:10.223Z` */
  closedAt: string | null;
  wallets: BookLine[];
  /**
   * Null: these were the last.
   * Example: `0xaf3d76f1834a1d425780943c99ea8a608f8a93f9`
   */
  nextCursor: string | null;
}

/** The payout account, from whose balance the desk pays. */
export interface Payer {
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  address: string;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  usdg: string;
  /**
   * Whole tokens, exact.
   * Example: `3.25`
   */
  eth: string;
  /**
   * What the desk may move; an unlimited one is shown as it is.
   * Example: `1250.000000`
   */
  allowance: string;
}

export interface ReservedEpoch {
  /**
   * The day of the snapshot as YYYYMMDD.
   * Example: `20261115`
   */
  id: number;
  /**
   * SHA-256 of books.csv, in hex digits.
   * Example: `9f2c1d5be8a04c6f9f2c1d5be8a04c6f9f2c1d5be8a04c6f9f2c1d5be8a04c6f`
   */
  booksHash: string | null;
  /** What the desk keeps; null: not opened there. */
  onChainBooksHash: string | null;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  poolUsd: string;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  paidUsd: string;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  onChainPaidUsd: string;
}

export interface Reserves {
  blockNumber: number;
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  desk: string;
  payer: Payer;
  /**
   * Claimed in closed epochs, and neither paid nor returned; the rest is in sealedUsd.
   * Example: `1250.000000`
   */
  owedUsd: string;
  /**
   * Pools that are sealed and not closed yet.
   * Example: `1250.000000`
   */
  sealedUsd: string;
  /**
   * Paid at a final block, over all epochs.
   * Example: `1250.000000`
   */
  paidUsd: string;
  epochs: ReservedEpoch[];
}

export interface SettledPayment {
  /** Example: `0x9f2c1d5be8a04c6f73f0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6` */
  transaction: string;
  /** Example: `eip155:8453` */
  network: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  asset: string;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  amountUsd: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  payer: string;
  /**
   * The paid route it bought.
   * Example: `GET /v1/x402/quote`
   */
  route: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  settledAt: string;
  /** settled: reported by the facilitator; confirmed: its transfer was seen on the chain by us. */
  status: "confirmed" | "settled";
}

export interface PriceMove {
  /**
   * By how many percent the price moves.
   * Example: `1.0000`
   */
  movePct: string;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  usdg: string;
  /**
   * Whole tokens, exact.
   * Example: `3.25`
   */
  tokens: string;
}

export interface PoolDepth {
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  pool: string;
  /**
   * Hundredths of a basis point: 500 is 0.05 %.
   * Example: `500`
   */
  feeTier: number;
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  price: string | null;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  depthUsd: string;
  up: PriceMove[];
  down: PriceMove[];
}

export interface AllDepth {
  up: PriceMove[];
  down: PriceMove[];
}

export interface LargestTrade {
  /**
   * The most USDG that may be spent in one trade.
   * Example: `1250.000000`
   */
  buyUsd: string;
  /**
   * The most tokens that may be sold in one trade.
   * Example: `3.25`
   */
  sellTokens: string;
}

export interface Depth {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Example: `4663` */
  chainId: number;
  /**
   * The block that all of it was read at.
   * Example: `48211075`
   */
  blockNumber: number;
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
  pools: PoolDepth[];
  all: AllDepth;
  largest: LargestTrade | null;
}

export interface QuotesItem {
  quote: Quote | null;
  /** Why this one has no answer; null when it has one. */
  error: ErrorDetail | null;
}

export interface Quotes {
  /**
   * The block that all of it was read at.
   * Example: `48211075`
   */
  blockNumber: number;
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
  /** Example: `1` */
  count: number;
  quotes: QuotesItem[];
}

export interface Sum {
  /**
   * Base units.
   * Example: `99500000`
   */
  raw: string;
  /** Example: `99.500000` */
  text: string;
  /** Example: `USDG` */
  unit: string;
}

export interface GasFigure {
  /**
   * Gas of all steps.
   * Example: `152000`
   */
  units: string;
  /**
   * Base units.
   * Example: `99500000`
   */
  wei: string;
  /** Example: `0.0000152` */
  eth: string;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  usd: string | null;
}

export interface Figures {
  minimumReceived: Sum | null;
  maximumPaid: Sum | null;
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  spotPrice: string;
  /** Example: `0.3012` */
  priceImpactPct: string | null;
  /**
   * Positive is worse than the equity quote.
   * Example: `-0.1200`
   */
  premiumPct: string | null;
  /**
   * Dollars with six decimals.
   * Example: `1250.000000`
   */
  poolFeeUsdg: string;
  gas: GasFigure;
  /**
   * The block that all of it was read at.
   * Example: `48211075`
   */
  blockNumber: number;
  /** Example: `0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a` */
  blockHash: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  expiresAt: string;
}

export interface Issue {
  code: "allowance_short" | "balance_short" | "gas_short" | "halted" | "impact_high" | "inactive" | "multiplier_pending" | "pool_shallow" | "premium_high" | "quote_unreadable" | "recipient_blocked" | "slippage_wide" | "token_paused";
  severity: "error" | "info" | "warning";
  /** Example: `The recipient holds only 5.000000 USDG: the swap may revert.` */
  message: string;
}

export interface Reason {
  code: "allowance_short" | "balance_short" | "gas_short" | "other" | "out_of_gas_or_assertion" | "pool_refused" | "recipient_blocked" | "token_paused" | "too_little_received" | "too_much_requested" | "transaction_too_old" | "transfer_failed";
  /** Example: `Too little received: less would come out than the bound allows.` */
  message: string;
  /**
   * What the contract reverted with.
   * Example: `0x095ea7b3`
   */
  data: string;
}

export interface SimulatedStep {
  /** Example: `Buy AAPL in the 0.05 % pool.` */
  description: string;
  success: boolean;
  /** Example: `152000` */
  gasUsed: string;
  reason: Reason | null;
}

export interface BalanceChange {
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  account: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  token: string;
  /** Example: `USDG` */
  unit: string;
  /**
   * Base units.
   * Example: `99500000`
   */
  before: string;
  /**
   * Base units.
   * Example: `99500000`
   */
  after: string;
  /**
   * Base units.
   * Example: `-100000000`
   */
  change: string;
}

export interface Simulation {
  success: boolean;
  steps: SimulatedStep[];
  balanceChanges: BalanceChange[];
}

export interface WalletCall {
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  to: string;
  /** Example: `0x095ea7b3` */
  data: string;
  /** Example: `0x0` */
  value: string;
}

/** The parameter of `wallet_sendCalls` (EIP-5792). */
export interface SendCalls {
  version: "2.0.0";
  /** Example: `0x0` */
  chainId: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  from: string;
  atomicRequired: boolean;
  calls: WalletCall[];
}

export interface UnsignedTransaction {
  type: "0x2";
  /** Example: `0x0` */
  chainId: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  from: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  to: string;
  /** Example: `0x095ea7b3` */
  data: string;
  /** Example: `0x0` */
  value: string;
  /** Example: `0x0` */
  gas: string;
  /** Example: `0x0` */
  maxFeePerGas: string;
  /** Example: `0x0` */
  maxPriorityFeePerGas: string;
}

export interface Calls {
  sendCalls: SendCalls;
  transactions: UnsignedTransaction[];
}

export interface ReadApproval {
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  token: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  spender: string;
  /**
   * Base units.
   * Example: `99500000`
   */
  amount: string;
}

export interface ReadSwap {
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  router: string;
  mode: "exactIn" | "exactOut";
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  tokenIn: string;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  tokenOut: string;
  /**
   * Hundredths of a basis point: 500 is 0.05 %.
   * Example: `500`
   */
  feeTier: number;
  /** Example: `0xaF3D76f1834A1d425780943C99Ea8A608f8a93f9` */
  recipient: string;
  /**
   * In (exactIn) or out (exactOut).
   * Example: `99500000`
   */
  amount: string;
  /**
   * Minimum out (exactIn) or maximum in (exactOut).
   * Example: `99500000`
   */
  bound: string;
  /** Example: `0` */
  priceLimit: string;
  /** Example: `1791037390` */
  deadline: number;
}

export interface Decoded {
  approval: ReadApproval | null;
  swap: ReadSwap;
}

export interface TradeCheck {
  build: TradeBuild;
  figures: Figures;
  issues: Issue[];
  simulation: Simulation | null;
  /** Example: `The node refused to run the steps.` */
  simulationNote: string | null;
  calls: Calls;
  decoded: Decoded;
  /**
   * The block that all of it was read at.
   * Example: `48211075`
   */
  blockNumber: number;
  /** Example: `0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a` */
  blockHash: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
}

export interface BlockStatus {
  /** Example: `48211075` */
  number: number;
  /** Example: `2026-10-03T14:23:10.223Z` */
  at: string;
  /** Example: `12` */
  lagSeconds: number;
}

export interface Upstream {
  /** Example: `issuer` */
  name: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  lastOkAt: string | null;
  /** Example: `12` */
  ageSeconds: number | null;
}

export interface Coverage {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /** Example: `287` */
  samples: number;
}

export interface SuspectSample {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  price: string;
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  equityTokenUsd: string;
}

export interface Status {
  /** Example: `4663` */
  chainId: number;
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
  block: BlockStatus | null;
  upstreams: Upstream[];
  /** Example: `2026-10-03T14:23:10.223Z` */
  lastSlot: string | null;
  /** Example: `288` */
  slotsPerDay: number;
  coverage24h: Coverage[];
  /** Samples of the newest round that lay over 25 % off the equity quote of an open market. */
  suspect: SuspectSample[];
}

/** What the receiver gets. Prices are those of the recorded sample. */
export interface AlertEvent {
  type: "price_alert";
  id: string;
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  condition: "above" | "below";
  /**
   * Dollars per token.
   * Example: `371.615`
   */
  threshold: number;
  /**
   * Dollars per token.
   * Example: `371.615`
   */
  price: number;
  source: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  firedAt: string;
}

/** A symbol's deepest pool has moved. */
export interface StreamPrice {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /**
   * Dollars, at most 18 decimals.
   * Example: `371.615`
   */
  price: string;
  /** Over the equity quote; null while the issuer quotes nothing. */
  premiumPct: string | null;
  /** Example: `48211075` */
  blockNumber: number;
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
}

export interface StreamSnapshotPrice {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /**
   * Dollars.
   * Example: `371.615`
   */
  price: number;
  /** What was last told of it; null while nobody follows it. */
  live: StreamPrice | null;
}

/** How things stood when you came. */
export interface StreamSnapshot {
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
  /** Example: `4663` */
  chainId: number;
  /** Example: `2026-10-03T14:23:10.223Z` */
  lastSlot: string | null;
  prices: StreamSnapshotPrice[];
}

export interface StreamSample {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /**
   * Dollars.
   * Example: `371.615`
   */
  price: number;
  /** Over 25 % off the equity quote of an open market. */
  suspect: boolean;
}

/** A round was recorded. */
export interface StreamSamples {
  /** Example: `2026-10-03T14:23:10.223Z` */
  slot: string;
  /** Example: `48211075` */
  blockNumber: number;
  samples: StreamSample[];
}

export interface StreamCandle {
  /**
   * Canonical ticker.
   * Example: `AAPL`
   */
  symbol: string;
  /**
   * Dollars.
   * Example: `371.615`
   */
  open: number;
  /**
   * Dollars.
   * Example: `371.615`
   */
  high: number;
  /**
   * Dollars.
   * Example: `371.615`
   */
  low: number;
  /**
   * Dollars.
   * Example: `371.615`
   */
  close: number;
  /** How many 5-minute samples the candle holds. */
  ticks: number;
}

/** Candles have closed. */
export interface StreamCandles {
  interval: "15m" | "1d" | "1h" | "4h" | "5m";
  /**
   * When the candle opened, UTC.
   * Example: `2026-10-03T14:00:00Z`
   */
  t: string;
  candles: StreamCandle[];
}

/** After each round. */
export interface StreamStatus {
  /** Example: `2026-10-03T14:23:10.223Z` */
  asOf: string;
  /** Example: `2026-10-03T14:23:10.223Z` */
  lastSlot: string;
  sampled: number;
  suspect: string[];
  /** Example: `48211075` */
  blockNumber: number;
}

/** What you missed cannot be told again; a snapshot follows. */
export interface StreamGap {
  reason: string;
}

/** The events of the stream. */
export interface StreamData {
  snapshot: StreamSnapshot;
  price: StreamPrice;
  sample: StreamSamples;
  candle: StreamCandles;
  status: StreamStatus;
  gap: StreamGap;
  action: CorporateAction;
}
