"""An empty database with its schema: making one takes longer than living through a day, so it is made once."""

import asyncio
import atexit
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from tickyard.kernel.clock import WallClock
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store


@cache
def template():
    folder = Path(tempfile.mkdtemp(prefix="tickyard-sim-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)

    async def make():
        store = open_store(folder / "empty.db", WallClock())
        await migrate(store)
        await store.close()

    # A loop of its own, in a thread: this is called from inside the virtual one.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, make()).result()
    return folder / "empty.db"
