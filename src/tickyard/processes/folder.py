"""The data folder: made when it is missing, or one sentence that says why it cannot be."""

from pathlib import Path

from tickyard.config.settings import Settings, SettingsError


def ready_folder(settings: Settings) -> None:
    """Make the data folder, and the one that a SQLite store is to be in."""
    folders = {settings.data_path}
    if "://" not in settings.store_url:
        folders.add(Path(settings.store_url).parent)
    for folder in folders:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"the data folder {folder.absolute()} cannot be made: {error.strerror}") from None
