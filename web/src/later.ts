// Shapes of routes that a service may have or not; each is used only when the index lists it.
export interface Step {
  movePct: string;
  usdg: string;
  tokens: string;
}

export interface Depth {
  symbol: string;
  blockNumber: number;
  asOf: string;
  pools: { pool: string; feeTier: number; price: string | null; depthUsd: string; up: Step[]; down: Step[] }[];
  all: { up: Step[]; down: Step[] };
  largest: { buyUsd: string; sellTokens: string } | null;
}

export interface Candidate {
  concept: string;
  value: number | null;
  unit: string;
  periodStart: string | null;
  periodEnd: string;
  form: string;
  accession: string;
  filed: string;
  verdict: string;
  reason: string;
}

export interface Explanation {
  symbol: string;
  asOf: string;
  facts: Record<string, { chosen: Candidate | null; candidates: Candidate[] }>;
}

export interface SeriesFigure {
  value: number | null;
  unit: string | null;
  reason: string | null;
}

export interface Period {
  periodStart: string;
  periodEnd: string;
  fiscalYear: number | null;
  revenue: SeriesFigure;
  netIncome: SeriesFigure;
}

export interface Ratio {
  value: string | null;
  reason: string | null;
}

export interface Financials {
  symbol: string;
  annual: Period[];
  quarterly: Period[];
  ratios: { priceToEarnings: Ratio; priceToSales: Ratio };
}

export interface Check {
  build: import('tickyard').TradeBuild;
  issues: { code: string; severity: string; message: string }[];
  simulation: { success: boolean; steps: { description: string; success: boolean; reason: { message: string } | null }[] } | null;
  simulationNote: string | null;
}

export interface Reserves {
  blockNumber: number;
  asOf: string;
  desk: string;
  payer: { address: string; usdg: string; eth: string; allowance: string };
  owedUsd: string;
  sealedUsd: string;
  paidUsd: string;
  epochs: { id: number; booksHash: string | null; onChainBooksHash: string | null; poolUsd: string; paidUsd: string; onChainPaidUsd: string }[];
}
