"""How long something took, beside how long this machine makes of the time that it was given."""

import asyncio

NAPS = 50

STUCK_S = 280
"""Seconds after which a test is stuck. The slowest machine so far took twelve times the time of the usual one, so this
says nothing about speed; it is a little below pytest's own limit, and its traceback shows what was waited for."""


async def beside_naps(clock, budget_s, work):
    """What the work answers, the seconds that it took, and those that the budget takes in small naps meanwhile.

    Whatever holds up the loop or takes its processor away adds up over the naps, as it does over the steps of the
    work: a limit counted from them tells a slow service from a slow machine.
    """

    async def naps():
        for _ in range(NAPS):
            await clock.sleep(budget_s / NAPS)

    (answer, took), (_, budget) = await asyncio.gather(_timed(clock, work), _timed(clock, naps()))
    return answer, took, budget


async def _timed(clock, work):
    began = clock.monotonic()
    return await work, clock.monotonic() - began
