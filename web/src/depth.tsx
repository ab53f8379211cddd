// How much it takes to move the price, as a picture.
import type { JSX } from 'preact';
import type { PriceMove } from 'tickyard';
import { client, useAsk } from './api';
import { short, usd } from './figures';
import { Card, Empty, Shown } from './parts';

export function DepthChart({ symbol }: { symbol: string }): JSX.Element {
  const depth = useAsk(`depth ${symbol}`, (signal) => client.getDepth({ symbol, maxImpactBps: 100 }, { signal }), 15_000);
  return (
    <Card title="Depth">
      <Shown of={depth} what="depth">
        {({ all, largest }) => {
          if ([...all.up, ...all.down].every(({ usdg }) => !Number(usdg))) return <Empty title="Nothing can be traded here.">There is no pool with liquidity, so no price to move.</Empty>;
          const most = Math.max(...[...all.up, ...all.down].map(({ usdg }) => Number(usdg)), 1);
          return (
            <>
              <svg class="deep" viewBox="0 0 200 70" preserveAspectRatio="none" role="img" aria-label="Dollars that move the price, falling on the left, rising on the right">
                <polygon class="down" points={area(all.down, most, -1)} />
                <polygon class="up" points={area(all.up, most, 1)} />
                <line x1="100" x2="100" y1="0" y2="70" />
              </svg>
              <table class="plain">
                <thead><tr><th scope="col">Move</th><th scope="col">Selling</th><th scope="col">Buying</th></tr></thead>
                <tbody>
                  {all.up.map((step, index) => (
                    <tr key={step.movePct}>
                      <td class="figure">±{Number(step.movePct)} %</td>
                      <td class="figure">${short(all.down[index]?.usdg)}</td>
                      <td class="figure">${short(step.usdg)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
              {largest && <p class="legend">Up to {usd(largest.buyUsd)} can be bought below 1 % of impact.</p>}
            </>
          );
        }}
      </Shown>
    </Card>
  );
}

function area(steps: PriceMove[], most: number, way: 1 | -1): string {
  const widest = Math.max(...steps.map(({ movePct }) => Number(movePct)), 1);
  const points = steps.map(({ movePct, usdg }) => `${100 + (way * 100 * Number(movePct)) / widest},${70 - (64 * Number(usdg)) / most}`);
  return [`100,70`, ...points, `${100 + way * 100},70`].join(' ');
}
