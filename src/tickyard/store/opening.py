"""Which database a store is in: the one place that asks."""

from pathlib import Path
from random import Random

from tickyard.kernel.clock import Clock
from tickyard.store.engine import Store


def open_store(where: str | Path, clock: Clock, rng: Random | None = None, *, is_hurried: bool = False) -> Store:
    """The store at a PostgreSQL address, a `sqlite:///` address or a file. Connects on first use.

    `is_hurried`: callers wait for an answer, and must hear of a silent server within seconds.
    """
    rng = rng or Random()  # noqa: S311  jitter, not secrets
    text = str(where)
    if text.startswith(("postgresql://", "postgres://", "postgresql+psycopg://")):
        from tickyard.store.postgres.engine import CALM, HURRIED, PostgresStore

        return PostgresStore(text, clock, rng, HURRIED if is_hurried else CALM)
    from tickyard.store.sqlite.engine import SqliteStore

    return SqliteStore(Path(text.removeprefix("sqlite:///")), clock, rng)
