// What the company says of itself, where each figure comes from, and why it was chosen.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ExplainedCandidate, ExplainedFacts, Ratio } from 'tickyard';
import { client, useAsk } from './api';
import { price, short } from './figures';
import { Card, Choice, Facts, Shown } from './parts';

const NAMES: [keyof ExplainedFacts, string][] = [['revenue', 'Revenue'], ['netIncome', 'Net income'], ['sharesOutstanding', 'Shares'], ['marketCap', 'Market cap']];

export function Research({ symbol }: { symbol: string }): JSX.Element {
  const research = useAsk(`research ${symbol}`, (signal) => client.getResearch({ symbol }, { signal }), 60_000);
  return (
    <>
      <Card title="Company">
        <Shown of={research} what="research" rows={4}>
          {({ underlying, facts, sources, note }) => (
            <>
              {underlying ? (
                <>
                  <p class="lead">{underlying.companyName}{underlying.industry ? ` · ${underlying.industry}` : ''}{underlying.exchange ? ` · ${underlying.exchange}` : ''}</p>
                  <Facts
                    of={[
                      ['Revenue', facts.revenue ? <>{money(facts.revenue.value, facts.revenue.unit)} <small>to {facts.revenue.periodEnd}, {facts.revenue.form}</small></> : 'not known'],
                      ['Net income', facts.netIncome ? <>{money(facts.netIncome.value, facts.netIncome.unit)} <small>to {facts.netIncome.periodEnd}, {facts.netIncome.form}</small></> : 'not known'],
                      ['Shares outstanding', facts.sharesOutstanding ? <>{short(facts.sharesOutstanding.value)} <small>on {facts.sharesOutstanding.asOf}</small></> : 'not known'],
                      ['Market cap', facts.marketCap ? money(facts.marketCap.value, 'USD') : 'not known'],
                    ]}
                  />
                  {facts.marketCap && <p class="legend">Market cap: {facts.marketCap.basis}.</p>}
                </>
              ) : (
                <p class="lead">No filer of its own: a fund or a trust.</p>
              )}
              {note && <p class="note">{note}</p>}
              {sources.length > 0 && <p class="legend">Sources: {sources.join(' · ')}</p>}
            </>
          )}
        </Shown>
        <Why symbol={symbol} />
      </Card>
      <Bars symbol={symbol} />
    </>
  );
}

function Why({ symbol }: { symbol: string }): JSX.Element {
  const [open, setOpen] = useState(false);
  const why = useAsk(open ? `explain ${symbol}` : null, (signal) => client.explainResearch({ symbol }, { signal }));
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Why these figures</summary>
      {open && (
        <Shown of={why} what="explanations">
          {({ facts }) => (
            <>
              {NAMES.map(([key, label]) => <Candidates key={key} label={label} of={facts[key].candidates} />)}
            </>
          )}
        </Shown>
      )}
    </details>
  );
}

function Candidates({ label, of }: { label: string; of: ExplainedCandidate[] }): JSX.Element {
  return (
    <>
      <h3>{label}</h3>
      <ul class="list">
        {of.slice(0, 12).map((each, index) => (
          <li key={index}>
            <span class={`mark ${each.verdict === 'chosen' ? 'good' : ''}`}>{each.verdict}</span> <span class="figure">{money(each.value, each.unit)}</span> {each.concept}{' '}
            <small>{each.periodEnd}, {each.form}, {each.accession}. {each.reason}</small>
          </li>
        ))}
      </ul>
    </>
  );
}

function Bars({ symbol }: { symbol: string }): JSX.Element | null {
  const [span, setSpan] = useState<'annual' | 'quarterly'>('annual');
  const found = useAsk(`financials ${symbol}`, (signal) => client.getFinancials({ symbol }, { signal }), 60_000);
  if (found.data && !found.data.annual.length && !found.data.quarterly.length) return null;
  return (
    <Card title="Financials" aside={<Choice of={[['annual', 'Years'], ['quarterly', 'Quarters']] as const} value={span} onPick={setSpan} label="Length of a period" />}>
      <Shown of={found} what="financials">
        {(data) => {
          const periods = data[span].slice(0, 8).reverse();
          const most = Math.max(...periods.flatMap(({ revenue, netIncome }) => [Math.abs(revenue.value ?? 0), Math.abs(netIncome.value ?? 0)]), 1);
          // What is not known leaves a gap, and no bar of nothing.
          const bar = (value: number | null, kind: string) => (value === null ? <i /> : <i class={`${kind}${value < 0 ? ' loss' : ''}`} style={{ height: `${(100 * Math.abs(value)) / most}%` }} />);
          const { priceToEarnings: earnings, priceToSales: sales } = data.ratios;
          return (
            <>
              <Facts of={[['P/E', ratio(earnings)], ['Price to sales', ratio(sales)]]} />
              <div class="bars">
                {periods.map(({ periodEnd, revenue, netIncome }) => (
                  <figure key={periodEnd} title={[revenue.reason, netIncome.reason].filter(Boolean).join(' ')}>
                    <div aria-hidden="true">{bar(revenue.value, 'revenue')}{bar(netIncome.value, 'income')}</div>
                    <figcaption>
                      <span class="figure">{revenue.value === null ? '–' : money(revenue.value, revenue.unit)}</span>
                      <span class="figure">{netIncome.value === null ? '–' : money(netIncome.value, netIncome.unit)}</span>
                      <small>{periodEnd.slice(0, 7)}</small>
                    </figcaption>
                  </figure>
                ))}
              </div>
            </>
          );
        }}
      </Shown>
      <p class="legend"><span class="sold">revenue</span> <span class="earned">net income</span></p>
    </Card>
  );
}

function ratio({ value, reason }: Ratio): JSX.Element {
  return value === null ? <small>{reason}</small> : <span class="figure">{price(value)}</span>;
}

function money(value: number | null, unit: string | null): string {
  if (value === null) return 'not known';
  if (unit === 'USD') return `${value < 0 ? '−' : ''}$${short(Math.abs(value))}`;
  return `${short(value)}${unit === 'shares' ? '' : ` ${unit}`}`;
}
