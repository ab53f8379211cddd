"""Many rows into one table, with as few round trips as the database allows.

SQLite runs one statement per row without leaving the process; where every column is a plain number or text, the driver
does that by itself, which is several times as fast as telling SQLAlchemy of each row. PostgreSQL would pay a round of
protocol for each, so there the rows travel as one array per column, in a single statement.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from sqlalchemy import ARRAY, BigInteger, Connection, Insert, Integer, String, Table, bindparam, column, func, select

from tickyard.store.engine import Transaction
from tickyard.store.upsert import Merge

_PLAIN: Final = {Integer, BigInteger, String}


class Bulk:
    """An insert of whole rows.

    With a key and a merge, a row whose key is taken is merged into the one that holds it; with `only_new`, a row
    that breaks a unique constraint is left out and not counted.
    """

    def __init__(
        self, table: Table, *, key: Sequence[str] = (), merge: Merge | None = None, only_new: bool = False
    ) -> None:
        self._table = table
        self._key = key
        self._merge = merge
        self._only_new = only_new
        self._names = [each.name for each in table.columns]

    @cached_property
    def _sqlite(self) -> Insert:
        from sqlalchemy.dialects import sqlite

        insert = sqlite.insert(self._table)
        if self._merge is not None:
            return insert.on_conflict_do_update(index_elements=self._key, set_=self._merge(insert.excluded))
        return insert.on_conflict_do_nothing() if self._only_new else insert

    @cached_property
    def _sqlite_text(self) -> str:
        from sqlalchemy.dialects import sqlite

        return str(self._sqlite.compile(dialect=sqlite.dialect(paramstyle="named")))

    @cached_property
    def _postgresql(self) -> Insert:
        from sqlalchemy.dialects import postgresql

        columns = list(self._table.columns)
        arrays = [bindparam(each.name, type_=ARRAY(each.type)) for each in columns]
        unnested = func.unnest(*arrays).table_valued(*[column(each.name, each.type) for each in columns])
        insert = postgresql.insert(self._table).from_select(self._names, select(*unnested.render_derived().columns))
        if self._merge is not None:
            return insert.on_conflict_do_update(index_elements=self._key, set_=self._merge(insert.excluded))
        return insert.on_conflict_do_nothing() if self._only_new else insert

    async def run(self, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Insert the rows; how many were inserted or merged."""
        if not rows:
            return 0
        if not tx.is_sqlite:
            columns = {name: [row[name] for row in rows] for name in self._names}
            return (await tx.execute(self._postgresql, columns)).rowcount
        if all(type(each.type) in _PLAIN for each in self._table.columns):
            return await tx.run_sync(lambda connection: self._by_driver(connection, rows))
        return (await tx.execute(self._sqlite, rows)).rowcount

    def _by_driver(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> int:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        return driver.executemany(self._sqlite_text, rows).rowcount
