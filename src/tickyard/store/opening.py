"""Which database a store is in: the one place that asks."""

from pathlib import Path
from random import Random
from typing import Final

from tickyard.kernel.clock import Clock
from tickyard.store.engine import Store

_SERVERS: Final = ("postgresql://", "postgres://", "postgresql+psycopg://")


def open_store(where: str | Path, clock: Clock, rng: Random | None = None, *, is_hurried: bool = False) -> Store:
    """The store at a PostgreSQL address, a `sqlite:///` address or a file. Connects on first use.

    `is_hurried`: callers wait for an answer, and must hear of a silent server within seconds.
    """
    rng = rng or Random()  # noqa: S311  jitter, not secrets
    file = file_of(where)
    if file is None:
        from tickyard.store.postgres.engine import CALM, HURRIED, PostgresStore

        return PostgresStore(str(where), clock, HURRIED if is_hurried else CALM)
    from tickyard.store.sqlite.engine import SqliteStore

    return SqliteStore(file, clock, rng)


def file_of(where: str | Path) -> Path | None:
    """The file of a SQLite store; None for a server."""
    text = str(where)
    return None if text.startswith(_SERVERS) else Path(text.removeprefix("sqlite:///"))
