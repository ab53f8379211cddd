"""A sandbox for benches, and more services on the same chain."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import urllib.request
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
READY_S = 60
# The sandbox's own wallets are refused: their keys are public.
PAY_TO = "0x4d1f7c0eab52c94d0a8f1b6637e0c2a95d83f604"


@dataclass
class Service:
    base: str
    pid: int


def free_port() -> int:
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            with contextlib.suppress(OSError, OverflowError):
                other.bind(("127.0.0.1", port + 1000))
                return port


async def get_json(url: str) -> dict:
    def fetch() -> bytes:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.read()

    return json.loads(await asyncio.to_thread(fetch))


async def _ready(base: str, process: asyncio.subprocess.Process, log: Path) -> None:
    async with asyncio.timeout(READY_S):
        while True:
            if process.returncode is not None:
                said = await asyncio.to_thread(log.read_text)
                raise SystemExit(f"the service under test ended by itself; it said: {said[-500:]}")
            with contextlib.suppress(OSError):
                await get_json(base + "/readyz")
                return
            await asyncio.sleep(0.1)


@contextlib.asynccontextmanager
async def _process(*words: str, log: Path, **environ: str) -> AsyncIterator[asyncio.subprocess.Process]:
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tickyard", *words, stdout=out, stderr=out, cwd=ROOT, env={**os.environ, **environ}
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            await asyncio.wait_for(process.wait(), 20)


@contextlib.asynccontextmanager
async def sandbox(folder: Path, *, history_days: int = 0) -> AsyncIterator[str]:
    """A whole sandbox; yields its base URL."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    log = folder / "up.log"
    async with _process("up", "--port", str(port), "--demo-history", str(history_days), log=log) as process:
        await _ready(base, process, log)
        yield base


@contextlib.asynccontextmanager
async def service(folder: Path, name: str, sandbox_base: str, **settings: str) -> AsyncIterator[Service]:
    """The production profile on the sandbox's chain and issuer, with settings of its own."""
    where = await get_json(sandbox_base + "/sandbox")
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    data = folder / name
    data.mkdir()
    (data / "alert.key").write_text(f"1 {'5a' * 32}\n")
    environ = {
        "TICKYARD_RPC_URLS": where["rpcUrl"],
        "TICKYARD_RPC_URLS_8453": where["rpcUrl8453"],
        "TICKYARD_ISSUER_URL": where["issuerUrl"],
        "TICKYARD_FILINGS_URL": where["filingsUrl"],
        "TICKYARD_FILINGS_FILES_URL": where["filingsUrl"] + "/files",
        "TICKYARD_FILINGS_CONTACT": "bench@tickyard.example",
        "TICKYARD_FACILITATOR_4663": where["facilitators"]["eip155:4663"],
        "TICKYARD_FACILITATOR_8453": where["facilitators"]["eip155:8453"],
        "TICKYARD_PAY_TO": PAY_TO,
        "TICKYARD_SECRET_KEY_FILE": str(data / "alert.key"),
        "TICKYARD_PORT": str(port),
        "TICKYARD_DATA_DIR": str(data),
        **settings,
    }
    async with _process("migrate", log=folder / f"{name}-migrate.log", **environ) as migration:
        await migration.wait()
    log = folder / f"{name}.log"
    async with _process("serve", log=log, **environ) as process:
        await _ready(base, process, log)
        yield Service(base, process.pid)
