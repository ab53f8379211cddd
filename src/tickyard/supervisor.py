"""The one who looks after every long-lived task of a process.

A task that dies is logged with its traceback and started again after a growing pause; the others do not notice. Whoever
asks is told which ones are down (`/readyz`, a metric). When one dies again and again the process cannot recover by
itself: it is told to end, in order and with a bad status, so that whoever started it starts it anew.

    tasks.start("registry", registry.keep_fresh)
    tasks.start("job tick", lead, until=stopping)     # may end once `stopping` is set
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from tickyard.kernel.clock import Clock
from tickyard.observe import metrics
from tickyard.observe.log import log

_PAUSE_FIRST_S: Final = 0.5
_PAUSE_MOST_S: Final = 60.0
_DEATHS_MOST: Final = 10
"""In a row: some minutes of trying."""
_WELL_AFTER_S: Final = 120.0
"""A task that lived so long had recovered: its next death is the first one again."""

Work = Callable[[], Awaitable[None]]


class GaveUp(Exception):
    """A task could not be kept alive. The message is one sentence for the operator."""


@dataclass(slots=True)
class _Life:
    name: str
    work: Work
    until: asyncio.Event | None
    fatal: tuple[type[Exception], ...]
    deaths: int = 0
    is_up: bool = True
    task: asyncio.Task[None] | None = field(default=None, repr=False)
    """The supervising one; what it supervises carries the name."""


class Supervisor:
    def __init__(self, clock: Clock, rng: Random) -> None:
        self._clock = clock
        self._rng = rng
        self._lives: dict[str, _Life] = {}
        self._failure: Exception | None = None
        self.on_give_up: list[Callable[[], Any]] = []
        """Told once, when the process must end."""

    def start(
        self,
        name: str,
        work: Work,
        *,
        until: asyncio.Event | None = None,
        fatal: tuple[type[Exception], ...] = (),
    ) -> None:
        """Keep this alive for ever, or until the event is set. After one of `fatal` it is not tried again."""
        if name in self._lives:
            raise ValueError(f"there is a task {name} already")
        life = self._lives[name] = _Life(name, work, until, fatal)
        metrics.task_deaths.labels(name)
        life.task = asyncio.create_task(self._supervise(life), name=f"supervisor of {name}")

    def names(self) -> list[str]:
        return list(self._lives)

    def down(self) -> list[str]:
        """Tasks that are not running at this moment."""
        return [life.name for life in self._lives.values() if not life.is_up]

    def check(self) -> None:
        """Raise what made us give up, if we did."""
        if self._failure is not None:
            raise self._failure

    async def finish(self, names: Iterable[str]) -> None:
        """Wait for tasks that were told to end."""
        tasks = [life.task for name in names if (life := self._lives.get(name)) and life.task]
        if tasks:
            await asyncio.wait(tasks)
        for name in list(names):
            self._forget(name)

    async def stop(self, *names: str) -> None:
        """End these tasks, or all of them, the last one started first."""
        for name in reversed(names or tuple(self._lives)):
            life = self._lives.get(name)
            if life is not None and life.task is not None:
                life.task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await life.task
            self._forget(name)

    def _forget(self, name: str) -> None:
        if self._lives.pop(name, None) is not None:
            metrics.task_up.remove(name)

    async def _supervise(self, life: _Life) -> None:
        while not self._may_end(life):
            began = self._clock.monotonic()
            self._note(life, is_up=True)
            died_of = await self._live(life)
            if self._may_end(life) and died_of is None:
                return
            self._note(life, is_up=False)
            if self._clock.monotonic() - began >= _WELL_AFTER_S:
                life.deaths = 0
            life.deaths += 1
            metrics.task_deaths.labels(life.name).inc()
            if isinstance(died_of, life.fatal):
                self._give_up(died_of)
                return
            if life.deaths >= _DEATHS_MOST:
                log.error("A TASK CANNOT BE KEPT ALIVE, THE PROCESS ENDS", task=life.name)
                self._give_up(GaveUp(f"the task {life.name!r} died {life.deaths} times in a row; the log says of what"))
                return
            await self._pause(life)

    async def _live(self, life: _Life) -> Exception | None:
        """One life of the task: what it died of. Being cancelled by somebody, or just ending, is a death too."""
        inner = asyncio.ensure_future(_awaited(life.work))
        inner.set_name(life.name)
        try:
            await asyncio.wait({inner})
        finally:
            if not inner.done():
                inner.cancel()
                await asyncio.wait({inner})
        try:
            inner.result()
        except asyncio.CancelledError:
            return self._died(life, RuntimeError("it was cancelled by somebody"))
        except Exception as error:  # noqa: BLE001  whatever it is, the others go on and this one is started again
            log.exception("a task died, it is started again", task=life.name, deaths=life.deaths + 1)
            return error
        return None if self._may_end(life) else self._died(life, RuntimeError("it ended by itself"))

    def _died(self, life: _Life, how: Exception) -> Exception:
        log.error("a task died, it is started again", task=life.name, deaths=life.deaths + 1, how=str(how))
        return how

    def _may_end(self, life: _Life) -> bool:
        return life.until is not None and life.until.is_set()

    def _note(self, life: _Life, *, is_up: bool) -> None:
        life.is_up = is_up
        metrics.task_up.labels(life.name).set(is_up)

    def _give_up(self, failure: Exception) -> None:
        if self._failure is None:
            self._failure = failure
            for tell in self.on_give_up:
                tell()

    async def _pause(self, life: _Life) -> None:
        seconds = min(_PAUSE_FIRST_S * 2 ** (life.deaths - 1), _PAUSE_MOST_S) * self._rng.uniform(0.5, 1.0)
        waits = [asyncio.ensure_future(self._clock.sleep(seconds))]
        if life.until is not None:
            waits.append(asyncio.ensure_future(_awaited(life.until.wait)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


async def _awaited(work: Callable[[], Awaitable[Any]]) -> None:
    await work()
