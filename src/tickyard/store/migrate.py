"""Bringing the schema up to date, also when several processes start at the same moment."""

import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, ProgrammingError

from tickyard.observe.log import log
from tickyard.store.engine import Store, StoreRefused, Transaction
from tickyard.store.sqlite.engine import SqliteStore

if TYPE_CHECKING:
    from alembic.config import Config

_PATIENCE_S: Final = 120
LOCK: Final = "migration_lock"
_SOMEONE_WAS_FASTER: Final = {"23505", "42P07"}
_OUR_VERSION: Final = re.compile(r"[0-9]{4}")
_OWN_DATABASE: Final = "name a database of its own in TICKYARD_DATABASE_URL, or restore a backup into an empty one"
_TABLES_DO_NOT_FIT: Final = {"42P07", "42P01", "42701", "42703", "42710"}
_HEAD: Final = "head"


async def migrate(store: Store, to: str = _HEAD) -> None:
    """Apply what is missing, all of it or nothing. A schema newer than this code is left as it is."""
    async with alone(store) as tx:
        await tx.run_sync(lambda connection: upgrade(connection, to))


async def schema_version(store: Store) -> str | None:
    """The newest step applied; None for an empty database."""
    async with store.read() as tx:
        version = await tx.run_sync(current_version)
    _check_is_ours(version)
    return version


async def is_ready(store: Store) -> bool:
    """Whether the schema is at least as new as this code: a newer one still works with it."""
    from alembic.script import ScriptDirectory

    version = await schema_version(store)
    newest = ScriptDirectory.from_config(_config()).get_current_head()
    return version is not None and (version == newest or not is_known(version))


def current_version(connection: Connection) -> str | None:
    from alembic.runtime.migration import MigrationContext

    heads = MigrationContext.configure(connection).get_current_heads()
    return ", ".join(sorted(heads)) or None


def _check_is_ours(version: str | None) -> None:
    """Others number their schemas too, in a table of the same name."""
    if version is not None and not _OUR_VERSION.fullmatch(version):
        raise StoreRefused(f"the database belongs to something else: its schema is {version!r}", _OWN_DATABASE)


def is_known(version: str) -> bool:
    """Whether this code has the step that made a schema."""
    from alembic.script import ScriptDirectory

    return any(script.revision == version for script in ScriptDirectory.from_config(_config()).walk_revisions())


def upgrade(connection: Connection, to: str) -> None:
    """What is missing, inside a transaction of `alone`."""
    from alembic import command

    before = current_version(connection)
    _check_is_ours(before)
    if before is not None and not is_known(before):
        log.warning("the schema is newer than this code, leaving it as it is", version=before)
        return
    config = _config()
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, to)
    except (OperationalError, ProgrammingError) as error:
        if not _is_about_tables(error):
            raise
        raise StoreRefused(
            f"the database has tables that do not fit {f'its schema {before}' if before else 'an empty one'}",
            _OWN_DATABASE,
        ) from None
    after = current_version(connection)
    if to == _HEAD and connection.dialect.name == "postgresql":
        from tickyard.store.postgres.rights import put_right

        put_right(connection)
    if after != before:
        log.info("schema migrated", before=before, after=after)


def _is_about_tables(error: DBAPIError) -> bool:
    """One that is there already, or is not: not a disk, a lock or a right."""
    if isinstance(error.orig, sqlite3.Error):
        return getattr(error.orig, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR
    return getattr(error.orig, "sqlstate", None) in _TABLES_DO_NOT_FIT


def _config() -> "Config":
    from alembic.config import Config

    config = Config()
    folder = str(Path(__file__).parent / "migrations")
    config.set_main_option("script_location", folder.replace("%", "%%"))
    return config


@asynccontextmanager
async def alone(store: Store, patience_s: float = _PATIENCE_S) -> AsyncIterator[Transaction]:
    """A write transaction that no other migrating process can have at the same time."""
    if isinstance(store, SqliteStore):
        async with store.begin(patience_s=patience_s) as tx:
            yield tx
        return
    await _make_lock(store)
    async with store.begin(patience_s=patience_s) as tx:
        await tx.execute(text(f"SET LOCAL statement_timeout = '{patience_s:.0f}s'"))
        # A row lock, because every PostgreSQL-compatible engine and every pooler understands it.
        await tx.execute(text(f"SELECT id FROM {LOCK} WHERE id = 1 FOR UPDATE"))  # noqa: S608  a constant
        yield tx


async def _make_lock(store: Store) -> None:
    """The row to lock. Creating a table that another process is creating fails, even with IF NOT EXISTS."""
    while True:
        async with store.read() as tx:
            if await tx.run_sync(lambda connection: inspect(connection).has_table(LOCK)):
                return
        try:
            async with store.begin() as tx:
                await tx.execute(text(f"CREATE TABLE {LOCK} (id INTEGER PRIMARY KEY)"))
                await tx.execute(text(f"INSERT INTO {LOCK} (id) VALUES (1)"))  # noqa: S608  a constant
        except (IntegrityError, ProgrammingError) as error:
            if getattr(error.orig, "sqlstate", None) not in _SOMEONE_WAS_FASTER:
                raise
