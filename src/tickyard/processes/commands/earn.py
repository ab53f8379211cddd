"""`tickyard earn`: what a person does for the reward program's days."""

from tickyard.config.settings import Settings
from tickyard.features.earn.days.pool import skip, why_not_skipped
from tickyard.wiring import open_clock
from tickyard.wiring.store import ready_store


async def skip_epoch(settings: Settings, epoch: int) -> int:
    """Give up on a day whose snapshot cannot be taken: what it would have shared out goes on to the next pool."""
    async with ready_store(settings, open_clock(settings)) as store:
        if await skip(store, epoch):
            print(f"{epoch} is skipped, its money goes on to the next pool")
            return 0
        print(f"{epoch} cannot be skipped: {await why_not_skipped(store, epoch)}")
    return 1
