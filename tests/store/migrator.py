"""A process that migrates when it is told to. Run as a script: `migrator.py ADDRESS`."""

import asyncio
import sys

from tickyard.kernel.clock import WallClock
from tickyard.store.migrate import migrate
from tickyard.store.opening import open_store


async def main() -> None:
    store = open_store(sys.argv[1], WallClock())
    print("ready", flush=True)
    sys.stdin.readline()
    await migrate(store)
    await store.close()


asyncio.run(main())
