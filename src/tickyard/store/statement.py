"""The ways round SQLAlchemy, all of them here, and when each is worth it.

What SQLAlchemy does around a small statement costs several times the statement. Rooms use it all the same, except
where a statement runs all the time:

    Query      rows of one of the busiest reads, as the driver gives them: plain numbers and texts, no types of ours
    Prepared   one of the busiest changes or look-ups of one row, with our types converted on the way in and out
    Bulk       many rows into one table in as few round trips as the database allows
    OverRows   one statement over many rows given at once, where the two databases want it spelled differently

Rooms never ask which database it is; the store does, here, in `upsert` and in the outbox, which takes JSON apart.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, TypeAlias

import msgspec
from sqlalchemy import (
    ARRAY,
    CompoundSelect,
    Connection,
    Delete,
    Dialect,
    Insert,
    Select,
    String,
    Table,
    TextClause,
    Update,
    bindparam,
    column,
    func,
    make_url,
    select,
)
from sqlalchemy.sql.compiler import SQLCompiler

from tickyard.store.engine import Transaction
from tickyard.store.sqlite.engine import SqliteTransaction
from tickyard.store.upsert import Merge

Statement: TypeAlias = Select[Any] | Insert | Update | Delete
Convert = Callable[[Any], Any]
_encode: Final = msgspec.json.Encoder().encode


class Query:
    """A statement that returns rows, compiled once for each database and run by its driver."""

    def __init__(self, statement: Select[*tuple[Any, ...]] | CompoundSelect[*tuple[Any, ...]] | TextClause) -> None:
        self._statement = statement

    @cached_property
    def for_sqlite(self) -> str:
        from sqlalchemy.dialects import sqlite

        return self._compiled(sqlite.dialect(paramstyle="named"))

    @cached_property
    def for_postgresql(self) -> str:
        return self._compiled(make_url("postgresql+psycopg://").get_dialect()())

    def _compiled(self, dialect: Dialect) -> str:
        compiled = self._statement.compile(dialect=dialect)
        assert not any(value is not None for value in compiled.params.values()), "constants must be written out"
        return str(compiled)


class Prepared:
    """A statement compiled once. On SQLite it goes straight to the driver; on PostgreSQL the way there and back
    outweighs what that would save, and it is executed like any other."""

    def __init__(self, make: Callable[[Transaction], Statement], names: Sequence[str] | None = None) -> None:
        """`make` builds the statement for the database of a transaction; `names` are the columns of an insert."""
        self._make = make
        self._names = names
        self._other: Statement | None = None
        self._lite: _Lite | None = None

    async def change(self, tx: Transaction, values: Mapping[str, Any]) -> int:
        """Run it; how many rows it changed."""
        if not isinstance(tx, SqliteTransaction):
            return (await tx.execute(self._for_other(tx), values)).rowcount
        lite = self._lite or self._for_lite(tx)
        return (await tx.run(lite.text, lite.fill(values))).rowcount

    async def change_each(self, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run it once for each of the rows."""
        if not isinstance(tx, SqliteTransaction):
            await tx.execute(self._for_other(tx), rows)
            return
        lite = self._lite or self._for_lite(tx)
        await tx.run_each(lite.text, map(lite.fill, rows))

    async def one(self, tx: Transaction, values: Mapping[str, Any]) -> dict[str, Any] | None:
        """The one row it selects."""
        if not isinstance(tx, SqliteTransaction):
            found = (await tx.execute(self._for_other(tx), values)).mappings().one_or_none()
            return None if found is None else dict(found)
        lite = self._lite or self._for_lite(tx)
        row = (await tx.run(lite.text, lite.fill(values))).fetchone()
        return None if row is None else lite.read(row)

    def _for_other(self, tx: Transaction) -> Statement:
        if self._other is None:
            self._other = self._make(tx)
        return self._other

    def _for_lite(self, tx: Transaction) -> "_Lite":
        from sqlalchemy.dialects import sqlite

        self._lite = _Lite(self._make(tx), sqlite.dialect(), self._names)
        return self._lite


class _Lite:
    """A statement in the words of the driver, and what becomes of values on their way in and out."""

    def __init__(self, statement: Statement, dialect: Dialect, names: Sequence[str] | None) -> None:
        compiled = statement.compile(dialect=dialect, column_keys=names)
        assert isinstance(compiled, SQLCompiler)
        self.text = str(compiled)
        self._binds: list[tuple[str, Convert | None, Any]] = []
        for name in compiled.positiontup or ():
            bind = compiled.binds[name]
            convert = bind.type.dialect_impl(dialect).bind_processor(dialect)
            # What stands in the statement itself is given with it; the rest comes with each run.
            fixed = None if bind.required else (bind.value if convert is None else convert(bind.value))
            self._binds.append((name, convert, fixed))
        self._columns: list[tuple[str, Convert | None]] = []
        if isinstance(statement, Select):
            for column in statement.selected_columns:
                kind = column.type.dialect_impl(dialect)
                self._columns.append((str(column.key), kind.result_processor(dialect, None)))

    def fill(self, values: Mapping[str, Any]) -> list[Any]:
        return [
            fixed if fixed is not None else values[name] if convert is None else convert(values[name])
            for name, convert, fixed in self._binds
        ]

    def read(self, row: Sequence[Any]) -> dict[str, Any]:
        return {
            name: value if convert is None else convert(value)
            for (name, convert), value in zip(self._columns, row, strict=True)
        }


class Bulk:
    """An insert of whole rows.

    With a key and a merge, a row whose key is taken is merged into the one that holds it; with `only_new`, a row
    that breaks a unique constraint is left out and not counted.

    SQLite runs one statement per row without leaving the process, and the driver does that by itself. PostgreSQL would
    pay a round of protocol for each row, so there they travel as one array per column, in a single statement.
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
    def _converts(self) -> list[tuple[str, Convert]]:
        """What becomes of our types on their way to SQLite's driver."""
        from sqlalchemy.dialects import sqlite

        dialect = sqlite.dialect()
        found = ((each.name, each.type.dialect_impl(dialect).bind_processor(dialect)) for each in self._table.columns)
        return [(name, convert) for name, convert in found if convert is not None]

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
        return await tx.run_sync(lambda connection: self._by_driver(connection, rows))

    def _by_driver(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> int:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        converts = self._converts
        if converts:
            rows = [{**row, **{name: convert(row[name]) for name, convert in converts}} for row in rows]
        return driver.executemany(self._sqlite_text, rows).rowcount


class OverRows:
    """A statement over rows that are all given at once: as one JSON text named `rows` on SQLite, as one array per
    column on PostgreSQL, in the database's own spelling, because the driver would look at every element by itself."""

    def __init__(self, *, sqlite: TextClause, postgresql: TextClause, columns: Sequence[str]) -> None:
        self.sqlite = Query(sqlite)
        self.postgresql = Query(postgresql.bindparams(*(bindparam(name, type_=String) for name in columns)))
        self._columns = columns

    async def fetch(self, tx: Transaction, rows: Sequence[Sequence[Any]], values: Mapping[str, Any]) -> list[Any]:
        statement = self.sqlite if tx.is_sqlite else self.postgresql
        return await tx.fetch(statement, {**values, **self.spread(rows, is_sqlite=tx.is_sqlite)})

    def spread(self, rows: Sequence[Sequence[Any]], *, is_sqlite: bool) -> dict[str, str]:
        """The rows as the values of the statement. The arrays are spelled as JSON's are, but for the braces."""
        if is_sqlite:
            return {"rows": _encode(rows).decode()}
        by_column = zip(self._columns, zip(*rows, strict=True), strict=True)
        return {name: "{" + _encode(values)[1:-1].decode() + "}" for name, values in by_column}
