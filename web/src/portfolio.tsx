import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { client, useAsk } from './api';
import { clock, held, price, shortAddress, tokens, usd, worth } from './figures';
import { Card, Empty, Shown } from './parts';
import { go, Link } from './router';
import { useWallets } from './wallet';

export function PortfolioView({ rest }: { rest: string }): JSX.Element {
  const { me } = useWallets();
  const address = rest || me?.address || '';
  const [text, setText] = useState(address);
  useEffect(() => setText(address), [address]);
  const isAddress = /^0x[0-9a-fA-F]{40}$/.test(address);
  const holdings = useAsk(isAddress ? `portfolio ${address}` : null, (signal) => client.getPortfolio({ address }, { signal }), 10_000);
  const power = useAsk(isAddress ? `power ${address}` : null, (signal) => client.getVotePower({ address }, { signal }), 10_000);
  return (
    <>
      <div class="head">
        <h1>Portfolio</h1>
        <form class="pick" onSubmit={(event) => (event.preventDefault(), go(`/portfolio/${encodeURIComponent(text.trim())}`))}>
          <input class="wide" aria-label="Address" placeholder="0x… any address" value={text} onInput={(event) => setText(event.currentTarget.value)} spellcheck={false} />
          <button>Show</button>
        </form>
      </div>
      {!address ? (
        <Empty title="Whose?">Connect a wallet, or paste any address: balances are public.</Empty>
      ) : !isAddress ? (
        <Empty title="This is not an address.">An address is 0x followed by 40 hex digits.</Empty>
      ) : (
        <Shown of={holdings} what="positions" rows={6}>
          {(data) => {
            const total = Number(data.totalUsdValue);
            return (
              <div class="columns">
                <div class="wide">
                  <Card title={`Positions of ${shortAddress(data.address)}`} aside={<small>at {clock(data.asOf)}</small>}>
                    {data.positions.length ? (
                      <table class="plain">
                        <thead><tr><th scope="col">Token</th><th scope="col">Balance</th><th scope="col" class="roomy">Price</th><th scope="col">Value</th><th scope="col" class="line">Share</th></tr></thead>
                        <tbody>
                          {data.positions.map((position) => {
                            const share = total && position.usdValue ? (100 * Number(position.usdValue)) / total : null;
                            return (
                              <tr key={position.symbol}>
                                <th scope="row"><Link to={`/asset/${encodeURIComponent(position.symbol)}`}>{position.symbol}</Link><small>{position.name}</small></th>
                                <td class="figure" title={position.balance}>{held(position.balance)}<small class="tight">at {price(position.usdPrice)}</small></td>
                                <td class="figure roomy">{price(position.usdPrice)}</td>
                                <td class="figure" title={position.usdValue ?? undefined}>{worth(position.usdValue)}</td>
                                <td class="line">{share !== null && <span class="meter" style={{ '--part': `${share}%` } as Record<string, string>}>{share.toFixed(1)} %</span>}</td>
                              </tr>
                            );
                          })}
                        </tbody>
                      </table>
                    ) : (
                      <Empty title="No stock token here."><Link to="/trade">Buy one</Link></Empty>
                    )}
                  </Card>
                </div>
                <div class="side">
                  <Card title="Value"><p class="big figure">{usd(data.totalUsdValue)}</p><p class="legend">At the equity quote times the multiplier. A position without a quote adds nothing.</p></Card>
                  <Card title="Vote power">
                    <Shown of={power} what="vote power">
                      {(votes) => (
                        <>
                          <p class="figure big">{tokens(votes.totalShareEquivalent)}</p>
                          <p class="legend">Underlying shares that these tokens represent.</p>
                        </>
                      )}
                    </Shown>
                  </Card>
                </div>
              </div>
            );
          }}
        </Shown>
      )}
    </>
  );
}
