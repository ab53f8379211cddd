"""The life of the agent's process: one at a time pays, another may stand by."""

import asyncio
import contextlib
from typing import Final

from tickyard.features.earn.drift import DriftWatch
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.log import log
from tickyard.payout.agent import Agent
from tickyard.payout.halt import Halted
from tickyard.store.leases import RENEW_S, Lease, LostLease, keep, release, take

LEASE: Final = "payout"
_PAUSE_S: Final = 0.2
_TROUBLE_S: Final = 1.0


async def run_agent(agent: Agent, owner: str) -> None:
    """Pay until cancelled. Raises Halted, after saying so, when it must not go on."""
    while True:
        lease = await _take(agent, owner)
        try:
            await _work(agent, lease)
        except LostLease:
            log.warning("another payout agent has taken over")
        except Halted as halted:
            log.error("THE PAYOUT AGENT HAS STOPPED AND NEEDS A PERSON", why=str(halted))
            raise


async def _take(agent: Agent, owner: str) -> Lease:
    while True:
        with contextlib.suppress(UpstreamDown):
            lease = await take(agent.store, LEASE, owner)
            if lease is not None:
                return lease
        await agent.store.clock.sleep(RENEW_S)


async def _work(agent: Agent, lease: Lease) -> None:
    keeping, drift = asyncio.create_task(_keep(agent, lease)), DriftWatch()
    try:
        while True:
            if keeping.done():
                keeping.result()
            pause_s = _PAUSE_S
            try:
                await drift.measure(agent.store)
                did = await agent.run_once(lease)
            except UpstreamDown as down:
                log.warning("payouts wait", why=down.message)
                pause_s = _TROUBLE_S
            else:
                if not did.is_idle:
                    log.info("payouts", signed=did.signed, sent=did.sent, confirmed=did.confirmed, failed=did.failed)
            await agent.store.clock.sleep(pause_s)
    finally:
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError, LostLease, UpstreamDown):
            await keeping
        with contextlib.suppress(UpstreamDown):
            await release(agent.store, lease)


async def _keep(agent: Agent, lease: Lease) -> None:
    """Renew until it is lost; a store in trouble is asked again, the fence tells whether it was in time."""
    while True:
        try:
            await keep(agent.store, lease)
        except UpstreamDown:
            continue
