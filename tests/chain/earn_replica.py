"""An API process that claims for many holders at once. Run as a script with one JSON argument; answers on stdout."""

import asyncio
import json
import sys
from datetime import timedelta
from types import SimpleNamespace

from tickyard.chain.rpc import Rpc
from tickyard.features.earn.desk import EarnDesk
from tickyard.features.earn.message import Terms, claim_message
from tickyard.features.earn.operations import ClaimAsk, claim
from tickyard.kernel.clock import WallClock
from tickyard.kernel.errors import UpstreamDown
from tickyard.sandbox.claim import sign
from tickyard.sandbox.holders import holders
from tickyard.store.engine import Store


class MovedClock(WallClock):
    def __init__(self, offset):
        self.offset = offset

    def now(self):
        return super().now() + self.offset


async def claim_for(deps, wallet, epoch):
    """Try as a patient client does: a 502 says when to come again."""
    ask = ClaimAsk(
        address=wallet.address,
        epoch=epoch,
        signature=sign(wallet.private_key, claim_message(deps.earn.terms, epoch, wallet.address)),
    )
    began = deps.clock.monotonic()
    while True:
        try:
            answer = await claim(deps, ask)
            return {
                "address": wallet.address,
                "tx": answer.tx,
                "amount": answer.amount_usd,
                "seconds": deps.clock.monotonic() - began,
            }
        except UpstreamDown:
            if deps.clock.monotonic() > began + 60:
                raise
            await deps.clock.sleep(0.2)


async def main(asked):
    clock = MovedClock(timedelta(microseconds=asked["offset_us"]))
    store = Store.open(asked["where"], clock)
    rpc = Rpc([asked["node"]], chain_id=4663, clock=clock)
    terms = Terms(4663, asked["token"], asked["usdg"])
    deps = SimpleNamespace(store=store, rpc=rpc, clock=clock, earn=EarnDesk(terms, 4))
    wallets = [holders()[n] for n in asked["holders"]]
    # Every wallet twice: a claimant who presses the button again.
    answers = await asyncio.gather(*(claim_for(deps, wallet, asked["epoch"]) for wallet in (*wallets, *wallets)))
    await store.close()
    await rpc.close()
    print(json.dumps(answers))


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
