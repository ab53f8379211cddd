"""The life of the agent's process: one at a time pays, others may stand by. All of them obey a halt."""

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Final

from tickyard.features.earn.days.drift import DriftWatch
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe import metrics
from tickyard.observe.log import log
from tickyard.payout.agent import Agent
from tickyard.payout.halt import Halted
from tickyard.payout.turn import NotOurTurn
from tickyard.store.leases import RENEW_S, Lease, LostLease, release, renew, take

LEASE: Final = "payout"


@dataclass(frozen=True, slots=True)
class Pauses:
    """How long the agent pauses, and what for."""

    round_s: float = 0.2
    trouble_s: float = 1.0
    halted_s: float = 5.0
    helpless_s: float = 30.0
    """In trouble for so long, an agent lets whoever stands by try: its node may be a better one."""
    stand_by_s: float = RENEW_S
    aside_s: float = 3 * RENEW_S
    renew_s: float = RENEW_S


PACE: Final = Pauses()


async def run_agent(agent: Agent, owner: str, pace: Pauses = PACE) -> None:
    """Pay until cancelled. While payouts are halted nothing is signed, and every agent waits for a person."""
    while True:
        lease = await _take(agent, owner, pace)
        try:
            await _work(agent, lease, pace)
        except LostLease:
            log.warning("another payout agent has taken over")
        except NotOurTurn as turn:
            log.error("this payout agent steps aside for another", why=str(turn))
            # So long that whoever stands by has looked: if there is one, it pays now.
            await agent.store.clock.sleep(pace.aside_s)


async def _take(agent: Agent, owner: str, pace: Pauses) -> Lease:
    while True:
        with contextlib.suppress(UpstreamDown):
            lease = await take(agent.store, LEASE, owner)
            if lease is not None:
                return lease
            _know_nothing()
        await agent.store.clock.sleep(pace.stand_by_s)


async def _work(agent: Agent, lease: Lease, pace: Pauses) -> None:
    keeping, drift = asyncio.create_task(_keep(agent, lease, pace)), DriftWatch()
    told: str | None = None
    clock = agent.store.clock
    since: float | None = None
    try:
        while True:
            if keeping.done():
                keeping.result()
            pause_s = pace.round_s
            try:
                await drift.measure(agent.store)
                did = await agent.run_once(lease)
            except UpstreamDown as down:
                log.warning("payouts wait", why=down.message)
                pause_s = pace.trouble_s
                since = clock.monotonic() if since is None else since
                if clock.monotonic() - since > pace.helpless_s:
                    raise NotOurTurn(f"in trouble for {pace.helpless_s:.0f} s: {down.message}") from down
            except Halted as halted:
                if told != str(halted):
                    log.error("PAYOUTS ARE HALTED AND NEED A PERSON", why=str(halted))
                told = str(halted)
                metrics.payout_halted.set(1)
                pause_s, since = pace.halted_s, None
            else:
                told = since = None
                metrics.payout_halted.set(0)
                if not did.is_idle:
                    log.info(
                        "payouts", opened=did.opened, batches=did.batches, sent=did.sent, replaced=did.replaced,
                        confirmed=did.confirmed, failed=did.failed,
                    )  # fmt: skip
            await clock.sleep(pause_s)
    except NotOurTurn:
        # Who waits goes on waiting until somebody else is seen to have the lease.
        metrics.payout_halted.set(0)
        raise
    except BaseException:
        _know_nothing()
        raise
    finally:
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError, LostLease, UpstreamDown):
            await keeping
        with contextlib.suppress(UpstreamDown):
            await release(agent.store, lease)


def _know_nothing() -> None:
    """Whoever stands by must not ring for ever with what it knew."""
    for gauge in (metrics.payout_halted, metrics.payout_oldest_s, metrics.payout_unpaid_s):
        gauge.set(0)


async def _keep(agent: Agent, lease: Lease, pace: Pauses) -> None:
    """Renew until it is lost; a store in trouble is asked again, the fence tells whether it was in time."""
    while True:
        await agent.store.clock.sleep(pace.renew_s)
        with contextlib.suppress(UpstreamDown):
            await renew(agent.store, lease)
