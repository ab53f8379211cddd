"""Running jobs, one process each at a time.

Every worker tries for every job's lease; who has it does the work and renews, who has not looks again. A killed
holder is replaced when its lease ends. Leases save work; what a job writes is safe without them.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Iterable
from functools import partial
from typing import Final

from tickyard.deps import Deps
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe import metrics
from tickyard.observe.log import log
from tickyard.store import leases
from tickyard.store.leases import Lease, LostLease
from tickyard.worker.jobs import Job

_TROUBLE_S: Final = 1.0
_NO_LUCK_S: Final = 10.0
"""Who could not do a job for so long lets another try: its own way to a node, or its clock, may be the trouble."""


class Runner:
    def __init__(self, deps: Deps, jobs: Iterable[Job]) -> None:
        self._deps = deps
        self._jobs = list(jobs)
        self._owner = secrets.token_hex(8)
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Work until `stop`. What has begun is finished, and every lease handed back. A job that fails is none of the
        others' business."""
        tasks = self._deps.tasks
        names = [_task_of(job) for job in self._jobs]
        for name, job in zip(names, self._jobs, strict=True):
            # From the start on: one that never succeeds must be seen, too.
            self._note_done(job)
            tasks.start(name, partial(self._lead, job), until=self._stopping)
        await self._stopping.wait()
        await tasks.finish(names)

    def stop(self) -> None:
        self._stopping.set()

    async def wait_for(self, event: asyncio.Event) -> None:
        """Wait until this has happened, or until `stop`."""
        waits = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(self._stopping.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _lead(self, job: Job) -> None:
        store = self._deps.store
        while not self._stopping.is_set():
            lease = None
            with contextlib.suppress(UpstreamDown):
                lease = await leases.take(store, job.name, self._owner)
                if lease is None:
                    job.forget()
            if lease is None:
                await self._pause(leases.RENEW_S)
                continue
            try:
                await self._hold(job, lease)
            except LostLease:
                log.warning("lease lost", job=job.name)
            finally:
                # Also when the job died: another worker may have better luck. What is lost cannot be handed back.
                with contextlib.suppress(UpstreamDown):
                    await leases.release(store, lease)
            # Longer than the others take to look. Where nobody else is, this one tries again.
            await self._pause(2 * leases.RENEW_S)

    async def _hold(self, job: Job, lease: Lease) -> None:
        """Do the work for as long as the lease is ours, it can be done and nobody says stop."""
        keeping = asyncio.create_task(self._keep(lease))
        clock = self._deps.clock
        since: float | None = None
        try:
            while not self._stopping.is_set():
                try:
                    await job.run(self._deps, lease)
                    self._note_done(job)
                    pause_s, since = job.pause_s, None
                except UpstreamDown as failure:
                    log.warning("a job could not be done, it is tried again", job=job.name, reason=failure.message)
                    pause_s = _TROUBLE_S
                    since = clock.monotonic() if since is None else since
                    if clock.monotonic() - since >= _NO_LUCK_S:
                        return
                if keeping.done():
                    keeping.result()
                await self._pause(pause_s)
        finally:
            keeping.cancel()
            with contextlib.suppress(asyncio.CancelledError, LostLease):
                await keeping

    def _note_done(self, job: Job) -> None:
        metrics.job_done.labels(_task_of(job)).set(self._deps.clock.timestamp())

    async def _keep(self, lease: Lease) -> None:
        while True:
            await self._deps.clock.sleep(leases.RENEW_S)
            # A store that is away for a moment costs the lease only if somebody else takes it meanwhile.
            with contextlib.suppress(UpstreamDown):
                await leases.renew(self._deps.store, lease)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


def _task_of(job: Job) -> str:
    return f"job {job.name}"
