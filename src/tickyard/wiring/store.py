"""The store as every process and command wants it: with the schema of this code."""

import contextlib
from collections.abc import AsyncIterator

from tickyard.config.settings import Settings, SettingsError
from tickyard.kernel.clock import Clock
from tickyard.store.engine import Store
from tickyard.store.migrate import is_ready
from tickyard.store.opening import file_of, open_store

_NOT_READY = "the store's schema is missing or older than this code: run `tickyard migrate` first"


@contextlib.asynccontextmanager
async def ready_store(settings: Settings, clock: Clock, *, is_hurried: bool = False) -> AsyncIterator[Store]:
    """The store, or one sentence that says what to do first."""
    check_file(settings)
    store = open_store(settings.store_url, clock, is_hurried=is_hurried)
    try:
        if not await is_ready(store):
            raise SettingsError(_NOT_READY)
        yield store
    finally:
        await store.close()


def check_file(settings: Settings) -> None:
    """A store in a file must be there: opening would make an empty one."""
    file = file_of(settings.store_url)
    try:
        if file is not None and not file.exists():
            raise SettingsError(f"there is no store at {file}: run `tickyard migrate` first")
    except OSError as error:
        raise SettingsError(f"the store's file {file} cannot be opened: {error.strerror}") from None
