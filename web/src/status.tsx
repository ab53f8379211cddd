import type { JSX } from 'preact';
import { client, useAsk } from './api';
import { age, clock, day } from './figures';
import { useMarket } from './live';
import { Card, Facts, Shown } from './parts';
import { Link } from './router';

const LATE_S = 60;

export function StatusView(): JSX.Element {
  const status = useAsk('status', (signal) => client.getStatus({ signal }), 3000);
  const { trouble } = useMarket();
  return (
    <>
      <div class="head"><h1>Status</h1></div>
      <Shown of={status} what="status" rows={6}>
        {(data) => {
          const full = data.coverage24h.filter(({ samples }) => samples >= data.slotsPerDay).length;
          return (
            <div class="columns">
              <div class="wide">
                <Card title="Sources" aside={<small>at {clock(data.asOf)}</small>}>
                  <table class="plain">
                    <thead><tr><th scope="col">Source</th><th scope="col">Last good answer</th><th scope="col">Age</th><th scope="col">State</th></tr></thead>
                    <tbody>
                      {data.upstreams.map(({ name, lastOkAt, ageSeconds }) => (
                        <tr key={name}>
                          <th scope="row">{name}</th>
                          <td class="figure">{lastOkAt ? clock(lastOkAt) : '–'}</td>
                          <td class="figure">{age(ageSeconds)}</td>
                          <td>{trouble?.source === name ? <span class="mark warn">does not answer</span> : ageSeconds === null ? <span class="mark">no answer yet</span> : ageSeconds > LATE_S ? <span class="mark warn">quiet</span> : <span class="mark good">answers</span>}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                  <p class="legend">A source is asked when somebody asks for what it knows: quiet is not down.</p>
                </Card>
                <Card title="Samples of the last day, by token" aside={<small>{full} of {data.coverage24h.length} complete</small>}>
                  <div class="coverage">
                    {data.coverage24h.map(({ symbol, samples }) => (
                      <Link key={symbol} to={`/asset/${encodeURIComponent(symbol)}`} title={`${symbol}: ${samples} of ${data.slotsPerDay}`} label={`${symbol}: ${samples} of ${data.slotsPerDay} samples`}>
                        <i style={{ '--part': `${Math.min(100, (100 * samples) / data.slotsPerDay)}%` } as Record<string, string>} />
                      </Link>
                    ))}
                  </div>
                </Card>
              </div>
              <div class="side">
                <Card title="Chain">
                  <Facts of={[['Chain id', <span class="figure">{data.chainId}</span>], ['Newest block', <span class="figure">{data.block?.number ?? '–'}</span>], ['Its age', <span class="figure">{data.block ? age(data.block.lagSeconds) : '–'}</span>]]} />
                </Card>
                <Card title="Sampler">
                  <Facts of={[['Last slot', data.lastSlot ? day(data.lastSlot) : 'none yet'], ['Slots a day', <span class="figure">{data.slotsPerDay}</span>]]} />
                </Card>
              </div>
            </div>
          );
        }}
      </Shown>
    </>
  );
}
