"""The service over any node and issuer, of which only the market is used: for benches and tests."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, lru_cache
from pathlib import Path

from tickyard.config.reading import read_settings
from tickyard.config.settings import Settings
from tickyard.deps import Deps
from tickyard.doors.describe import pages
from tickyard.doors.http.readiness import Lookout
from tickyard.kernel.clock import Clock, WallClock
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store
from tickyard.wiring import open_deps
from yards.patience import STUCK_S

# The catalog is described by hundreds of services in one process: once will do.
pages.describe = lru_cache(maxsize=8)(pages.describe)


@asynccontextmanager
async def open_house(folder: Path, rpc_url: str, issuer_url: str, clock: Clock, **more: str) -> AsyncIterator[Deps]:
    """Opened and ready: registry and pools are read. The same folder again is a restart. `more`: further settings."""
    settings = read_settings(environment(folder, rpc_url, issuer_url, **more))
    await _make_store(settings)
    async with open_deps(settings, clock) as deps:
        await asyncio.wait_for(_until_ready(deps, clock), STUCK_S)
        yield deps


def environment(folder: Path, rpc_url: str, issuer_url: str, **more: str) -> dict[str, str]:
    """What is at port 1 is never reached. `more`: further settings, without the prefix."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = folder / "alert-keys"
    keys.write_text(f"1 {'5a' * 32}\n")
    nowhere = ("RPC_URLS_8453", "FACILITATOR_4663", "FACILITATOR_8453", "FILINGS_URL", "FILINGS_FILES_URL")
    given = {
        "RPC_URLS": rpc_url,
        "ISSUER_URL": issuer_url,
        "DATA_DIR": str(folder),
        "RATE_LIMIT": "0",
        # Round trips are counted here; what stands on the mirror asks for it.
        "MIRROR": "off",
        "SECRET_KEY_FILE": str(keys),
        "PAY_TO": "0x" + "7a" * 20,
        "FILINGS_CONTACT": "nobody@example.com",
        **dict.fromkeys(nowhere, "http://127.0.0.1:1"),
        **more,
    }
    return {f"TICKYARD_{name}": value for name, value in given.items()}


@cache
def _kept() -> tempfile.TemporaryDirectory:
    """Migrating takes a moment: one empty store is made and then copied."""
    return tempfile.TemporaryDirectory()


def _is_new(path: str) -> bool:
    return not Path(path).exists()


async def _make_store(settings: Settings) -> None:
    empty = f"{_kept().name}/empty.db"
    # On a server, whoever has it there has laid its schema.
    if "://" in settings.store_url or not _is_new(settings.store_url):
        return
    if _is_new(empty):
        store = open_store(empty, WallClock())
        try:
            await migrate(store)
        finally:
            await store.close()
    shutil.copyfile(empty, settings.store_url)


async def _until_ready(deps: Deps, clock: Clock) -> None:
    lookout = Lookout(deps)
    while (await lookout.report()).problems:
        await clock.sleep(0.02)
