"""A process that migrates when it is told to. Run as a script: `migrator.py ADDRESS`."""

import asyncio
import sys

from tickyard.kernel.clock import WallClock
from tickyard.store.engine import Store
from tickyard.store.migrate import migrate


async def main() -> None:
    store = Store.open(sys.argv[1], WallClock())
    print("ready", flush=True)
    sys.stdin.readline()
    await migrate(store)
    await store.close()


asyncio.run(main())
