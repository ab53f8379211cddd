"""An EVM node to develop against: an engine as a child process, or any development node by its URL."""

import asyncio
import contextlib
import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import aiohttp
import msgspec

from tickyard.kernel.errors import UpstreamDown

START_LIMIT_S = 30
STOP_LIMIT_S = 1
CALL_LIMIT_S = 60
KEEP_S = 2
_SCRIPTS = Path(__file__).parent


class NodeError(UpstreamDown):
    """The node refused a call, or is not there. Carries the node's own words."""


def find_root() -> Path:
    """The folder that holds node_modules: above the package in a checkout, else where we were started."""
    for folder in (*Path(__file__).resolve().parents, Path.cwd()):
        if (folder / "node_modules" / "@nomicfoundation" / "edr").is_dir():
            return folder
    raise NodeError("the sandbox needs its npm packages: run `npm ci` in the checkout first")


class Node:
    """A JSON-RPC connection, with the process behind it when we started one."""

    def __init__(self, url: str, process: asyncio.subprocess.Process | None = None) -> None:
        self.url = url
        self._process = process
        # The node closes a connection after five idle seconds: leave it first, or a call may meet the close.
        connector = aiohttp.TCPConnector(keepalive_timeout=KEEP_S)
        timeout = aiohttp.ClientTimeout(total=CALL_LIMIT_S)
        self._session = aiohttp.ClientSession(connector=connector, timeout=timeout)

    @classmethod
    async def start(cls, *, chain_id: int, now: datetime, run_dir: Path, interval_ms: int = 0, port: int = 0) -> Self:
        """Start a node whose chain begins at `now`. Port 0 lets the system choose."""
        root = find_root()
        folder = _folder(run_dir, chain_id)
        options = {
            "chainId": chain_id,
            "initialDate": now.astimezone(UTC).isoformat(),
            "intervalMs": interval_ms,
            "runDir": str(folder),
            "port": port,
        }
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder),
            # The engine writes down each step of a call, a hundred megabytes for a large one. What it frees goes back
            # after a minute: until then it is at hand for the next call, and nothing new is asked for beside it. So the
            # node stays at about half a gigabyte, also when nobody but the mirror reads; after a second it crept up
            # from call to call, and never given back it is three quarters.
            "MIMALLOC_PURGE_DELAY": "60000",
            # It keeps the state of 100,000 blocks if it may, a megabyte each: older ones are made again when asked for.
            "__EDR_MAX_CACHED_STATES": "16",
            "TICKYARD_NODE": msgspec.json.encode(options).decode(),
        }
        program = shutil.which("node")
        if program is None:
            raise NodeError("the sandbox needs Node.js 20 or later, and there is no `node` on the PATH")
        with (folder / "node.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                program,
                # The script only hands text on: room for young objects would be 40 MB after the first busy minute.
                "--max-semi-space-size=1",
                str(_SCRIPTS / "start.js"),
                cwd=root,
                env=environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                # Ctrl-C is for the parent, which stops its node in its own time.
                start_new_session=True,
            )
        try:
            url = await asyncio.wait_for(_address_line(process), START_LIMIT_S)
        except (TimeoutError, msgspec.DecodeError):
            await _end(process)
            raise NodeError("the EVM node did not start; its folder's node.log says why") from None
        except BaseException:
            await _end(process)
            raise
        return cls(url, process)

    @classmethod
    def attach(cls, url: str) -> Self:
        """Use a development node that somebody else runs and stops."""
        return cls(url)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def call(self, method: str, params: Sequence[Any] = ()) -> Any:
        return (await self.batch([(method, params)]))[0]

    async def batch(self, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        """Many calls in one round trip, results in the order asked. The first error ends it."""
        if not calls:
            return []
        body = msgspec.json.encode(
            [
                {"jsonrpc": "2.0", "id": i, "method": method, "params": params}
                for i, (method, params) in enumerate(calls)
            ]
        )
        headers = {"content-type": "application/json"}
        try:
            async with self._session.post(self.url, data=body, headers=headers) as response:
                replies = msgspec.json.decode(await response.read())
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
            raise NodeError(f"the EVM node did not answer ({type(error).__name__})") from None
        if not isinstance(replies, list):
            replies = [replies]
        for reply in replies:
            if "error" in reply:
                raise NodeError(str(reply["error"].get("message", "unknown error")))
        replies.sort(key=lambda reply: reply["id"])
        return [reply["result"] for reply in replies]

    async def stop(self) -> None:
        await self._session.close()
        if self._process:
            await _end(self._process)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


def _folder(run_dir: Path, chain_id: int) -> Path:
    folder = run_dir.resolve() / f"node-{chain_id}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


async def _address_line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return str(msgspec.json.decode(await process.stdout.readline())["url"])


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask, then insist. Closing stdin alone would do, but not at once."""
    for ask in (process.terminate, process.kill):
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                ask()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), STOP_LIMIT_S)
    if process.stdin:
        process.stdin.close()
