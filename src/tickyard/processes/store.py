"""`tickyard migrate`, `backup` and `restore`: care of the store."""

import sys
from pathlib import Path

from tickyard.config.settings import Settings
from tickyard.features.alerts.store import remember_unknown
from tickyard.kernel.clock import WallClock
from tickyard.processes.folder import ready_folder
from tickyard.store.copying.backup import backup
from tickyard.store.copying.restore import restore
from tickyard.store.migrate import migrate, schema_version
from tickyard.store.opening import open_store
from tickyard.wiring.store import check_file


async def keep_store(command: str, settings: Settings, file: str) -> None:
    if command == "backup":
        check_file(settings)
    else:
        ready_folder(settings)
    store = open_store(settings.store_url, WallClock())
    try:
        match command:
            case "migrate":
                await migrate(store)
                said = f"the store is at version {await schema_version(store)}"
            case "backup":
                await backup(store, Path(file))
                said = f"the store is copied into {file}"
            case _:
                await restore(Path(file), settings.store_url, store.clock)
                async with store.begin() as tx:
                    await remember_unknown(tx)
                said = f"the store is filled from {file}"
    finally:
        await store.close()
    sys.stdout.write(said + "\n")
