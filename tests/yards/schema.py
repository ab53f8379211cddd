"""Empty databases that have their schema: `from yards.schema import lay`.

Hundreds of tests begin with one. The SQLite file is made once and copied; making it takes a tenth of a second.
"""

import asyncio
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from tickyard.kernel.clock import WallClock
from tickyard.store.engine import Store
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store
from tickyard.store.sqlite.engine import SqliteStore


async def lay(store: Store) -> None:
    """Give a new store its schema. One that has it already is left as it is."""
    if isinstance(store, SqliteStore):
        if not store.path.exists():
            store.path.write_bytes(empty_file())
    else:
        await migrate(store)


@cache
def empty_file() -> bytes:
    """A SQLite file with the newest schema and nothing in it."""

    async def make(path: Path) -> None:
        store = open_store(path, WallClock())
        await migrate(store)
        await store.close()

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as pool:
        path = Path(folder) / "empty.db"
        # A loop of its own, in a thread: whoever asks may be inside another.
        pool.submit(asyncio.run, make(path)).result()
        return path.read_bytes()
