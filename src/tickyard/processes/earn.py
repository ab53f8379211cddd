"""`tickyard earn`: what a person does for the reward program's days."""

from tickyard.config.settings import Settings, SettingsError
from tickyard.features.earn.days.pool import skip
from tickyard.store.migrate import is_ready
from tickyard.store.opening import open_store
from tickyard.wiring import open_clock


async def skip_epoch(settings: Settings, epoch: int) -> int:
    """Give up on a day whose snapshot cannot be taken: what it would have shared out goes on to the next pool."""
    store = open_store(settings.store_url, open_clock(settings))
    try:
        if not await is_ready(store):
            raise SettingsError("the store's schema is missing or older than this code: run `tickyard migrate` first")
        done = await skip(store, epoch)
    finally:
        await store.close()
    print(
        f"{epoch} is skipped, its money goes on to the next pool"
        if done
        else f"{epoch} cannot be skipped: there is no such day, it is not over, or it has a pool already"
    )
    return 0 if done else 1
