"""The processes of a sandbox: started with a log of their own, stopped in order, never orphaned."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import msgspec

from tickyard.kernel.clock import WallClock

_STOP_S = 3
_LAST_LINES = 5


class ChildDied(Exception):
    """A part of the sandbox ended by itself. Carries its last words."""


class Child:
    """A Python process of ours. It ends when we close its standard input, also when we are killed."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self._process = process
        self._log = log

    @classmethod
    async def start(
        cls, name: str, run_dir: Path, module: str, *arguments: str, environ: Mapping[str, str] | None = None
    ) -> Self:
        path = run_dir / f"{name}.log"
        with path.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                module,
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=dict(environ or os.environ),
                # Ctrl-C is for the parent, which stops its children in order.
                start_new_session=True,
            )
        return cls(name, process, path)

    @property
    def pid(self) -> int:
        return self._process.pid

    def must_live(self) -> None:
        if self._process.returncode is not None:
            lines = self._log.read_text(errors="replace").strip().splitlines()[-_LAST_LINES:]
            raise ChildDied(f"{self.name} ended by itself ({self._process.returncode}):\n  " + "\n  ".join(lines))

    async def finished(self) -> None:
        """Wait for its end, which must be a good one."""
        if await self._process.wait():
            self.must_live()

    async def died(self) -> None:
        """Wait for its end, which nobody asked for."""
        await self._process.wait()
        self.must_live()

    async def announced(self, file: Path) -> int:
        """The port that the process writes into a file once it listens."""
        clock = WallClock()
        async with asyncio.timeout(20):
            while (port := _port_in(file)) is None:
                self.must_live()
                await clock.sleep(0.02)
        return port

    async def stop(self) -> None:
        """Ask, then insist."""
        for ask in (self._process.terminate, self._process.kill):
            if self._process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    ask()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._process.wait(), _STOP_S)
        if self._process.stdin:
            self._process.stdin.close()


def _port_in(file: Path) -> int | None:
    return msgspec.json.decode(file.read_bytes(), type=dict[str, int])["port"] if file.exists() else None
