"""How many payouts an hour the agent makes, and what it asks of the node for each: 20,000 claims, truly signed."""

import random
import tempfile
import time
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

from coincurve import PrivateKey
from sqlalchemy import insert

from bench.paper import DEPTH, DESK, EPOCH, KEY, MULTICALL, TERMS, DatedClock, Faults, QuickChain, deps_of, serve
from tickyard.chain.keccak import keccak256
from tickyard.features.earn import rules
from tickyard.features.earn.claims.message import claim_message, message_digest
from tickyard.features.earn.days.epochs import run_due
from tickyard.features.earn.tables import earn_claim, holder_balance, holder_mark
from tickyard.payout.accepted import AcceptedBooks
from tickyard.payout.agent import Agent
from tickyard.payout.judge import PayoutCaps
from tickyard.payout.signing.signer import LocalSigner
from tickyard.store.leases import take
from tickyard.store.migrate import migrate
from tickyard.store.revenue import revenue
from tickyard.store.statement import Bulk

PAID, FINAL_S = 20_000, 900
CAPS = PayoutCaps(10**15, 10**15, 10**15)


async def payouts(paid: int = PAID) -> dict[str, float]:
    """So many claims, from reserved to final."""
    keys = [PrivateKey((n + 1).to_bytes(32, "big")) for n in range(paid)]
    owners = ["0x" + keccak256(key.public_key.format(compressed=False)[1:])[12:].hex() for key in keys]
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        clock = DatedClock(rules.starts_at(EPOCH) + timedelta(hours=22))
        chain = QuickChain(clock, random.Random(1), Faults())
        signer = LocalSigner(KEY)

        def give(state: Any) -> None:
            state.payer = signer.address
            state.usdg[signer.address], state.allowances[signer.address] = 10**15, 10**30
            state.token.update(dict.fromkeys(owners, 10**24))

        # In every block: proofs ask for the balance at one of them.
        chain.edit(give)
        chain.mine()
        url = await serve(chain, stack)
        deps = deps_of(folder, url, clock)
        stack.push_async_callback(deps.store.close)
        stack.push_async_callback(deps.rpc.close)
        await migrate(deps.store)
        await run_due(deps, clock.now())
        async with deps.store.begin() as tx:
            await Bulk(holder_balance).run(tx, [{"address": each, "balance": 10**24} for each in owners])
            settled = {"settled_at": clock.now(), "credited_at": clock.now()}
            await tx.execute(insert(revenue), {"settlement": "eip155:4663/0x0/0", "amount_raw": 10**12, **settled})
            newest = chain.blocks[-1]
            await tx.execute(insert(holder_mark), {"block_number": newest.number, "block_hash": newest.hash})
        payer = Agent(deps.store, deps.rpc, signer, TERMS, DESK, MULTICALL, CAPS, AcceptedBooks(folder / "a"), 9_000)
        payer.final_every_s = 10.0
        lease = await take(deps.store, "payout", "bench")
        assert lease is not None
        for moment in (rules.snapshot_at(EPOCH), rules.opens_at(EPOCH)):
            clock.offset += moment - clock.now()
            for _ in range(DEPTH + 2):
                chain.mine()
            await run_due(deps, clock.now())
        await payer.run_once(lease)
        await run_due(deps, clock.now())
        now = clock.now()
        async with deps.store.begin() as tx:
            rows = [
                {
                    "epoch": EPOCH,
                    "address": owner,
                    "attempt": 0,
                    "signature": _signature(key, owner),
                    "reserved_at": now,
                }
                for key, owner in zip(keys, owners, strict=True)
            ]
            await tx.execute(insert(earn_claim), rows)
        before, began = chain.calls, time.perf_counter()
        while len(chain.state.paid) < paid:
            await payer.run_once(lease)
        took = time.perf_counter() - began
        # Fifteen minutes of waiting, at the agent's own pace.
        confirmed = 0
        for _ in range(FINAL_S // 10 + 2):
            for _ in range(100):
                chain.mine()
            clock.ahead_s += 10
            confirmed += (await payer.run_once(lease)).confirmed
        assert confirmed == paid, confirmed
        return {"payouts per hour": paid / took * 3600, "node calls per payout": (chain.calls - before) / paid}


def _signature(key: PrivateKey, owner: Any) -> str:
    digest = message_digest(claim_message(TERMS, EPOCH, owner))
    return "0x" + key.sign_recoverable(digest, hasher=None).hex()
