"""Whether this process can serve: a look at the store, the chain, the registry and the tasks, shared by all who ask.

Reading alone would not tell of a full disk or of rights that were taken away, so now and then a look writes as well,
and has the node run a call: one that only knows the newest block is of no use.
At most two looks a second, however many ask, and nobody waits longer than a second. A look that takes longer goes on by
itself, so that what it finds (a node to be passed over) is learnt; until then what was well a moment ago is well: a far
end that takes a second is slow, and all processes that share it would be taken out of service at once.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from sqlalchemy import text

from tickyard.chain.erc20 import DECIMALS
from tickyard.deps import Deps
from tickyard.kernel.errors import UpstreamDown
from tickyard.observe.watched import note_head
from tickyard.store.engine import Busy, Store
from tickyard.store.leases import try_write
from tickyard.store.statement import Query

_KEPT_S: Final = 0.5
_TRY_EVERY_S: Final = 10.0
"""While all is well; a store that took no write, and a node that ran no call, are tried at each look."""
_PATIENCE_S: Final = 0.8
_WELL_S: Final = 3.0
"""So long what is asked again may be silent; calls still get their answers from it within their own five seconds."""
_NEVER: Final = float("-inf")
REGISTRY_AGE_MAX_S: Final = 24 * 3600
"""The last good list stays true for long: an issuer that is down for an hour is no reason to stop serving."""
_ASK_STORE: Final = Query(text("SELECT version_num FROM alembic_version"))


@dataclass(slots=True)
class _Probe:
    """One look, as far as it has come."""

    began: float
    store: asyncio.Task[None]
    chain: asyncio.Task[None]

    def tasks(self) -> tuple[asyncio.Task[None], asyncio.Task[None]]:
        return self.store, self.chain


@dataclass(frozen=True, slots=True)
class ReadyReport:
    problems: list[str]
    head_age_s: int | None
    registry_age_s: int | None
    tasks: list[str]


class Lookout:
    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._look: _Probe | None = None
        self._store_well_at = self._chain_well_at = _NEVER
        """When each last answered well, by the monotonic clock."""
        self._newest_s = 0
        """The timestamp of the newest block that was answered."""
        self._ran_at = _NEVER
        """When the node last ran a call."""
        self._write: asyncio.Task[None] | None = None
        self._wrote = 0.0
        self._unwritten = ""
        """What became of the last write that came to an end; empty: it was well."""

    async def report(self) -> ReadyReport:
        clock = self._deps.clock
        look = self._look
        if look is not None:
            self._unlearn(look)
        if look is None or (clock.monotonic() - look.began >= _KEPT_S and all(task.done() for task in look.tasks())):
            look = self._look = _Probe(
                clock.monotonic(),
                asyncio.create_task(self._ask_store()),
                asyncio.create_task(self._ask_head()),
            )
            self._try_write()
            for task in look.tasks():
                # Nobody may be left to hear how it ended.
                task.add_done_callback(_hear)
        left = _PATIENCE_S - (clock.monotonic() - look.began)
        if left > 0:
            await asyncio.wait([*look.tasks(), *([self._write] if self._write else [])], timeout=left)
        return self._judge(look)

    def _unlearn(self, look: _Probe) -> None:
        """Who has answered badly since is not well because of what it answered before."""
        if look.store.done() and _problem(look.store, ""):
            self._store_well_at = _NEVER
        if look.chain.done() and _problem(look.chain, ""):
            self._chain_well_at = _NEVER

    def _try_write(self) -> None:
        now = self._deps.clock.monotonic()
        is_due = self._write is None or self._unwritten or now - self._wrote >= _TRY_EVERY_S
        if is_due and (self._write is None or self._write.done()):
            self._wrote, self._write = now, asyncio.create_task(_write(self._deps.store))
            self._write.add_done_callback(_hear)

    def _judge(self, look: _Probe) -> ReadyReport:
        registry, tasks = self._deps.market.registry, self._deps.tasks
        now = self._deps.clock.monotonic()
        store = _problem(look.store, "the store", is_well=now - self._store_well_at < _WELL_S)
        chain = _problem(look.chain, "the chain node", is_well=now - self._chain_well_at < _WELL_S)
        if self._write is not None and self._write.done():
            # One that is still under way says nothing: somebody else may be writing for long.
            self._unwritten = _problem(self._write, "the store")
        problems = [store or self._unwritten, chain]
        age = registry.age_s()
        if age is None:
            problems.append("the asset registry has not been read yet")
        elif age > REGISTRY_AGE_MAX_S:
            problems.append(f"the asset registry was confirmed {age // 3600} hours ago")
        elif not self._deps.market.pools.discovered.is_set():
            problems.append("the pools have not been read from the chain yet")
        problems += [f"the task {name} is down" for name in tasks.down()]
        head_age = None if chain else max(0, self._deps.clock.seconds() - self._newest_s)
        return ReadyReport([each for each in problems if each], head_age, age, tasks.names())

    async def _ask_store(self) -> None:
        async with self._deps.store.glance() as tx:
            await tx.fetch(_ASK_STORE, {})
        self._store_well_at = self._deps.clock.monotonic()

    async def _ask_head(self) -> None:
        head, _ = await asyncio.gather(self._deps.rpc.head(), self._run_a_call())
        note_head(self._deps.settings.chain_id, head.timestamp, self._deps.clock.timestamp())
        self._newest_s, self._chain_well_at = head.timestamp, self._deps.clock.monotonic()

    async def _run_a_call(self) -> None:
        """A gateway may know the newest block and have no node behind it that runs a call."""
        now = self._deps.clock.monotonic()
        if now - self._ran_at >= _TRY_EVERY_S:
            self._ran_at = _NEVER
            await self._deps.rpc.eth_call(self._deps.settings.contracts.usdg, DECIMALS)
            self._ran_at = now


async def _write(store: Store) -> None:
    try:
        await try_write(store)
    except Busy:
        # Others are writing: it can be written.
        return


def _hear(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()


def _problem(part: asyncio.Task[None], name: str, *, is_well: bool = False) -> str:
    """Empty: there is none."""
    if not part.done():
        return "" if is_well else f"{name} does not answer"
    if part.cancelled():
        return f"{name} was not asked to the end"
    failure = part.exception()
    if failure is not None and not isinstance(failure, UpstreamDown):
        raise failure
    return "" if failure is None else failure.message
