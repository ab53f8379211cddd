"""What `tickyard up` shows in the terminal."""

import sys

from tickyard.chain.address import checksum
from tickyard.kernel.clock import Clock
from tickyard.sandbox.world.world import World


class Progress:
    """One line per step, with the time it took."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.monotonic()
        self._step: float | None = None

    def begin(self, what: str) -> None:
        self.end()
        self._step = self._clock.monotonic()
        sys.stdout.write(f"  {what} ... ")
        sys.stdout.flush()

    def end(self) -> None:
        if self._step is not None:
            sys.stdout.write(f"{self._clock.monotonic() - self._step:.1f} s\n")
            sys.stdout.flush()
            self._step = None


def panel(port: int, stand_ins_port: int, world: World) -> str:
    demo = world.wallets[0]
    base = f"http://127.0.0.1:{port}"
    return f"""
  tickyard is up, on a sandbox of its own (chain {world.chain_id}, made-up prices, no real money)

    app          {base}/app
    API          {base}            docs: {base}/docs
    MCP          {base}/mcp
    sandbox RPC  http://127.0.0.1:{stand_ins_port}/rpc
    demo wallet  {checksum(demo.address)}
                 100,000 USDG, ETH and service tokens; its key is in GET /sandbox

  Try:
    curl '{base}/v1/quote?symbol=AAPL&side=buy&amount=100'
    curl {base}/v1/research/NVDA
    curl -X POST {base}/sandbox/tick -H 'content-type: application/json' -d '{{}}'

  Ctrl-C stops it all.
"""
