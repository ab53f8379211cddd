// Who is connected, and the choice of who could be.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { shortAddress } from './figures';
import { Said, useAct } from './parts';
import { go } from './router';
import { connect, discover, disconnect, reconnect, useWallets } from './wallet';

export function WalletButton(): JSX.Element {
  const { wallets, me } = useWallets();
  const [open, setOpen] = useState(false);
  const { act, error, busy, leave } = useAct();
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  // What had the focus is gone with the menu: whoever goes by keyboard would begin again at the top of the page.
  const shut = () => (setOpen(false), button.current?.focus());
  useEffect(() => {
    // After the first view has been drawn: a wallet is not what one waits for.
    const timer = setTimeout(discover, 300);
    const close = (event: Event) => {
      // A menu that holds no wallet yet cannot hold the focus either: an open one gives it back wherever it went.
      if (event instanceof KeyboardEvent) {
        if (event.key === 'Escape' && button.current?.ariaExpanded === 'true') shut();
      } else if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener('pointerdown', close);
    addEventListener('keydown', close);
    return () => {
      clearTimeout(timer);
      removeEventListener('pointerdown', close);
      removeEventListener('keydown', close);
    };
  }, []);
  useEffect(() => reconnect(wallets), [wallets.length]);
  return (
    <div class="wallet" ref={box}>
      <button type="button" ref={button} aria-expanded={open} onClick={() => (discover(), setOpen(!open))}>
        {me ? <span class="figure">{shortAddress(me.address)}</span> : 'Connect'}
      </button>
      {open && (
        <div class="menu">
          {me ? (
            <>
              <p>{me.name}</p>
              <button type="button" onClick={() => (go(`/portfolio/${me.address}`), shut())}>My portfolio</button>
              <button type="button" onClick={() => (disconnect(), shut())}>Disconnect</button>
            </>
          ) : wallets.length ? (
            wallets.map((wallet) => (
              <button key={wallet.info.uuid} type="button" onClick={() => (leave(), act(async () => void ((await connect(wallet)) && shut())))}>
                {/^data:image\//.test(wallet.info.icon) && <img src={wallet.info.icon} alt="" width={18} height={18} />}
                {wallet.info.name}
              </button>
            ))
          ) : (
            <p>No wallet was found in this browser. You can still look at everything, and paste an address under Portfolio.</p>
          )}
          {/* It may never answer, and its window may be behind this one. */}
          {busy && <p role="status">The wallet was asked. Look for its window, or choose another one.</p>}
          <Said error={error} />
        </div>
      )}
    </div>
  );
}
